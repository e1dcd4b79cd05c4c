"""The server is killed over and over while clients play; what it acknowledged must be stored, once, in order."""

import collections
import functools
import os
import random
import threading

import grpc
import vectors
from auditor import audit, corruptions, stored
from client import Client
from ledger import Ledger
from mancala.v1 import rules_service_pb2 as rules
from mancala.v1 import session_service_pb2 as api
from players import Address, Player, create_session, same_reply

PLAYERS = 12
# After each restart so many sessions are audited before the clients may go on.
SAMPLED = 4
# Between two kills at least so many requests are acknowledged, so that a kill always hits a server at work.
MOVES_BETWEEN_KILLS = 20


def call(client, name, request):
    """One call of SessionService by its name."""
    return getattr(client.sessions, name)(request)


def read_log(client, session_id):
    """All events of a session as the auditor takes them; none if there is no such session."""
    log, version = [], None
    while version is None or len(log) < version:
        request = api.ListEventsRequest(session_id=session_id, after_version=len(log), page_size=1000)
        try:
            page = client.sessions.ListEvents(request)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return []
            raise
        assert page.events, f"{session_id}: nothing after {len(log)} of {page.version} events"
        log += [stored(event) for event in page.events]
        version = page.version
    return log


def audit_sessions(client, ledger, session_ids):
    """Reads sessions and raises on the first objections. The clients must be waiting meanwhile."""
    entries = [entry for entry in ledger.entries() if entry.session_id in session_ids]
    logs = {session_id: read_log(client, session_id) for session_id in session_ids}
    objections = audit(entries, logs)
    assert not objections, "\n".join(objections[:20])
    return logs


def created_sessions(ledger):
    """The sessions whose creation was acknowledged."""
    return [entry.session_id for entry in ledger.entries() if entry.kind == "created" and entry.acknowledged]


def check_rules(client, logs):
    """The rules engine, given the stored moves, comes to the stored positions."""
    items, expected = [], []
    for log in logs.values():
        for before, after in zip(log, log[1:]):
            if after.kind == "move_played":
                items.append(rules.PositionStep(position=before.position, moves=[after.move]))
                expected.append((vectors.game_of(before.position), after.position))
    by_game = collections.defaultdict(list)
    for item, (game, position) in zip(items, expected):
        by_game[game].append((item, position))
    for game, pairs in by_game.items():
        for first in range(0, len(pairs), 300):
            chunk = pairs[first : first + 300]
            request = rules.StepPositionsRequest(game=game, items=[item for item, _ in chunk])
            for (item, position), result in zip(chunk, client.rules.StepPositions(request).results, strict=True):
                assert not result.HasField("refusal"), f"{item}: {result.refusal}"
                # The guards belong to a session, so only there may the last move have ended the game by one of them.
                by_guard = vectors.phase_of(position) in ("over:repetition", "over:quiet", "over:max_plies")
                assert by_guard or result.position == position, item
    return len(items)


def check_repeats(client, ledger, chance, count):
    """Old acknowledged requests, sent once more, are answered as the first time and change nothing."""
    acknowledged = [entry for entry in ledger.entries() if entry.acknowledged]
    for entry in chance.sample(acknowledged, count):
        again = call(client, "CreateSession" if entry.kind == "created" else "ApplyMove", entry.request)
        assert again.replayed, entry
        assert same_reply(again, entry.reply), f"{again} is not the first reply, {entry.reply}"


def check_auditor_on(ledger, logs):
    """The auditor, shown damaged copies of this very history, objects to each."""
    entries = ledger.entries()
    known = {entry.request_id for entry in entries if entry.acknowledged} | {""}
    # Of a request whose outcome is unknown nobody can say that it is missing, so it takes a session without any.
    certain = [session for session, log in logs.items() if all(event.request_id in known for event in log)]
    session_id = max(certain, key=lambda session: len(logs[session]))
    entries = [entry for entry in entries if entry.session_id == session_id]
    assert audit(entries, {session_id: logs[session_id]}) == []
    for name, damaged in corruptions(logs[session_id]).items():
        assert audit(entries, {session_id: damaged}), name


def kill_and_restart(running, start, address, ledger, chance):
    """Kills the server at a random moment of its work, starts it again, audits a sample, lets the clients go on."""
    ledger.wait_for_acknowledged(chance.randint(MOVES_BETWEEN_KILLS, 10 * MOVES_BETWEEN_KILLS), 60)
    address.set(None)
    running.kill()
    restarted = start()
    with Client(restarted.address) as client:
        sessions = created_sessions(ledger)
        audit_sessions(client, ledger, chance.sample(sessions, min(SAMPLED, len(sessions))))
    address.set(restarted.address)
    return restarted


def test_nothing_acknowledged_is_lost_doubled_or_reordered_by_kills(start_server, tmp_path, long_form, capsys):
    # The battery (`cargo test --test battery kills`) has more of them.
    kills = 200 if long_form else 5
    seed = int(os.environ.get("MANCALA_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"MANCALA_TEST_SEED={seed}, ledger in {tmp_path}")
    chance = random.Random(seed)
    ledger, address, stop = Ledger(tmp_path / "ledger.jsonl"), Address(), threading.Event()
    start = functools.partial(start_server, tmp_path / "crash.db")

    running = start()
    # Each is played until it ends; so many last to the end of the test.
    shared = [f"shared-{number}" for number in range(2 + kills // 2)]
    with Client(running.address) as client:
        for number, session_id in enumerate(shared):
            game = vectors.GAMES[number % len(vectors.GAMES)]
            create_session(ledger, f"make-{number}", session_id, game, functools.partial(call, client))
    players = [Player(number, seed, address, ledger, shared, stop) for number in range(PLAYERS)]
    address.set(running.address)
    for player in players:
        player.start()
    try:
        for _ in range(kills):
            running = kill_and_restart(running, start, address, ledger, chance)
        ledger.wait_for_acknowledged(MOVES_BETWEEN_KILLS, 60)
    finally:
        stop.set()
        address.close()
        for player in players:
            player.join(60)
    for player in players:
        assert not player.is_alive(), f"{player.name} is stuck"
    ledger.raise_failure()

    with Client(running.address) as client:
        logs = audit_sessions(client, ledger, created_sessions(ledger))
        moves = check_rules(client, logs)
        check_repeats(client, ledger, chance, 100)
        assert audit_sessions(client, ledger, list(logs)) == logs, "repeated requests change nothing"
    check_auditor_on(ledger, logs)
    running.stop()
    ledger.close()

    entries = ledger.entries()
    unknown = [entry for entry in entries if not entry.acknowledged and not entry.refused]
    refused = sum(entry.refused is not None for entry in entries)
    held = {event.request_id for log in logs.values() for event in log}
    cut_off = sum(player.retries for player in players)
    assert cut_off, "no request was hit by a kill: this run has proved nothing"
    with capsys.disabled():
        print(
            f"\ncrash test: {kills} kills, seed {seed}, {len(logs)} sessions, {moves} moves stored,"
            f" {ledger.acknowledged_count()} requests acknowledged, {refused} refused,"
            f" {cut_off} calls cut off,"
            f" {len(unknown)} outcomes unknown of which {sum(entry.request_id in held for entry in unknown)} stored"
        )
