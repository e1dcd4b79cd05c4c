"""What the deployment tests share. They take the files of deploy/ as they are, and programs that Debian and PyPI bring."""

import os
import tempfile
from pathlib import Path

# Threads of the tests call servers while others start processes; gRPC reads this when it is loaded.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import stubs  # noqa: E402

stubs.generate()

import pytest  # noqa: E402

pytest.register_assert_rewrite("client", "programs", "proxies", "sandbox", "server")

from programs import UNPRIVILEGED, certificate  # noqa: E402
from server import Server, new_operator  # noqa: E402


@pytest.fixture
def open_folder():
    """A folder that the unprivileged user of the container owns (root's own folders of pytest are closed to it)."""
    with tempfile.TemporaryDirectory(prefix="mancala-deploy-") as name:
        os.chmod(name, 0o755)
        if os.geteuid() == 0:
            os.chown(name, UNPRIVILEGED, UNPRIVILEGED)
        yield Path(name)


@pytest.fixture(scope="session")
def tls(tmp_path_factory):
    """A certificate for localhost that is its own authority, and its key, as tls.crt and tls.key in a folder."""
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def operator_settings():
    """An operator's key, and the settings of a server that knows it."""
    return new_operator("ops")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running server with an empty store; it must stop cleanly in the end."""
    running = Server(tmp_path_factory.mktemp("server") / "games.db")
    yield running
    running.stop()
