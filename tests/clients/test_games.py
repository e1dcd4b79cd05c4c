"""Whole games of all five through the running server: those of the vectors ply by ply, and random ones of the client's own."""

import concurrent.futures
import random

import grpc
import notation
import pytest
import vectors
from client import Client
from mancala.v1 import game_pb2, session_pb2
from mancala.v1 import session_service_pb2 as api

NO_GUARDS = game_pb2.Guards(repetition=0, quiet=0, max_plies=0)
REDISTRIBUTIONS = (game_pb2.PHASE_REDISTRIBUTE_FIRST, game_pb2.PHASE_REDISTRIBUTE_SECOND)
ROUND_REASONS = {
    "all_below_three",
    "cannot_feed",
    "board_empty",
    "no_move",
    "no_seeds",
    "final_four",
    "repetition",
    "quiet",
    "max_plies",
}
# Enough to keep a server on two cores busy: a durable move waits for the disk, and moves of many games share one wait.
PLAYERS_AT_ONCE = 12


def check_result(result, expected, end):
    """A round's result against the vector's, and against the last position's text."""
    assert result.winner == vectors.SEATS[expected["winner"]]
    assert result.reason == expected["reason"]
    assert result.without_glory == expected.get("without_glory", False)
    assert (result.south, result.north) == vectors.banks(end)


def check_choice(client, session_id, ply, text, after):
    """The server, asked before the move, lists it; where nothing can be listed, it judges it and what it draws itself."""
    listed = client.sessions.ListLegalMoves(api.ListLegalMovesRequest(session_id=session_id))
    assert listed.version == ply + 1
    if listed.phase not in REDISTRIBUTIONS:
        texts = [move.text for move in listed.moves]
        assert text in texts
        assert len(set(texts)) == len(texts)
        assert [notation.text_of(move) for move in listed.moves] == texts
        assert not listed.HasField("redistributions")
        return
    assert not listed.moves
    check_family(listed.redistributions, text)
    checked = client.sessions.CheckMove(api.CheckMoveRequest(session_id=session_id, move=game_pb2.Move(text=text)))
    assert checked.legal, checked.refusal
    assert checked.position == after
    request = api.SampleMovesRequest(session_id=session_id, count=20, seed=ply + 7)
    drawn = client.sessions.SampleMoves(request)
    assert len(drawn.moves) == 20
    assert drawn.moves == client.sessions.SampleMoves(request).moves, "the same seed draws the same moves"
    for move in drawn.moves:
        assert notation.text_of(move) == move.text
        assert client.sessions.CheckMove(api.CheckMoveRequest(session_id=session_id, move=move)).legal, move.text


def check_family(family, text):
    """The description of a redistribution allows the move that was played."""
    seeds = {choice.pit: choice.seeds for choice in family.choices}
    move = notation.message(text).redistribution
    assert len(move.emptied) == family.emptied == 2
    assert set(move.emptied) <= set(seeds)
    assert sum(seeds[pit] for pit in move.emptied) == sum(placement.seeds for placement in move.placements)
    assert {placement.pit for placement in move.placements} <= set(family.targets)
    assert family.total > 1_000_000


def play_vector(client, game, line):
    """Plays one game of the vectors and holds everything that the server says of it against them."""
    created = client.sessions.CreateSession(api.CreateSessionRequest(game=game, guards=NO_GUARDS, position=line["start"]))
    session_id = created.session.session_id
    assert created.session.version == 1
    assert created.session.position.text == line["start"]

    for ply, (text, after) in enumerate(line["plies"]):
        check_choice(client, session_id, ply, text, after)
        move = game_pb2.Move(text=text) if ply % 2 else notation.message(text)
        reply = client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=move, expected_version=ply + 1))
        assert reply.position == after, f"{line['id']}, ply {ply}: {text}"
        last = ply + 1 == len(line["plies"])
        if last and "result" in line:
            check_result(reply.round_result, line["result"], after)
            check_result(reply.match_result, line["result"], after)
            assert reply.version == ply + 4, "the move, the end of the round, the end of the match"
        else:
            assert not reply.HasField("round_result")
            assert not reply.HasField("match_result")
            assert reply.version == ply + 2
            assert reply.to_act == vectors.to_act(after)
    check_history(client, session_id, line)
    check_earlier_versions(client, session_id, line)
    return len(line["plies"])


def events_of(client, session_id, page_size):
    """All events, page by page."""
    events, after = [], 0
    while True:
        page = client.sessions.ListEvents(api.ListEventsRequest(session_id=session_id, after_version=after, page_size=page_size))
        assert len(page.events) <= page_size
        events += page.events
        if not page.events or page.events[-1].version == page.version:
            return events
        after = page.events[-1].version


def check_history(client, session_id, line):
    """The stored events tell the same game."""
    events = events_of(client, session_id, page_size=37)
    assert [event.version for event in events] == list(range(1, len(events) + 1))
    kinds = [event.WhichOneof("body") for event in events]
    ending = ["round_ended", "ended"] if "result" in line else []
    assert kinds == ["created"] + ["move_played"] * len(line["plies"]) + ending
    assert events[0].created.session.position.text == line["start"]
    before = line["start"]
    for event, (text, after) in zip(events[1:], line["plies"]):
        assert event.move_played.move.text == text
        assert notation.text_of(event.move_played.move) == text
        assert event.move_played.position == after
        assert event.seat == vectors.to_act(before)
        before = after
    if ending:
        check_result(events[-2].round_ended.result, line["result"], before)
        assert events[-2].round_ended.round == 1
        check_result(events[-1].ended.result, line["result"], before)


def check_earlier_versions(client, session_id, line):
    """A session can be read as it was after any of its events."""
    plies = line["plies"]
    for played in sorted({0, 1, len(plies) // 2, len(plies) - 1}):
        session = client.sessions.GetSession(api.GetSessionRequest(session_id=session_id, version=played + 1)).session
        assert session.version == played + 1
        assert session.ply == played
        assert session.state == session_pb2.SESSION_STATE_ACTIVE
        assert session.position.text == (plies[played - 1][1] if played else line["start"])
    now = client.sessions.GetSession(api.GetSessionRequest(session_id=session_id)).session
    assert now.position.text == plies[-1][1]
    finished = "result" in line
    assert now.state == (session_pb2.SESSION_STATE_FINISHED if finished else session_pb2.SESSION_STATE_ACTIVE)
    assert len(now.round_results) == finished
    if finished:
        check_result(now.round_results[0], line["result"], plies[-1][1])
        check_result(now.result, line["result"], plies[-1][1])


def all_at_once(address, function, jobs, token=None):
    """Runs `function(client, *job)` for every job on a few connections; the first failure is raised."""

    def run(job):
        with Client(address, token) as client:
            return function(client, *job)

    with concurrent.futures.ThreadPoolExecutor(PLAYERS_AT_ONCE) as pool:
        return list(pool.map(run, jobs))


@pytest.mark.parametrize("game", vectors.GAMES)
def test_the_games_of_the_vectors(server, game):
    lines = vectors.games(game)
    plies = all_at_once(server.address, play_vector, [(game, line) for line in lines])
    assert len(plies) == len(lines)
    assert sum(plies) == sum(len(line["plies"]) for line in lines)


def play_random(client, game, seed):
    """A game between two clients that know no rules: they take any move that the server offers, until it names a result."""
    chance = random.Random(f"{game} {seed}")
    created = client.sessions.CreateSession(api.CreateSessionRequest(game=game)).session
    session_id, version, seeds = created.session_id, created.version, vectors.seeds_in(created.position.text)
    plies = 0
    while True:
        if chance.random() < 0.5 or plies < 2:
            # Also where all moves could be listed, drawing must be fair game.
            sample = api.SampleMovesRequest(session_id=session_id, count=1, seed=chance.getrandbits(32))
            (move,) = client.sessions.SampleMoves(sample).moves
        else:
            move = chance.choice(client.sessions.ListLegalMoves(api.ListLegalMovesRequest(session_id=session_id)).moves)
        request = api.ApplyMoveRequest(session_id=session_id, move=move, expected_version=version, include_position=True)
        reply = client.sessions.ApplyMove(request)
        plies += 1
        assert reply.full_position.text == reply.position
        assert vectors.seeds_in(reply.position) == seeds, "no seed is lost or made"
        check_full_position(reply.full_position, seeds)
        if reply.HasField("match_result"):
            break
        assert reply.version == version + 1
        version = reply.version
    check_ending(client, session_id, reply, plies)
    return plies


def check_full_position(position, seeds):
    """The structured position holds the same seeds as its text."""
    assert [pit.index for pit in position.pits] == list(range(len(position.pits)))
    assert sum(pit.seeds for pit in position.pits) + position.south_bank + position.north_bank == seeds
    assert (position.south_bank, position.north_bank) == vectors.banks(position.text)


def check_ending(client, session_id, reply, plies):
    """A game that has ended is finished for everyone and offers nothing more."""
    result = reply.round_result
    assert result.reason in ROUND_REASONS
    assert vectors.phase_of(reply.position) == f"over:{result.reason}"
    larger = {True: game_pb2.SEAT_SOUTH, False: game_pb2.SEAT_NORTH}
    drawn = result.south == result.north
    assert result.winner == (game_pb2.SEAT_UNSPECIFIED if drawn else larger[result.south > result.north])
    assert plies <= 2_000, "the guards end a game that goes nowhere"
    session = client.sessions.GetSession(api.GetSessionRequest(session_id=session_id)).session
    assert session.state == session_pb2.SESSION_STATE_FINISHED
    assert session.version == reply.version == 1 + plies + 2
    listed = client.sessions.ListLegalMoves(api.ListLegalMovesRequest(session_id=session_id))
    assert listed.to_act == game_pb2.SEAT_UNSPECIFIED
    assert listed.phase == game_pb2.PHASE_OVER
    assert not listed.moves
    assert not client.sessions.SampleMoves(api.SampleMovesRequest(session_id=session_id, count=3)).moves
    with pytest.raises(grpc.RpcError) as refused:
        client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=game_pb2.Move(text="0")))
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert refused.value.details().startswith("SESSION_OVER")


@pytest.mark.parametrize("game", vectors.GAMES)
def test_random_games_under_the_default_guards(server, game, long_form):
    count = 60 if long_form else 6
    plies = all_at_once(server.address, play_random, [(game, seed) for seed in range(count)])
    assert len(plies) == count
    assert min(plies) > 2
