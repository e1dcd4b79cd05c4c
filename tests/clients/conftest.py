"""What the client tests share: stubs of the protos, and one server of the built binary for all but the crash test."""

import os

# Threads of the tests call the server while others start processes; gRPC reads this when it is loaded.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import stubs  # noqa: E402

stubs.generate()

import pytest  # noqa: E402

# Their assertions should say what they saw, as those of the test files do.
pytest.register_assert_rewrite("client", "players", "server", "vectors")

from client import Client  # noqa: E402
from server import Server, new_operator  # noqa: E402


@pytest.fixture(scope="session")
def long_form():
    """Whether batteries run their large counts."""
    return os.environ.get("MANCALA_TEST_LONG") == "1"


@pytest.fixture
def start_server():
    """Starts servers, `start_server(store)`, that the test itself kills or stops; what it leaves behind is killed."""
    started = []

    def start(store):
        started.append(Server(store))
        return started[-1]

    yield start
    for running in started:
        running.kill()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running server with an empty store; it must stop cleanly in the end."""
    running = Server(tmp_path_factory.mktemp("server") / "games.db")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def operator(tmp_path_factory):
    """The address of a running server in token mode, and the key of its operator; it must stop cleanly in the end."""
    key, settings = new_operator("ops")
    # Bots play as fast as they can.
    settings["MANCALA_LIMITS__SEAT_RATE"] = "0"
    running = Server(tmp_path_factory.mktemp("token") / "games.db", settings)
    yield running.address, key
    running.stop()


@pytest.fixture(scope="session")
def client(server):
    """A connection to the running server."""
    with Client(server.address) as connected:
        yield connected
