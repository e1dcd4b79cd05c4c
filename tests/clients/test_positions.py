"""The positions of the vectors through RulesService, which keeps nothing: legal sets, resulting positions, endless moves."""

import itertools

import notation
import pytest
import vectors
from mancala.v1 import game_pb2
from mancala.v1 import rules_service_pb2 as rules
from mancala.v1 import session_service_pb2 as api

# Below the 1,000 items of a call, since the server takes messages of up to 64 KiB: an item here has up to 110 bytes.
ITEMS_A_CALL = 400
NO_GUARDS = game_pb2.Guards(repetition=0, quiet=0, max_plies=0)


def batches(items, size=ITEMS_A_CALL):
    """Lists of at most `size` items."""
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def step(client, game, items, **flags):
    """Plays (position, moves) items and gives one result an item, however many calls that takes."""
    results = []
    for batch in batches(items):
        steps = [rules.PositionStep(position=position, moves=moves) for position, moves in batch]
        reply = client.rules.StepPositions(rules.StepPositionsRequest(game=game, items=steps, **flags))
        assert len(reply.results) == len(batch)
        results += reply.results
    return results


@pytest.mark.parametrize("game", vectors.GAMES)
def test_listed_moves_are_exactly_the_legal_ones(client, game):
    for line in vectors.positions(game):
        reply = client.rules.ListPositionMoves(rules.ListPositionMovesRequest(position=line["position"]))
        texts = [move.text for move in reply.moves]
        assert sorted(texts) == sorted(line["legal"]), line["id"]
        assert [notation.text_of(move) for move in reply.moves] == texts
        assert reply.position.text == line["position"]


@pytest.mark.parametrize("game", vectors.GAMES)
def test_a_batch_lists_the_same_moves(client, game):
    lines = vectors.positions(game)
    results = step(client, game, [(line["position"], []) for line in lines], include_legal_moves=True)
    for line, result in zip(lines, results, strict=True):
        assert not result.HasField("refusal"), result.refusal
        assert result.position == line["position"]
        assert sorted(result.legal_moves) == sorted(line["legal"]), line["id"]
        assert result.plies == 0


@pytest.mark.parametrize("game", vectors.GAMES)
def test_each_legal_move_leads_where_it_should(client, game):
    cases = [(line, move, after) for line in vectors.positions(game) for move, after in line["legal"].items()]
    results = step(client, game, [(line["position"], [move]) for line, move, _ in cases])
    for (line, move, after), result in zip(cases, results, strict=True):
        assert not result.HasField("refusal"), f"{line['id']}: {move} refused: {result.refusal}"
        assert result.position == after, f"{line['id']}: {move}"
        assert result.plies == 1
        assert result.HasField("result") == vectors.phase_of(after).startswith("over:")


@pytest.mark.parametrize("game", vectors.GAMES)
def test_moves_in_a_row_lead_through_whole_games(client, game):
    runs = []
    for line in vectors.games(game):
        start = line["start"]
        for chunk in batches(line["plies"], 30):
            runs.append((start, [move for move, _ in chunk], chunk[-1][1]))
            start = chunk[-1][1]
    results = step(client, game, [(start, moves) for start, moves, _ in runs])
    for (start, moves, end), result in zip(runs, results, strict=True):
        assert not result.HasField("refusal"), result.refusal
        assert result.position == end
        assert result.plies == len(moves)
        south, north = (after - before for after, before in zip(vectors.banks(end), vectors.banks(start)))
        if not result.HasField("result") and game != "gore":
            # In Goré seeds are paid for pits as well, and at the end of a round the board is swept.
            assert (result.south_captured, result.north_captured) == (south, north)


def test_an_item_that_is_refused_says_where_and_spoils_no_other(client):
    start = "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow"
    moved = "ayoayo 6,6,2,7,0,6/1,0,6,6,0,1 7-0 N sow last=S"
    first, second, third, fourth = step(
        client, "ayoayo", [(start, ["2"]), (start, ["2", "0", "8"]), ("ayoayo nonsense", ["2"]), ("", ["2"])]
    )
    assert not first.HasField("refusal")
    assert first.position == moved
    assert second.refusal.reason == "PIT_NOT_YOURS"
    assert second.refused_move == 1
    assert second.position == moved, "the position before the refused move"
    assert second.plies == 1
    assert third.refusal.reason == "INVALID_POSITION"
    assert not third.HasField("refused_move"), "it is the position that was refused"
    assert fourth.position == moved, "no position is the start position"


@pytest.mark.parametrize("line", vectors.endless(), ids=lambda line: line["id"])
def test_an_endless_move_is_void_and_said_to_be(client, line):
    position, move = line["position"], line["endless"]
    game = vectors.game_of(position)
    (result,) = step(client, game, [(position, [move])])
    assert result.position == line["to"]
    assert (result.south_captured, result.north_captured) == (0, 0)

    created = client.sessions.CreateSession(api.CreateSessionRequest(game=game, guards=NO_GUARDS, position=position)).session
    session_id = created.session_id
    reply = client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=game_pb2.Move(text=move)))
    assert reply.endless
    assert reply.captured == 0
    assert reply.position == line["to"]
    events = client.sessions.ListEvents(api.ListEventsRequest(session_id=session_id)).events
    assert events[1].move_played.endless
