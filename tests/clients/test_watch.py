"""Watching and playing by stream from Python and by grpcurl."""

import json
import queue
import shutil
import subprocess

import grpc
import pytest
from client import Client, decode
from mancala.v1 import game_pb2
from mancala.v1 import session_service_pb2 as api
from mancala.v1 import watch_pb2

SECONDS = 30


def new_session(client, game="gore"):
    return client.sessions.CreateSession(api.CreateSessionRequest(game=game)).session.session_id


def play(client, session_id, count):
    """Plays so many moves, drawn by the server; gives the version."""
    for _ in range(count):
        (move,) = client.sessions.SampleMoves(api.SampleMovesRequest(session_id=session_id)).moves
        request = api.ApplyMoveRequest(session_id=session_id, move=game_pb2.Move(text=move.text))
        version = client.sessions.ApplyMove(request).version
    return version


def test_a_watch_begins_with_a_snapshot_and_goes_on_from_its_version(client):
    session_id = new_session(client)
    play(client, session_id, 3)
    request = watch_pb2.WatchSessionRequest(session_id=session_id, include_snapshot=True)
    watch = client.sessions.WatchSession(request, timeout=SECONDS)
    first = next(watch)
    assert (first.session.version, first.version, list(first.events)) == (4, 4, [])
    play(client, session_id, 1)
    assert [event.version for event in next(watch).events] == [5]
    watch.cancel()
    play(client, session_id, 2)
    request = watch_pb2.WatchSessionRequest(session_id=session_id, after_version=5)
    again = client.sessions.WatchSession(request, timeout=SECONDS)
    assert [event.version for event in next(again).events] == [6, 7]
    again.cancel()


def test_a_watch_from_the_future_is_refused_with_both_versions(client):
    session_id = new_session(client)
    with pytest.raises(grpc.RpcError) as error:
        next(client.sessions.WatchSession(watch_pb2.WatchSessionRequest(session_id=session_id, after_version=9), timeout=SECONDS))
    refused = decode(error.value)
    assert (refused.code, refused.reason) == (grpc.StatusCode.OUT_OF_RANGE, "VERSION_AHEAD")
    assert (refused.metadata["asked_version"], refused.metadata["current_version"]) == ("9", "1")


def test_a_stream_plays_and_watches(client):
    session_id = new_session(client)
    commands = queue.SimpleQueue()
    replies = client.sessions.Play(iter(commands.get, None), timeout=SECONDS)
    commands.put(api.PlayRequest(command_id="eye", watch_session=watch_pb2.WatchSessionRequest(session_id=session_id)))
    assert next(replies).watch_session.version == 1
    for number in range(2):
        move = api.ApplyMoveRequest(session_id=session_id, move=game_pb2.Move(text="0"), request_id="once")
        commands.put(api.PlayRequest(command_id=f"move-{number}", apply_move=move))
    seen = [next(replies) for _ in range(3)]
    replayed = {reply.command_id: reply.apply_move.replayed for reply in seen if reply.HasField("apply_move")}
    assert replayed == {"move-0": False, "move-1": True}
    assert [reply.watch_session.version for reply in seen if reply.HasField("watch_session")] == [2]
    commands.put(api.PlayRequest(command_id="stop", stop_watch=api.StopWatchRequest(command_id="eye")))
    assert next(replies).stop_watch.version == 2
    commands.put(None)
    assert list(replies) == []


def test_a_feed_goes_on_after_its_cursor_when_the_server_was_killed(start_server, tmp_path):
    running = start_server(tmp_path / "feed.db")
    with Client(running.address) as client:
        feed = client.sessions.WatchSessions(watch_pb2.WatchSessionsRequest(), timeout=SECONDS)
        cursor = next(feed).cursor
        session_id = new_session(client)
        play(client, session_id, 2)
        running.kill()
    running = start_server(tmp_path / "feed.db")
    with Client(running.address) as client:
        feed = client.sessions.WatchSessions(watch_pb2.WatchSessionsRequest(cursor=cursor), timeout=SECONDS)
        versions = []
        while versions != [1, 2, 3]:
            for change in next(feed).changes:
                assert change.session_id == session_id
                versions += [event.version for event in change.events]
        feed.cancel()


def grpcurl(address, method, request, *options):
    assert shutil.which("grpcurl"), "grpcurl is missing: tests/run tools brings it, and tests/run clients puts it on the path"
    command = ["grpcurl", "-plaintext", *options, "-d", "@", address, f"mancala.v1.SessionService/{method}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), request


def test_grpcurl_shows_a_watch_and_where_to_resume_when_the_server_stops(start_server, tmp_path):
    running = start_server(tmp_path / "watch.db")
    with Client(running.address) as client:
        session_id = new_session(client)
        play(client, session_id, 2)
        watch, request = grpcurl(running.address, "WatchSession", {"session_id": session_id}, "-max-time", str(SECONDS))
        watch.stdin.write(json.dumps(request))
        watch.stdin.close()
        shown = ""
        while '"currentVersion": 3' not in shown:
            line = watch.stdout.readline()
            assert line, watch.stderr.read()
            shown += line
    running.stop()
    told = watch.stderr.read()
    assert watch.wait(SECONDS) != 0
    assert "Unavailable" in told and "STREAM_STOPPING" in told and '"resume_after":"3"' in told, told


def test_grpcurl_plays_by_a_stream(client):
    session_id = new_session(client)
    play_stream, _ = grpcurl(client.address, "Play", None, "-max-time", str(SECONDS))
    commands = [
        {"command_id": "a", "apply_move": {"session_id": session_id, "move": {"text": "0"}}},
        {"command_id": "b", "apply_move": {"session_id": session_id, "move": {"text": "nonsense"}}},
    ]
    told, failed = play_stream.communicate("\n".join(map(json.dumps, commands)), SECONDS)
    assert play_stream.returncode == 0, failed
    decoder, replies = json.JSONDecoder(), []
    while told.strip():
        reply, end = decoder.raw_decode(told.lstrip())
        replies.append(reply)
        told = told.lstrip()[end:]
    assert [reply["commandId"] for reply in replies] == ["a", "b"]
    assert replies[0]["applyMove"]["version"] == 2
    assert replies[1]["failure"]["code"] == "INVALID_ARGUMENT"
    assert [fault["field"] for fault in replies[1]["failure"]["fields"]] == ["move.text"]
