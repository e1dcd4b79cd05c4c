"""Errors from the client's side: each can be handled by a program, and says to a person what to do."""

import itertools
import uuid

import grpc
import pytest
import vectors
from client import refusal_of
from mancala.v1 import game_pb2, session_pb2
from mancala.v1 import rules_service_pb2 as rules
from mancala.v1 import session_service_pb2 as api

Code = grpc.StatusCode
SOUTH, NORTH = game_pb2.SEAT_SOUTH, game_pb2.SEAT_NORTH


@pytest.fixture(scope="module")
def reasons(client):
    """The server's own table of reasons."""
    return {entry.reason: entry for entry in client.rules.ListReasons(rules.ListReasonsRequest()).reasons}


@pytest.fixture
def refused(reasons):
    """Calls, expects an error, checks all that holds for every error, and gives it."""

    def check(method, request, code, reason):
        error = refusal_of(method, request)
        assert (error.code, error.reason) == (code, reason), error
        assert error.message.startswith(reason), error
        assert error.domain, error
        listed = reasons[reason]
        assert listed.code == code.name, "ListReasons names the code that comes with the reason"
        assert set(error.metadata) == set(listed.metadata), "and every fact that it bears"
        return error

    return check


@pytest.fixture
def faults(refused):
    """Calls with faulty fields, and gives the set of paths that are found fault with."""

    def check(method, request):
        error = refused(method, request, Code.INVALID_ARGUMENT, "INVALID_REQUEST")
        assert all(all(descriptions) for descriptions in error.fields.values()), "each fault is described"
        return set(error.fields)

    return check


@pytest.fixture
def session(client):
    """Makes sessions, `session(game, position="", **fields)`, and gives their ids."""

    def create(game, position="", **fields):
        return client.sessions.CreateSession(api.CreateSessionRequest(game=game, position=position, **fields)).session.session_id

    return create


def text(move):
    return game_pb2.Move(text=move)


def new_id():
    return f"test-{uuid.uuid4()}"


# --- what the rules refuse -------------------------------------------------------------------------------------------

RULES_REFUSE = [
    # reason, position, move
    ("PIT_EMPTY", "gore 0,7,7,7/7,7,7,6 0-0 S sow", "0"),
    ("PIT_EMPTY", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S sow", "0x1"),
    ("PIT_NOT_YOURS", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "5"),
    ("PIT_NOT_YOURS", "gore 6,6,6^,6/6,6,6,6 0-0 S sow", "2"),
    ("PIT_NOT_YOURS", "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow", "6"),
    ("PIT_CLOSED", "ali_guli_mane 8,x,0,2,x,0,4/x,0,x,0,3,4,3 15-31 N sow", "7"),
    ("WRONG_PHASE", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "accept"),
    ("WRONG_PHASE", "gore 4,4,4,4/4,4,3,3 6-12 N answer:0", "4"),
    ("WRONG_PHASE", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1", "4x5"),
    ("MUST_PASS", "gore 0,0,0,0/9,9,9,9 0-12 S sow", "offer 0"),
    ("CANNOT_PASS", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "pass"),
    ("CANNOT_PASS", "ali_guli_mane 0,0,0,5,x,3,1/0,1,x,x,0,x,0 25-35 S bonus", "pass"),
    ("TRADE_NOT_AFFORDABLE", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "offer 0"),
    ("TRADE_NOT_AFFORDABLE", "gore 4,4,4,4/4,4,3,3 7-11 S sow", "offer 0+1"),
    ("TRADE_KEEPS_NO_PIT", "gore 4,4,4^,4/4,4,3,3 0-18 S sow", "offer 0+1+3"),
    ("FIRST_LAP_ENDS_IN_OWN_OCCUPIED_PIT", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S sow", "4x2"),
    ("NOT_IN_THIS_GAME", "ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow", "offer 1"),
    ("PIT_OFF_BOARD", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "8"),
    ("SEEDS_NOT_CHOSEN", "gore 6,6,6,6/6,6,6,6 0-0 S sow", "0x6"),
    ("SEEDS_OUT_OF_RANGE", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S sow", "4x6"),
    ("TRADE_SIZE", "gore 4,4,4,4/4,4,3,3 0-18 S sow", "offer 0+1+2+3"),
    ("REDISTRIBUTION_SIZE", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1", "4>0:5"),
    ("REDISTRIBUTION_UNBALANCED", "kiothi 0,0,0,0,5,5,5,5,5,5/0,0,0,0,5,5,5,5,5,5 0-0 S open1", "4+5>0:9"),
    ("MUST_FEED", "ayoayo 1,0,0,0,0,4/0,0,0,0,0,0 20-23 S sow last=N", "0"),
]


@pytest.mark.parametrize(("reason", "position", "move"), RULES_REFUSE)
def test_a_move_that_the_rules_refuse(client, session, refused, reason, position, move):
    game = vectors.game_of(position)
    session_id = session(game, position)
    error = refused(
        client.sessions.ApplyMove, api.ApplyMoveRequest(session_id=session_id, move=text(move)), Code.FAILED_PRECONDITION, reason
    )
    checked = client.sessions.CheckMove(api.CheckMoveRequest(session_id=session_id, move=text(move)))
    assert not checked.legal
    item = rules.PositionStep(position=position, moves=[move])
    (stepped,) = client.rules.StepPositions(rules.StepPositionsRequest(game=game, items=[item])).results
    for refusal in (checked.refusal, stepped.refusal):
        assert (refusal.reason, dict(refusal.metadata)) == (reason, error.metadata)
        assert refusal.message and error.message.endswith(refusal.message)
    now = client.sessions.GetSession(api.GetSessionRequest(session_id=session_id)).session
    assert (now.version, now.position.text) == (1, position), "a refused move changes nothing"


def test_a_refusal_names_the_pit(client, session, refused):
    session_id = session("gore", "gore 6,6,6,0/7,7,8,8 0-0 S sow")
    request = api.ApplyMoveRequest(session_id=session_id, move=text("3"))
    error = refused(client.sessions.ApplyMove, request, Code.FAILED_PRECONDITION, "PIT_EMPTY")
    assert "3" in error.metadata.values()
    assert "3" in error.message


def test_it_is_the_other_seats_turn(client, session, refused):
    session_id = session("ayoayo")
    request = api.ApplyMoveRequest(session_id=session_id, move=text("8"), seat=NORTH)
    refused(client.sessions.ApplyMove, request, Code.FAILED_PRECONDITION, "NOT_YOUR_TURN")
    checked = client.sessions.CheckMove(api.CheckMoveRequest(session_id=session_id, move=text("8"), seat=NORTH))
    assert checked.refusal.reason == "NOT_YOUR_TURN"


def test_the_turn_is_looked_at_before_the_move(client, session, refused):
    request = api.ApplyMoveRequest(session_id=session("gore"), move=text("pass"), seat=NORTH)
    refused(client.sessions.ApplyMove, request, Code.FAILED_PRECONDITION, "NOT_YOUR_TURN")


def test_a_finished_session_takes_nothing_more(client, session, refused):
    session_id = session("gore")
    resigned = client.sessions.Resign(api.ResignRequest(session_id=session_id, seat=SOUTH, match=True))
    assert resigned.match_result.winner == NORTH
    assert resigned.match_result.reason == "resignation"
    now = client.sessions.GetSession(api.GetSessionRequest(session_id=session_id)).session
    assert now.state == session_pb2.SESSION_STATE_FINISHED
    assert now.version == resigned.version
    request = api.ApplyMoveRequest(session_id=session_id, move=text("0"))
    refused(client.sessions.ApplyMove, request, Code.FAILED_PRECONDITION, "SESSION_OVER")
    refused(client.sessions.Resign, api.ResignRequest(session_id=session_id), Code.FAILED_PRECONDITION, "SESSION_OVER")


# --- which session, which version, which request ---------------------------------------------------------------------


def test_an_unknown_session_is_not_found_by_any_method(client, refused):
    unknown = new_id()
    for method, request in [
        (client.sessions.GetSession, api.GetSessionRequest(session_id=unknown)),
        (client.sessions.DeleteSession, api.DeleteSessionRequest(session_id=unknown)),
        (client.sessions.ListLegalMoves, api.ListLegalMovesRequest(session_id=unknown)),
        (client.sessions.SampleMoves, api.SampleMovesRequest(session_id=unknown)),
        (client.sessions.CheckMove, api.CheckMoveRequest(session_id=unknown, move=text("0"))),
        (client.sessions.ApplyMove, api.ApplyMoveRequest(session_id=unknown, move=text("0"))),
        (client.sessions.Resign, api.ResignRequest(session_id=unknown)),
        (client.sessions.ListEvents, api.ListEventsRequest(session_id=unknown)),
    ]:
        refused(method, request, Code.NOT_FOUND, "SESSION_NOT_FOUND")


def test_an_unknown_game_is_not_found(client, refused):
    refused(client.rules.GetGame, rules.GetGameRequest(game="chess"), Code.NOT_FOUND, "GAME_NOT_FOUND")


def test_a_deleted_session_is_gone(client, session, refused):
    session_id = session("hoyito3")
    client.sessions.DeleteSession(api.DeleteSessionRequest(session_id=session_id, expected_version=1))
    refused(client.sessions.GetSession, api.GetSessionRequest(session_id=session_id), Code.NOT_FOUND, "SESSION_NOT_FOUND")


def test_a_session_id_that_is_taken(client, session, refused):
    session_id = new_id()
    session("gore", session_id=session_id, request_id="first")
    again = api.CreateSessionRequest(game="gore", session_id=session_id, request_id="second")
    refused(client.sessions.CreateSession, again, Code.ALREADY_EXISTS, "SESSION_ID_TAKEN")


def test_a_stale_version_is_aborted_with_both_versions(client, session, refused):
    session_id = session("gore")
    client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=text("0")))
    stale = [
        (client.sessions.ApplyMove, api.ApplyMoveRequest(session_id=session_id, move=text("4"), expected_version=1)),
        (client.sessions.Resign, api.ResignRequest(session_id=session_id, expected_version=1)),
        (client.sessions.DeleteSession, api.DeleteSessionRequest(session_id=session_id, expected_version=1)),
    ]
    for method, request in stale:
        error = refused(method, request, Code.ABORTED, "STALE_VERSION")
        assert error.metadata["expected_version"] == "1"
        assert error.metadata["current_version"] == "2"


def test_the_version_is_looked_at_before_turn_and_legality(client, session, refused):
    request = api.ApplyMoveRequest(session_id=session("gore"), move=text("pass"), seat=NORTH, expected_version=9)
    refused(client.sessions.ApplyMove, request, Code.ABORTED, "STALE_VERSION")


def test_a_repeated_request_id_is_answered_as_the_first_time(client, session):
    session_id = session("gore")
    request = api.ApplyMoveRequest(
        session_id=session_id,
        move=text("0"),
        seat=SOUTH,
        expected_version=1,
        request_id="a",
        include_position=True,
        include_steps=True,
    )
    first = client.sessions.ApplyMove(request)
    assert not first.replayed
    # Its version is stale by now, it is not South's turn, and pit 0 is empty: none of it is looked at.
    client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=text("7"), request_id="b"))
    again = client.sessions.ApplyMove(request)
    assert again.replayed
    again.replayed = False
    assert again == first
    assert client.sessions.GetSession(api.GetSessionRequest(session_id=session_id)).session.version == 3


def test_a_repeated_resignation_is_answered_as_the_first_time(client, session):
    request = api.ResignRequest(session_id=session("gore"), match=True, request_id="give-up", expected_version=1)
    first = client.sessions.Resign(request)
    again = client.sessions.Resign(request)
    assert again.replayed and not first.replayed
    again.replayed = False
    assert again == first


def test_a_repeated_creation_is_answered_as_the_first_time(client):
    request = api.CreateSessionRequest(game="kiothi", session_id=new_id(), request_id="make", labels={"table": "7"})
    first = client.sessions.CreateSession(request)
    client.sessions.Resign(api.ResignRequest(session_id=request.session_id))
    again = client.sessions.CreateSession(request)
    assert again.replayed and not first.replayed
    again.replayed = False
    assert again == first


@pytest.mark.parametrize("other", [{"move": text("1")}, {"seat": NORTH}])
def test_a_request_id_with_another_content_is_refused(client, session, refused, other):
    session_id = session("gore")
    content = {"session_id": session_id, "move": text("0"), "request_id": "a"}
    client.sessions.ApplyMove(api.ApplyMoveRequest(**content))
    request = api.ApplyMoveRequest(**{**content, **other})
    refused(client.sessions.ApplyMove, request, Code.INVALID_ARGUMENT, "REQUEST_ID_REUSED")


def test_a_request_id_of_another_method_is_refused(client, session, refused):
    session_id = session("gore")
    client.sessions.ApplyMove(api.ApplyMoveRequest(session_id=session_id, move=text("0"), request_id="a"))
    request = api.ResignRequest(session_id=session_id, request_id="a")
    refused(client.sessions.Resign, request, Code.INVALID_ARGUMENT, "REQUEST_ID_REUSED")


def test_a_refused_move_leaves_its_request_id_free(client, session, refused):
    session_id = session("gore")
    wrong = api.ApplyMoveRequest(session_id=session_id, move=text("5"), request_id="a")
    refused(client.sessions.ApplyMove, wrong, Code.FAILED_PRECONDITION, "PIT_NOT_YOURS")
    right = api.ApplyMoveRequest(session_id=session_id, move=text("3"), request_id="a")
    assert not client.sessions.ApplyMove(right).replayed


# --- what is malformed -----------------------------------------------------------------------------------------------


def test_all_faults_of_a_request_are_named_at_once(client, faults):
    request = api.CreateSessionRequest(
        game="chess", session_id="No!", request_id="has blanks", labels={f"label{number}": "" for number in range(17)}
    )
    assert faults(client.sessions.CreateSession, request) == {"game", "session_id", "request_id", "labels"}


@pytest.mark.parametrize("session_id", ["abc", "a" * 64, "Upper-case", "with_underscore", "with blank", "ümlaut"])
def test_a_malformed_session_id(client, faults, session_id):
    assert faults(client.sessions.CreateSession, api.CreateSessionRequest(game="gore", session_id=session_id)) == {"session_id"}


def test_session_ids_at_their_limits(client):
    for session_id in (uuid.uuid4().hex[:4], uuid.uuid4().hex + "-" + "0" * 30):
        request = api.CreateSessionRequest(game="gore", session_id=session_id)
        assert client.sessions.CreateSession(request).session.session_id == session_id


@pytest.mark.parametrize("labels", [{"k" * 64: "v"}, {"k": "v" * 64}, {f"k{number}": "v" for number in range(17)}])
def test_labels_over_a_limit(client, faults, labels):
    paths = faults(client.sessions.CreateSession, api.CreateSessionRequest(game="gore", labels=labels))
    assert paths and all(path.startswith("labels") for path in paths)


def test_labels_at_their_limits(client):
    labels = {f"{number:063}": "v" * 63 for number in range(16)}
    assert client.sessions.CreateSession(api.CreateSessionRequest(game="gore", labels=labels)).session.labels == labels


@pytest.mark.parametrize("request_id", ["a" * 65, "with blank", "dots.are.not"])
def test_a_malformed_request_id(client, session, faults, request_id):
    request = api.ApplyMoveRequest(session_id=session("gore"), move=text("0"), request_id=request_id)
    assert faults(client.sessions.ApplyMove, request) == {"request_id"}


MALFORMED_POSITIONS = [
    "gore",
    "gore nonsense",
    "gore 6,6,6/6,6,6,6 0-0 S sow",
    "gore 6,6,6,6/6,6,6,6 0-0 X sow",
    "gore 6,6,6,6/6,6,6,6 0-0 S bonus",
    "gore 6,6,6,99999999999/6,6,6,6 0-0 S sow",
]


@pytest.mark.parametrize("position", MALFORMED_POSITIONS)
def test_a_malformed_position(client, faults, position):
    assert faults(client.sessions.CreateSession, api.CreateSessionRequest(game="gore", position=position)) == {"position"}


def test_a_position_of_another_game(client, faults):
    request = api.CreateSessionRequest(game="gore", position="ayoayo 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S sow")
    assert faults(client.sessions.CreateSession, request) <= {"game", "position"}


@pytest.mark.parametrize("move", ["", "north", "3x", "offer", "4+5>", "99999999999"])
def test_a_malformed_move(client, session, faults, move):
    paths = faults(client.sessions.ApplyMove, api.ApplyMoveRequest(session_id=session("gore"), move=text(move)))
    assert paths and all(path.split(".")[0] == "move" for path in paths)


def test_no_move_at_all(client, session, faults):
    assert faults(client.sessions.ApplyMove, api.ApplyMoveRequest(session_id=session("gore"))) == {"move"}


def test_pages_and_counts_over_their_limits(client, session, faults):
    session_id = session("gore")
    start = rules.PositionStep()
    for method, request, path in [
        (client.sessions.ListSessions, api.ListSessionsRequest(page_size=1001), "page_size"),
        (client.sessions.ListSessions, api.ListSessionsRequest(page_token="not one of ours"), "page_token"),
        (client.sessions.ListEvents, api.ListEventsRequest(session_id=session_id, page_size=1001), "page_size"),
        (client.sessions.SampleMoves, api.SampleMovesRequest(session_id=session_id, count=101), "count"),
        (client.rules.StepPositions, rules.StepPositionsRequest(game="gore", items=[start] * 1001), "items"),
        (client.rules.PlayoutPositions, rules.PlayoutPositionsRequest(game="gore", playouts=10_001), "playouts"),
        (
            client.rules.PlayoutPositions,
            rules.PlayoutPositionsRequest(game="gore", playouts=1, positions=[""] * 1001),
            "positions",
        ),
    ]:
        assert faults(method, request) == {path}, request


def test_a_page_token_of_another_list(client, session, faults):
    for _ in range(3):
        session("gore")
    first = client.sessions.ListSessions(api.ListSessionsRequest(game="gore", page_size=1))
    assert first.next_page_token
    request = api.ListSessionsRequest(game="kiothi", page_size=1, page_token=first.next_page_token)
    assert faults(client.sessions.ListSessions, request) == {"page_token"}


def test_pages_are_whole_and_newest_first(client, session):
    label = {"battery": uuid.uuid4().hex}
    made = [session("gore", labels=label) for _ in range(5)]
    listed, token = [], ""
    for _ in itertools.count():
        page = client.sessions.ListSessions(api.ListSessionsRequest(labels=label, page_size=2, page_token=token))
        listed += [entry.session_id for entry in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert listed == made[::-1]


def test_a_message_over_the_limit_has_an_error_like_any_other(client, refused):
    # 64 KiB are taken; this is a little more.
    request = api.CreateSessionRequest(game="gore", position="x" * (64 * 1024 + 1))
    refused(client.sessions.CreateSession, request, Code.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE")


def test_every_reason_is_described(reasons):
    assert {reason for reason, _, _ in RULES_REFUSE} <= set(reasons)
    assert list(reasons) == sorted(reasons)
    for reason, entry in reasons.items():
        assert reason == reason.upper() and reason.replace("_", "").isalnum()
        assert entry.code in Code.__members__, entry
        assert len(entry.description) > 10, entry
