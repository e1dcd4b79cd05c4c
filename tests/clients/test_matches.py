"""Matches of several rounds through the running server: those of the vectors, and two bots that play with clocks and talk."""

import itertools
import random

import grpc
import pytest
import vectors
from client import Client, decode, refusal_of
from mancala.v1 import game_pb2, seats_pb2, session_pb2
from mancala.v1 import session_service_pb2 as api
from test_games import NO_GUARDS, all_at_once, events_of

SEATS = (game_pb2.SEAT_SOUTH, game_pb2.SEAT_NORTH)
ROUNDS = 3
MAIN_SECONDS = 300


def read(client, session_id, version=None):
    return client.sessions.GetSession(api.GetSessionRequest(session_id=session_id, version=version)).session


def points_of(session):
    return [session.south_points, session.north_points]


def play_match(client, line):
    """Plays a match of the vectors move by move."""
    game = vectors.game_of(line["played"][0]["start"])
    request = api.CreateSessionRequest(game=game, rounds=line["rounds"], guards=NO_GUARDS)
    session_id = client.sessions.CreateSession(request).session.session_id
    version = 1
    for number, played in enumerate(line["played"], start=1):
        session = read(client, session_id)
        assert (session.round, session.ply, session.version) == (number, 0, version)
        assert session.position.text == played["start"], f"{line['id']}, round {number}"
        before = points_of(session)
        for text in played["moves"]:
            request = api.ApplyMoveRequest(session_id=session_id, move=game_pb2.Move(text=text), expected_version=version)
            reply = client.sessions.ApplyMove(request)
            version = reply.version
        assert reply.HasField("round_result"), f"{line['id']}, round {number} has ended"
        last = number == len(line["played"])
        assert reply.HasField("match_result") == last
        assert reply.next_round == (0 if last else number + 1)
        after = points_of(read(client, session_id))
        assert [new - old for new, old in zip(after, before)] == played["points"], f"{line['id']}, round {number}"
    check_match(client, session_id, line)
    return sum(len(played["moves"]) for played in line["played"])


def check_match(client, session_id, line):
    """The result of the match, and the same story in its events."""
    session = read(client, session_id)
    assert session.state == session_pb2.SESSION_STATE_FINISHED
    assert session.result.winner == vectors.SEATS[line["winner"]]
    assert [session.result.south, session.result.north] == line.get("points", line.get("holding"))
    assert len(session.round_results) == len(line["played"])
    events = events_of(client, session_id, page_size=500)
    assert [event.version for event in events] == list(range(1, session.version + 1))
    starts = [events[0].created.session.position.text]
    starts += [event.round_started.position for event in events if event.WhichOneof("body") == "round_started"]
    ends = [one.move_played.position for one, next in itertools.pairwise(events) if next.WhichOneof("body") == "round_ended"]
    results = [event.round_ended.result for event in events if event.WhichOneof("body") == "round_ended"]
    assert starts == [played["start"] for played in line["played"]]
    assert ends == [played["end"] for played in line["played"]]
    assert results == list(session.round_results)
    for result, end in zip(results, ends):
        assert (result.south, result.north) == vectors.banks(end)
        assert vectors.phase_of(end) == f"over:{result.reason}"
    assert events[-1].ended.result == session.result


def test_the_matches_of_the_vectors(server):
    lines = vectors.matches()
    # The longest first, so that none of them is alone in the end.
    lines.sort(key=lambda line: -sum(len(played["moves"]) for played in line["played"]))
    moves = all_at_once(server.address, play_match, [(line,) for line in lines])
    assert len(moves) == 20
    assert sum(moves) > 8_000


class Bot:
    """One player on a connection of its own, with its seat's token. It knows no rules: it takes a move that it is offered, and
    talks now and then."""

    def __init__(self, address, token, seat, session_id, seed):
        self.client = Client(address, token)
        self.seat = seat
        self.session_id = session_id
        self.chance = random.Random(f"{seed} {seat}")
        self.requests = itertools.count()

    def request(self, message, **fields):
        request_id = f"bot-{self.seat}-{next(self.requests)}"
        return message(session_id=self.session_id, seat=self.seat, request_id=request_id, **fields)

    def look(self):
        """Reads the session and does at most one thing; gives the session as it was read."""
        reply = self.client.sessions.GetSession(api.GetSessionRequest(session_id=self.session_id))
        session = reply.session
        check_clocks(session, reply.server_time)
        theirs = [proposal for proposal in session.proposals if proposal.by != self.seat]
        if session.HasField("result"):
            return session
        if theirs:
            self.answer(session, theirs[0])
        elif session.position.to_act == self.seat and not session.proposals:
            if self.chance.random() < 0.08:
                self.propose(session)
            else:
                self.move(session)
        return session

    def answer(self, session, proposal):
        # A draw would end the round early: it is agreed to rarely.
        agreed = self.chance.random() < (0.1 if proposal.kind == session_pb2.PROPOSAL_KIND_DRAW else 0.5)
        request = self.request(
            api.AnswerProposalRequest, kind=proposal.kind, accept=agreed, expected_version=session.version
        )
        reply = self.client.sessions.AnswerProposal(request)
        assert reply.version > session.version
        if agreed and proposal.kind == session_pb2.PROPOSAL_KIND_TAKEBACK:
            then = read(self.client, self.session_id, proposal.to_version)
            assert reply.position == then.position.text
            assert read(self.client, self.session_id).ply == then.ply
        again = self.client.sessions.AnswerProposal(request)
        assert again.replayed
        assert again.version == reply.version

    def propose(self, session):
        """A draw, or a takeback of the last move."""
        before = standing_moves(events_of(self.client, self.session_id, 1_000))[:-1]
        if before and self.chance.random() < 0.7:
            request = self.request(api.ProposeRequest, kind=session_pb2.PROPOSAL_KIND_TAKEBACK, to_version=before[-1])
        else:
            request = self.request(api.ProposeRequest, kind=session_pb2.PROPOSAL_KIND_DRAW)
        try:
            assert self.client.sessions.Propose(request).version == session.version + 1
        except grpc.RpcError as error:
            refused = decode(error)
            assert refused.reason == "PROPOSAL_TOO_SOON", refused

    def move(self, session):
        if self.chance.random() < 0.5:
            seed = self.chance.getrandbits(32)
            offered = self.client.sessions.SampleMoves(api.SampleMovesRequest(session_id=self.session_id, seed=seed)).moves
        else:
            offered = self.client.sessions.ListLegalMoves(api.ListLegalMovesRequest(session_id=self.session_id)).moves
        if not offered:
            assert session.position.phase in (game_pb2.PHASE_REDISTRIBUTE_FIRST, game_pb2.PHASE_REDISTRIBUTE_SECOND)
            return
        move = self.chance.choice(offered)
        reply = self.client.sessions.ApplyMove(self.request(api.ApplyMoveRequest, move=move, expected_version=session.version))
        assert reply.version > session.version
        assert reply.HasField("clock")


def standing_moves(events):
    """Versions that a takeback may name: the round's first and those of its moves that still stand."""
    versions = [1]
    for event in events:
        match event.WhichOneof("body"):
            case "round_started":
                versions = [event.version]
            case "move_played":
                versions.append(event.version)
            case "taken_back":
                del versions[versions.index(event.taken_back.to_version) + 1 :]
    return versions


def check_clocks(session, server_time):
    """Both have time, never more than they can have been given, and the deadline of an open session has not passed."""
    clock = session.clock
    for remaining in (clock.south_remaining, clock.north_remaining):
        assert 0 < remaining.seconds <= MAIN_SECONDS + session.ply
    assert server_time.ToMicroseconds() >= session.update_time.ToMicroseconds()
    if clock.HasField("deadline"):
        assert not session.HasField("result")
        assert clock.deadline.ToMicroseconds() > server_time.ToMicroseconds()


def play_bots(client, game, seed):
    """Two bots take turns to look at their match until it has ended; then they agree on another one."""
    total = session_pb2.TotalTime(main={"seconds": MAIN_SECONDS}, increment={"seconds": 1})
    # Two bots that know nothing trade pits of Goré for thousands of plies.
    guards = game_pb2.Guards(max_plies=150)
    clock = session_pb2.ClockSetting(total=total)
    setup = [seats_pb2.SeatSetup(seat=seat, player=f"bot-{seat}", issue_token=True) for seat in SEATS]
    request = api.CreateSessionRequest(game=game, rounds=ROUNDS, guards=guards, clock=clock, seats=setup)
    created = client.sessions.CreateSession(request)
    session_id = created.session.session_id
    tokens = {secret.seat: secret.token for secret in created.secrets}
    bots = [Bot(client.address, tokens[seat], seat, session_id, f"{game} {seed}") for seat in SEATS]
    check_strangers(client, bots, session_id)
    for bot in itertools.cycle(bots):
        session = bot.look()
        if session.HasField("result"):
            break
    check_bots_match(client, session)
    south, north = bots
    south.client.sessions.Propose(south.request(api.ProposeRequest, kind=session_pb2.PROPOSAL_KIND_REMATCH))
    answer = north.request(api.AnswerProposalRequest, kind=session_pb2.PROPOSAL_KIND_REMATCH, accept=True)
    rematch = read(client, north.client.sessions.AnswerProposal(answer).next_session_id)
    assert rematch.previous_session_id == session_id
    assert (rematch.rounds, rematch.ply, rematch.clock.setting) == (ROUNDS, 0, session.clock.setting)
    for bot in bots:
        bot.client.close()
    return [event.WhichOneof("body") for event in events_of(client, session_id, 1_000)]


def check_strangers(client, bots, session_id):
    """A seat's token is for that seat alone, and without one there is nothing to be seen."""
    south, north = bots
    request = api.ApplyMoveRequest(session_id=session_id, seat=SEATS[1], move=game_pb2.Move(text="0"))
    assert refusal_of(south.client.sessions.ApplyMove, request).reason == "SEAT_NOT_YOURS"
    assert refusal_of(north.client.sessions.DeleteSession, api.DeleteSessionRequest(session_id=session_id)).reason == "OPERATOR_ONLY"
    with Client(client.address) as stranger:
        look = api.GetSessionRequest(session_id=session_id)
        assert refusal_of(stranger.sessions.GetSession, look).reason == "SESSION_NOT_FOUND"


def check_bots_match(client, session):
    """Three rounds were played, the starter alternated, and the points are the winners'."""
    assert session.state == session_pb2.SESSION_STATE_FINISHED
    events = events_of(client, session.session_id, 1_000)
    assert [event.version for event in events] == list(range(1, session.version + 1))
    times = [event.time.ToMicroseconds() for event in events]
    assert times == sorted(times)
    starts = [events[0].created.session.position.text]
    starts += [event.round_started.position for event in events if event.WhichOneof("body") == "round_started"]
    assert [vectors.to_act(start) for start in starts] == [SEATS[0], SEATS[1], SEATS[0]][: len(starts)]
    if session.result.reason == "rounds_played":
        assert len(session.round_results) == ROUNDS == len(starts)
    else:
        assert session.result.reason == "cannot_fill"
    winners = [result.winner for result in session.round_results]
    if vectors.game_of(starts[0]) != "kiothi":
        assert points_of(session) == [winners.count(seat) for seat in SEATS]


@pytest.mark.parametrize("game", vectors.GAMES)
def test_two_bots_play_a_match_and_talk(operator, game, long_form):
    address, key = operator
    count = 12 if long_form else 2
    kinds = set(itertools.chain(*all_at_once(address, play_bots, [(game, seed) for seed in range(count)], key)))
    expected = {"created", "move_played", "round_ended", "round_started", "ended", "rematch_made"}
    assert kinds >= expected | {"proposed", "proposal_answered", "taken_back"}
    assert not kinds & {"timed_out", "resigned"}
