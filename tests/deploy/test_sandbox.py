"""The image's command under the rules of a container: works, stops, and can do no more than it must."""

import pytest

import dockerfile
from client import Client
from mancala.v1 import session_service_pb2 as session_service
from programs import certificate, free_port
from sandbox import Container

# What bubblewrap puts into /dev.
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "mqueue")}


@pytest.fixture
def elsewhere():
    """What the image's configuration leaves to others here: ports, and no balancer that would have to notice the end."""
    listen = {"MANCALA_SERVER__LISTEN": f"127.0.0.1:{free_port()}", "MANCALA_METRICS__LISTEN": "127.0.0.1:0"}
    return listen | {"MANCALA_SERVER__DRAIN_DELAY": "0s"}


@pytest.fixture
def operator(operator_settings):
    """An operator's key, and the variable that the image needs to know it."""
    key, told = operator_settings
    return key, {"MANCALA_AUTH__OPERATORS": told["MANCALA_AUTH__OPERATORS"]}


def test_a_container_serves_with_a_read_only_root_and_no_rights(open_folder, elsewhere, operator):
    key, told = operator
    healthcheck, _ = dockerfile.healthcheck()
    with Container(open_folder, elsewhere | told) as container:
        status = container.status()
        assert status["NSpid"].split()[-1] == "1", "as in a container"
        assert status["NoNewPrivs"] == "1"
        assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        # Of the kernel's own file systems only what belongs to the process can be written.
        assert container.writable_mounts() <= {"/var/lib/mancala", "/proc", *DEVICES}
        with Client(container.address, token=key) as client:
            made = client.sessions.CreateSession(session_service.CreateSessionRequest(game="kiothi", session_id="boxed"))
            assert made.session.session_id == "boxed"
            sample = client.sessions.SampleMoves(session_service.SampleMovesRequest(session_id="boxed", count=1, seed=1))
            move = {"session_id": "boxed", "move": {"text": sample.moves[0].text}}
            assert client.sessions.ApplyMove(session_service.ApplyMoveRequest(**move)).version == 2
        assert container.run(healthcheck) == (0, "")
        assert container.stop() == 0, container.said()
        code, said = container.run(healthcheck)
        assert code == 1 and "can't be reached" in said
    assert {path.name for path in container.data.iterdir()} >= {"mancala.db"}


def test_the_health_check_of_the_image_works_with_tls_too(open_folder, elsewhere, operator):
    _, told = operator
    folder = open_folder / "tls"
    folder.mkdir()
    certificate(folder)
    for name in ("tls.crt", "tls.key"):
        (folder / name).chmod(0o644)
    tls = {"MANCALA_TLS__CERTIFICATE": "/etc/mancala-tls/tls.crt", "MANCALA_TLS__KEY": "/etc/mancala-tls/tls.key"}
    with Container(open_folder, elsewhere | told | tls, {str(folder): "/etc/mancala-tls"}) as container:
        assert container.run(dockerfile.healthcheck()[0]) == (0, "")
        assert container.stop() == 0, container.said()


def test_a_container_that_knows_no_operator_says_so_and_ends(open_folder, elsewhere):
    container = Container(open_folder, elsewhere)
    code, said = container.run(dockerfile.command())
    assert code == 2
    assert "auth.operators" in said and "mancala key" in said
    assert list(container.data.iterdir()) == [], "nothing was begun"
