"""The test vectors as data; ../vectors/README.md says what a line holds."""

import json
from pathlib import Path

from mancala.v1 import game_pb2

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
GAMES = ("ali_guli_mane", "ayoayo", "gore", "hoyito3", "kiothi")
SEATS = {"S": game_pb2.SEAT_SOUTH, "N": game_pb2.SEAT_NORTH, None: game_pb2.SEAT_UNSPECIFIED}


def _lines(name):
    with open(FOLDER / name, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert lines, f"{name} is empty"
    return lines


def games(game):
    """Whole games: `id`, `start`, `plies` as [move, position after it], and `result` unless cut short."""
    return _lines(f"{game}.games.jsonl")


def positions(game):
    """Positions with all their legal moves: `id`, `position`, `legal` as move -> position after it."""
    return _lines(f"{game}.positions.jsonl")


def endless():
    """Endless moves: `id`, `position`, `endless` (the move), `to` (the position after it)."""
    return _lines("endless.jsonl")


def matches():
    """Matches: `rounds`, rounds `played` as `start`, `moves`, `end`, `points`; then `points` or `holding`, and `winner`."""
    return _lines("matches.jsonl")


def game_of(position):
    """The game that a position's text names."""
    return position.split()[0]


def phase_of(position):
    """The phase in a position's text, such as "sow", "open1" or "over:no_move"."""
    return position.split()[4]


def to_act(position):
    """The seat to act in a position's text."""
    return SEATS[position.split()[3]]


def banks(position):
    """What South and North have captured."""
    south, north = position.split()[2].split("-")
    return int(south), int(north)


def seeds_in(position):
    """All seeds of a position's text: on the board and in both banks."""
    board = position.split()[1].replace("/", ",").split(",")
    return sum(int(pit.strip("^*")) for pit in board if pit != "x") + sum(banks(position))
