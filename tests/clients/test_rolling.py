"""A server that is stopped and started again under load, for clients that follow the published retry policy: no call fails, no
watcher misses or repeats anything, every acknowledged move is stored once."""

import json
import os
import random
import threading
import time

import grpc
import vectors
from auditor import audit, stored, version_and_position
from client import Client, decode
from ledger import Ledger
from mancala.v1 import game_pb2
from mancala.v1 import session_service_pb2 as api
from mancala.v1 import session_service_pb2_grpc, watch_pb2
from proxy import Proxy
from server import Server

PLAYERS = 6
# Between two stops at least so many moves are acknowledged.
MOVES_BETWEEN_STOPS = 60
# Of one call, however often it is sent.
CALL_SECONDS = 30

RETRY_POLICY = {
    "methodConfig": [
        {
            "name": [{}],
            "waitForReady": True,
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
OPTIONS = [
    ("grpc.service_config", json.dumps(RETRY_POLICY)),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.use_local_subchannel_pool", 1),
]


def connect(address):
    """A channel with the policy, and the stub on it."""
    channel = grpc.insecure_channel(address, options=OPTIONS)
    return channel, session_service_pb2_grpc.SessionServiceStub(channel)


class Worker(threading.Thread):
    """A thread of the test with a connection of its own, whose failure is the test's."""

    def __init__(self, address, ledger):
        super().__init__(daemon=True)
        self.ledger = ledger
        self.channel, self.sessions = connect(address)

    def run(self):
        try:
            self.work()
        except BaseException as failure:
            self.ledger.failed(failure)
        finally:
            self.channel.close()


class Player(Worker):
    """Plays one session after the other, each call once: what there is to repeat the policy repeats."""

    def __init__(self, number, seed, address, ledger, stop):
        super().__init__(address, ledger)
        self.number = number
        self.chance = random.Random(f"{seed} player {number}")
        self.stop = stop
        self.made = []
        # When each call was sent and answered.
        self.calls = []

    def call(self, method, request):
        sent = time.monotonic()
        reply = method(request, timeout=CALL_SECONDS)
        self.calls.append((sent, time.monotonic()))
        return reply

    def request(self, kind, session_id, move, method, request):
        entry = self.ledger.invoked(request.request_id, session_id, kind, move, request)
        reply = self.call(method, request)
        self.ledger.acknowledged(entry, *version_and_position(reply), reply)
        return reply

    def work(self):
        sessions = self.sessions
        while not self.stop.is_set():
            session_id = f"rolling-{self.number}-{len(self.made)}"
            made = api.CreateSessionRequest(
                game=self.chance.choice(vectors.GAMES), session_id=session_id, request_id=f"{session_id}-make"
            )
            self.request("created", session_id, "", sessions.CreateSession, made)
            self.made.append(session_id)
            version, over = 1, False
            while not over and not self.stop.is_set():
                sample = api.SampleMovesRequest(session_id=session_id, count=1, seed=self.chance.getrandbits(32))
                (move,) = self.call(sessions.SampleMoves, sample).moves
                apply = api.ApplyMoveRequest(
                    session_id=session_id,
                    move=game_pb2.Move(text=move.text),
                    expected_version=version,
                    request_id=f"{session_id}-{version}",
                )
                reply = self.request("move_played", session_id, move.text, sessions.ApplyMove, apply)
                version, over = reply.version, reply.HasField("match_result")
                time.sleep(self.chance.random() / 100)


class Watcher(Worker):
    """Watches whatever `watch(after)` opens, and opens it again where it ended, until `all_is_there()`."""

    def __init__(self, address, ledger, stop):
        super().__init__(address, ledger)
        self.stop = stop
        # Reasons that streams ended for; "" if the connection broke.
        self.ends = []
        self.stream = None

    def work(self):
        while not self.stop.is_set():
            self.stream = self.open()
            try:
                for message in self.stream:
                    self.take(message)
            except grpc.RpcError as error:
                if self.stop.is_set():
                    return
                assert error.code() == grpc.StatusCode.UNAVAILABLE, error
                if "grpc-status-details-bin" not in dict(error.trailing_metadata() or ()):
                    self.ends.append("")
                    continue
                refused = decode(error)
                assert refused.metadata["resume_after"] == str(self.at), (refused, self.at)
                self.ends.append(refused.reason)

    def end(self):
        """Nothing more is wanted."""
        self.stop.set()
        self.stream.cancel()
        self.join(60)
        assert not self.is_alive()


class SessionWatcher(Watcher):
    """Watches one session."""

    def __init__(self, address, ledger, stop, session_id):
        super().__init__(address, ledger, stop)
        self.session_id = session_id
        self.at = 0
        self.events = []

    def open(self):
        return self.sessions.WatchSession(watch_pb2.WatchSessionRequest(session_id=self.session_id, after_version=self.at))

    def take(self, message):
        for event in message.events:
            assert event.version == self.at + 1, f"{event.version} came after {self.at}"
            self.at = event.version
            self.events.append(event)
        assert message.version == self.at


class Follower(Watcher):
    """Follows all sessions from the start."""

    def __init__(self, address, ledger, stop):
        super().__init__(address, ledger, stop)
        self.at = ""
        self.events = {}

    def open(self):
        return self.sessions.WatchSessions(watch_pb2.WatchSessionsRequest(cursor=self.at, from_start=not self.at))

    def take(self, message):
        for change in message.changes:
            known = self.events.setdefault(change.session_id, [])
            for event in change.events:
                # Every cursor is kept here, so that nothing is to come twice.
                assert event.version == len(known) + 1, f"{change.session_id}: {event.version} came after {len(known)}"
                known.append(event)
        self.at = message.cursor


def read_events(sessions, session_id):
    """All events of a session."""
    events = []
    while True:
        page = sessions.ListEvents(api.ListEventsRequest(session_id=session_id, after_version=len(events), page_size=1000))
        events += page.events
        if len(events) == page.version:
            return events


def wait_until(reached, what, seconds=60):
    """Waits for what other threads bring about."""
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.005)


def longest_silence(calls, since, until):
    """The longest time without an answer to anybody between two moments."""
    moments = sorted({since, until} | {answered for _, answered in calls if since < answered < until})
    return max(later - earlier for earlier, later in zip(moments, moments[1:]))


def test_stops_and_starts_cost_nobody_anything_but_time(tmp_path, long_form, capsys):
    stops = 30 if long_form else 4
    seed = int(os.environ.get("MANCALA_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"MANCALA_TEST_SEED={seed}, ledger in {tmp_path}")
    ledger, proxy = Ledger(tmp_path / "ledger.jsonl"), Proxy()
    start = lambda delay: Server(tmp_path / "rolling.db", {"MANCALA_SERVER__DRAIN_DELAY": delay})  # noqa: E731
    running = start("0s")
    proxy.lead_to(running.address)
    stop = threading.Event()
    players = [Player(number, seed, proxy.address, ledger, stop) for number in range(PLAYERS)]
    follower = Follower(proxy.address, ledger, threading.Event())
    watchers = []
    for worker in [*players, follower]:
        worker.start()
    silences = []
    try:
        for round_ in range(stops):
            ledger.wait_for_acknowledged(MOVES_BETWEEN_STOPS, 60)
            # Whoever begins now is there at the next stop.
            watchers += [SessionWatcher(proxy.address, ledger, threading.Event(), player.made[-1]) for player in players[:3]]
            for watcher in watchers[-3:]:
                watcher.start()
            wait_until(lambda: all(watcher.at > 0 for watcher in watchers), "all watchers have begun")
            began = time.monotonic()
            running.stop()
            left = time.monotonic()
            # Every other one goes on for a moment after it has been told to stop, as with a balancer before it.
            running = start("1s" if round_ % 2 else "0s")
            proxy.lead_to(running.address)
            up = time.monotonic()
            ledger.wait_for_acknowledged(MOVES_BETWEEN_STOPS, 60)
            calls = [call for player in players for call in list(player.calls)]
            silences.append((left - began, up - left, longest_silence(calls, began, time.monotonic())))
        stop.set()
        for player in players:
            player.join(60)
            assert not player.is_alive(), "a player is stuck"
        ledger.raise_failure()

        with Client(running.address) as client:
            logs = {session_id: read_events(client.sessions, session_id) for player in players for session_id in player.made}
        wait_until(lambda: {key: len(log) for key, log in follower.events.items()} == {k: len(v) for k, v in logs.items()}, "the feed")
        for watcher in watchers:
            wait_until(lambda: watcher.at >= len(logs[watcher.session_id]), f"{watcher.session_id} is there")
        ledger.raise_failure()
    finally:
        stop.set()
        for watcher in [*watchers, follower]:
            if watcher.ident and watcher.stream:
                watcher.end()
        proxy.close()
        running.stop()

    ledger.raise_failure()
    objections = audit(ledger.entries(), {key: [stored(event) for event in log] for key, log in logs.items()})
    assert not objections, "\n".join(objections[:20])
    assert follower.events == logs
    for watcher in watchers:
        assert watcher.events == logs[watcher.session_id], watcher.session_id
    unanswered = [entry for entry in ledger.entries() if not entry.acknowledged]
    assert not unanswered, unanswered[:5]
    ends = [reason for watcher in [*watchers, follower] for reason in watcher.ends]
    # A stop tells every stream that it ends, and none is cut.
    assert set(ends) == {"STREAM_STOPPING"}, ends
    assert len(follower.ends) >= stops
    waits = sorted(answered - sent for player in players for sent, answered in player.calls)
    with capsys.disabled():
        print(
            f"\nrolling stops: {stops}, seed {seed}, {len(logs)} sessions, {ledger.acknowledged_count()} requests acknowledged,"
            f" {len(watchers)} watchers, {len(ends)} streams ended by a stop; the longest call {waits[-1]:.2f} s;"
            " seconds to stop, to start, without any answer: "
            + ", ".join("/".join(f"{seconds:.2f}" for seconds in silence) for silence in silences)
        )
