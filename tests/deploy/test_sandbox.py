"""The image's command under the rules of a container: works, stops, and can do no more than it must."""

import pytest

import dockerfile
from client import Client
from mancala.v1 import session_service_pb2 as session_service
from sandbox import Container

ELSEWHERE = {"MANCALA_SERVER__LISTEN": "127.0.0.1:0", "MANCALA_METRICS__LISTEN": "127.0.0.1:0", "MANCALA_SERVER__DRAIN_DELAY": "0s"}
# What bubblewrap puts into /dev.
DEVICES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "mqueue")}


@pytest.fixture
def operator(operator_settings):
    key, told = operator_settings
    return key, {"MANCALA_AUTH__OPERATORS": told["MANCALA_AUTH__OPERATORS"]}


def test_a_container_serves_with_a_read_only_root_and_no_rights(open_folder, operator):
    key, told = operator
    with Container(open_folder, ELSEWHERE | told) as container:
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
        command, _ = dockerfile.healthcheck()
        assert container.run([*command, "--address", container.address]) == (0, "")
        assert container.stop() == 0, container.said()
        code, said = container.run([*command, "--address", container.address])
        assert code == 1 and "can't be reached" in said
    assert {path.name for path in container.data.iterdir()} >= {"mancala.db"}


def test_a_container_that_knows_no_operator_says_so_and_ends(open_folder):
    container = Container(open_folder, ELSEWHERE)
    code, said = container.run(dockerfile.command())
    assert code == 2
    assert "auth.operators" in said and "mancala key" in said
    assert list(container.data.iterdir()) == [], "nothing was begun"
