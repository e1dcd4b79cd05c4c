"""Moves as text, turned into the structured message by a reader that shares nothing with the server's."""

import re

from mancala.v1 import game_pb2

_SOW = re.compile(r"(\d+)(?:x(\d+))?")
_REDISTRIBUTION = re.compile(r"(\d+(?:\+\d+)*)>(\d+:\d+(?:,\d+:\d+)*)")
_OFFER = re.compile(r"offer (\d+(?:\+\d+)*)")


def _pits(text):
    return [int(pit) for pit in text.split("+")]


def message(text):
    """The `Move` message of a canonical move text, with its kind only: the message's own text stays empty."""
    if text == "pass":
        return game_pb2.Move(**{"pass": game_pb2.Pass()})
    if text in ("accept", "decline"):
        return game_pb2.Move(trade_answer=game_pb2.TradeAnswer(accept=text == "accept"))
    if found := _SOW.fullmatch(text):
        pit, seeds = found.groups()
        return game_pb2.Move(sow=game_pb2.Sow(pit=int(pit), seeds=None if seeds is None else int(seeds)))
    if found := _OFFER.fullmatch(text):
        return game_pb2.Move(trade_offer=game_pb2.TradeOffer(pits=_pits(found[1])))
    if found := _REDISTRIBUTION.fullmatch(text):
        emptied, placed = found.groups()
        placements = [
            game_pb2.Placement(pit=int(pit), seeds=int(seeds))
            for pit, seeds in (placement.split(":") for placement in placed.split(","))
        ]
        return game_pb2.Move(redistribution=game_pb2.Redistribution(emptied=_pits(emptied), placements=placements))
    raise ValueError(f"not a move: {text!r}")


def text_of(move):
    """The canonical text of a message's kind, whatever its own text says."""
    kind = move.WhichOneof("kind")
    if kind == "sow":
        return f"{move.sow.pit}x{move.sow.seeds}" if move.sow.HasField("seeds") else str(move.sow.pit)
    if kind == "redistribution":
        emptied = "+".join(str(pit) for pit in sorted(move.redistribution.emptied))
        placed = ",".join(f"{p.pit}:{p.seeds}" for p in sorted(move.redistribution.placements, key=lambda p: p.pit))
        return f"{emptied}>{placed}"
    if kind == "trade_offer":
        return "offer " + "+".join(str(pit) for pit in sorted(move.trade_offer.pits))
    if kind == "trade_answer":
        return "accept" if move.trade_answer.accept else "decline"
    if kind == "pass":
        return "pass"
    raise ValueError(f"a move without a kind: {move}")
