"""Clients that go on playing while their server is killed and restarted, and write down what they know."""

import contextlib
import random
import threading

import grpc
import vectors
from auditor import version_and_position
from client import Client, decode
from mancala.v1 import game_pb2
from mancala.v1 import session_service_pb2 as api

# What a client may see of a server that was killed: nothing is known of the request, it may be sent again.
UNKNOWN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
# How often a client gives a request up instead of sending it again, which leaves its outcome unknown for good.
GIVE_UP = 0.2
# The share of moves that go to sessions which all clients play, and how many of these are played at a time.
SHARED_MOVES = 0.3
CONTESTED = 2
# One in so many moves is sent again though it was acknowledged.
REPEAT = 25


class Closed(Exception):
    """The server won't come back: the test is over."""


class Address:
    """Where the server is now. It changes with every restart, and is not there in between."""

    def __init__(self):
        self._changed = threading.Condition()
        self._address = None
        self._closed = False

    def set(self, address):
        with self._changed:
            self._address = address
            self._changed.notify_all()

    def close(self):
        """There will be no other: whoever waits for one is told."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def get(self):
        """Waits until there is one; raises Closed if there won't be."""
        with self._changed:
            self._changed.wait_for(lambda: self._address or self._closed)
            if self._address is None:
                raise Closed
            return self._address


class Player(threading.Thread):
    """One client: plays its own session and the shared ones, one request after the other, until told to stop."""

    def __init__(self, number, seed, address, ledger, shared, stop):
        super().__init__(name=f"player {number}", daemon=True)
        self._number = number
        self._chance = random.Random(f"{seed} player {number}")
        self._address = address
        self._ledger = ledger
        self._shared = shared
        self._stop_asked = stop
        self._connected_to = None
        self._client = None
        self._requests = 0
        self._own_sessions = 0
        # The highest version that this client has seen of each session: no later read may be below it.
        self._seen = {}
        self.retries = 0

    def run(self):
        try:
            own = self._new_session()
            while not self._stop_asked.is_set():
                # A copy: other players take out what has ended.
                contested = self._shared[:CONTESTED]
                if contested and self._chance.random() < SHARED_MOVES:
                    session = self._chance.choice(contested)
                    if self._play_one(session):
                        with contextlib.suppress(ValueError):
                            self._shared.remove(session)
                elif self._play_one(own):
                    own = self._new_session()
        except BaseException as failure:
            # Handed to the test, which raises it.
            self._ledger.failed(failure)
        finally:
            if self._client:
                self._client.close()

    def _sessions(self):
        """The stub on a connection to where the server is now."""
        address = self._address.get()
        if address != self._connected_to:
            if self._client:
                self._client.close()
            self._client, self._connected_to = Client(address), address
        return self._client.sessions

    def _call(self, name, request, give_up=0.0):
        """Sends until there is a definite answer; None if it is given up before."""
        while True:
            try:
                return getattr(self._sessions(), name)(request)
            except grpc.RpcError as error:
                if error.code() not in UNKNOWN:
                    raise
                self.retries += 1
                if self._chance.random() < give_up:
                    return None

    def _request_id(self):
        self._requests += 1
        return f"p{self._number}-{self._requests}"

    def _new_session(self):
        self._own_sessions += 1
        session_id = f"own-{self._number}-{self._own_sessions}"
        create_session(self._ledger, self._request_id(), session_id, self._chance.choice(vectors.GAMES), self._call)
        self._seen[session_id] = 1
        return session_id

    def _play_one(self, session_id):
        """One move, drawn by the server. True if the session has ended."""
        sample = api.SampleMovesRequest(session_id=session_id, count=1, seed=self._chance.getrandbits(32))
        drawn = self._call("SampleMoves", sample)
        assert drawn.version >= self._seen.get(session_id, 0), f"{session_id} went back to {drawn.version}"
        self._seen[session_id] = drawn.version
        if not drawn.moves:
            return True
        (move,) = drawn.moves
        request = api.ApplyMoveRequest(
            session_id=session_id,
            move=game_pb2.Move(text=move.text),
            expected_version=drawn.version,
            request_id=self._request_id(),
        )
        entry = self._ledger.invoked(request.request_id, session_id, "move_played", move.text, request)
        try:
            reply = self._call("ApplyMove", request, GIVE_UP)
        except grpc.RpcError as error:
            # Someone else was faster, or an abandoned request of this client's own was carried out after all.
            refused = decode(error)
            assert refused.reason == "STALE_VERSION", refused
            self._ledger.refused(entry, refused.reason)
            return False
        if reply is None:
            return False
        self._ledger.acknowledged(entry, *version_and_position(reply), reply)
        self._seen[session_id] = max(self._seen[session_id], reply.version)
        if self._chance.randrange(REPEAT) == 0:
            again = self._call("ApplyMove", request)
            assert again.replayed
            assert same_reply(again, reply), f"{again} is not the first reply, {reply}"
        return reply.HasField("match_result")


def create_session(ledger, request_id, session_id, game, call):
    """Makes a session through `call(method name, request)` and writes it down."""
    request = api.CreateSessionRequest(game=game, session_id=session_id, request_id=request_id)
    entry = ledger.invoked(request_id, session_id, "created", "", request)
    reply = call("CreateSession", request)
    ledger.acknowledged(entry, *version_and_position(reply), reply)


def same_reply(one, other):
    """Whether two replies are equal, but for one of them saying that it was given before."""

    def bare(reply):
        copy = type(reply).FromString(reply.SerializeToString(deterministic=True))
        copy.replayed = False
        return copy

    return bare(one) == bare(other)
