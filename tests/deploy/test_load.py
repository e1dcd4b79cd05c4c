"""The load generator of deploy/load that needs no more than grpcurl, against servers with and without tokens and TLS."""

import os
import subprocess

import pytest

from programs import DEPLOY
from server import Server


@pytest.fixture(scope="module")
def closed(tmp_path_factory, operator_settings, tls):
    """A server that wants a key and TLS."""
    _, settings = operator_settings
    settings = settings | {"MANCALA_TLS__CERTIFICATE": str(tls / "tls.crt"), "MANCALA_TLS__KEY": str(tls / "tls.key")}
    with Server(tmp_path_factory.mktemp("load") / "games.db", settings) as running:
        yield running


def moves(server, **told):
    """Two players of three moves each; exit code and what was said."""
    variables = os.environ | {"ADDRESS": server.address, "PLAYERS": "2", "MOVES": "3"} | told
    script = DEPLOY / "load" / "moves.sh"
    done = subprocess.run([script], env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout + done.stderr


def played(status, said):
    return status == 0 and said.count(": 3 moves, version 4\n") == 2 and "2 players, 0 failed" in said


def test_moves_are_played_where_everybody_may(server):
    status, said = moves(server)
    assert played(status, said), said


# Go's programs, as grpcurl is, take whom the machine trusts from SSL_CERT_FILE.
@pytest.mark.parametrize("trust", ["TLS_CA", "SSL_CERT_FILE"])
def test_moves_are_played_with_a_key_over_tls(closed, operator_settings, tls, trust):
    status, said = moves(closed, TOKEN=operator_settings[0], TLS="on", **{trust: str(tls / "tls.crt")})
    assert played(status, said), said


def test_without_a_key_all_players_fail(closed, tls):
    status, said = moves(closed, TLS_CA=str(tls / "tls.crt"))
    assert status != 0 and "2 players, 2 failed" in said and "TOKEN_MISSING" in said, said
