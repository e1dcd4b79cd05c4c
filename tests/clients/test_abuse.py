"""Peers that misbehave do not keep others from being served: Python and grpcurl play on while sockets hang, babble and flood."""

import contextlib
import select
import socket
import subprocess
import threading
import time
import uuid

from client import Client
from mancala.v1 import game_pb2
from mancala.v1 import session_service_pb2 as api

# By then a peer that has said nothing of sense is closed; some more for a busy machine.
CLOSED_WITHIN = 6 + 6
SILENT = 200
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
PING = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + b"\x00" * 8
OPENINGS = [
    b"",
    PREFACE,
    PREFACE + SETTINGS[:5],
    b"\x16\x03\x01\x02\x00\x01",
    b"POST / HTTP/1.1\r\nhost:",
    b"\x00" * 64,
    # Headers that have begun and are not gone on with.
    PREFACE + SETTINGS + b"\x00\x00\x04\x01\x00\x00\x00\x00\x01\x82",
]


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5)


def flood(address, until):
    """Sends pings, on a new connection whenever it is closed."""
    while not until.is_set():
        with contextlib.suppress(OSError), connect(address) as peer:
            peer.sendall(PREFACE + SETTINGS)
            while not until.is_set():
                peer.sendall(PING * 500)


def closed_in_time(peers):
    """Whether all peers are closed by the server in time; reads what it says meanwhile."""
    waiting, end = set(peers), time.monotonic() + CLOSED_WITHIN
    while waiting and time.monotonic() < end:
        for peer in select.select(waiting, [], [], 0.2)[0]:
            with contextlib.suppress(ConnectionError):
                if peer.recv(4096):
                    continue
            waiting.discard(peer)
    return not waiting


def test_python_and_grpcurl_are_served_among_peers_that_misbehave(start_server, tmp_path):
    server = start_server(tmp_path / "games.db")
    done = threading.Event()
    flooding = threading.Thread(target=flood, args=(server.address, done))
    with contextlib.ExitStack() as stack:
        peers = []
        for n in range(SILENT):
            peer = stack.enter_context(connect(server.address))
            peer.sendall(OPENINGS[n % len(OPENINGS)])
            peers.append(peer)
        flooding.start()
        try:
            with Client(server.address) as client:
                session_id = client.sessions.CreateSession(api.CreateSessionRequest(game="ayoayo")).session.session_id
                for _ in range(30):
                    move = client.sessions.SampleMoves(api.SampleMovesRequest(session_id=session_id)).moves[0]
                    request = api.ApplyMoveRequest(session_id=session_id, request_id=uuid.uuid4().hex)
                    request.move.CopyFrom(game_pb2.Move(text=move.text))
                    if client.sessions.ApplyMove(request).HasField("match_result"):
                        break
                listed = subprocess.run(
                    ["grpcurl", "-plaintext", server.address, "mancala.v1.RulesService/ListGames"],
                    capture_output=True,
                    text=True,
                    timeout=30,
                )
                assert listed.returncode == 0 and "ali_guli_mane" in listed.stdout, listed.stderr
            assert closed_in_time(peers), "peers that say nothing of sense are closed"
        finally:
            done.set()
            flooding.join()
    with Client(server.address) as client:
        client.sessions.GetSession(api.GetSessionRequest(session_id=session_id))
    server.stop()
