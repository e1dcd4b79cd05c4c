#!/usr/bin/env python3
"""What changes as a store and its games grow: processor time of a move, memory and time to start.

It fills an embedded store with sessions, stops at some sizes to start the server anew, and plays moves of sessions drawn from all of
them. Then it plays long games side by side. docs/performance.md goes by it, and docs/scale.svg is its plot.

    tests/run tools && cargo build --release --bin mancala && target/tools/venv/bin/python tests/tools/scale.py

With matplotlib (target/tools/venv/bin/pip install matplotlib) `--plot FILE.svg` draws what was measured; `--json FILE` writes it, and
`--from FILE` draws it without measuring again. A million sessions take some ten minutes and 1.5 GB of disk.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "clients")]

import stubs  # noqa: E402

stubs.generate()

import grpc  # noqa: E402
from mancala.v1 import session_pb2, session_service_pb2 as api  # noqa: E402
from mancala.v1 import session_service_pb2_grpc  # noqa: E402
from server import Server  # noqa: E402

TICK = 1 / os.sysconf("SC_CLK_TCK")
CROWD = 64
# Of a batch of creations.
MOST = 500
# Sessions that are drawn at each size, as many at all of them, and moves of each. The server has none of them in memory at first.
DRAWN, OPENING = 800, 20
# Plies of the long games, and of what is measured at a time.
LONGEST, WINDOW = 2_000, 100
# Both seats can pay for offers, and the last legal move is always to offer or to decline: this game never ends.
ENDLESS = {"game": "gore", "position": "gore 1,0,0,0/0,3,0,0 22-22 S sow", "guards": {"repetition": 0, "quiet": 0, "max_plies": 0}}
LONG = {"one game of Goré": ENDLESS, "rounds of Ayoayo": {"game": "ayoayo", "rounds": 100}}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000], help="stored sessions")
    parser.add_argument("--folder", type=Path, help="where the store is; a temporary one if not given")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--from", dest="source", type=Path)
    return parser.parse_args()


def seconds(server):
    """Processor time so far."""
    fields = Path(f"/proc/{server._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def memory(server):
    """KiB."""
    return int(re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{server._process.pid}/status").read_text(encoding="utf-8"), re.MULTILINE)[1])


async def in_turn(count, work):
    """Does numbered work, so many at a time."""
    numbers = iter(range(count))

    async def one():
        for number in numbers:
            await work(number)

    await asyncio.gather(*(one() for _ in range(CROWD)))


class Client:
    def __init__(self, server):
        self._channel = grpc.aio.insecure_channel(server.address, [("grpc.max_send_message_length", -1)])
        self.calls = session_service_pb2_grpc.SessionServiceStub(self._channel)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self._channel.close()

    async def move(self, name, move):
        return await self.calls.ApplyMove(api.ApplyMoveRequest(session_id=name, move=move))


def name_of(number):
    return f"stored-{number:07}"


async def fill(server, first, last):
    """Makes sessions of these numbers."""
    async with Client(server) as client:
        starts = range(first, last, MOST)

        async def batch(place):
            numbers = range(starts[place], min(starts[place] + MOST, last))
            made = [api.CreateSessionRequest(game="ayoayo", session_id=name_of(number)) for number in numbers]
            await client.calls.BatchCreateSessions(api.BatchCreateSessionsRequest(requests=made), timeout=30)

        await in_turn_of(starts, batch)


async def in_turn_of(starts, batch):
    for first in range(0, len(starts), 4):
        await asyncio.gather(*map(batch, range(first, min(first + 4, len(starts)))))
        if first % 200 == 0:
            print(f"\r{starts[first]} sessions ", end="", file=sys.stderr, flush=True)


async def moves_of(client, count, session):
    """So many moves of a session that is made like this: drawn by the server, or of an endless game the last one that is legal."""
    made = await client.calls.CreateSession(api.CreateSessionRequest(**session))
    moves, name = [], made.session.session_id
    while len(moves) < count:
        if session is ENDLESS:
            found = await client.calls.ListLegalMoves(api.ListLegalMovesRequest(session_id=name))
        else:
            found = await client.calls.SampleMoves(api.SampleMovesRequest(session_id=name, seed=len(moves)))
        assert found.moves, f"it is over after {len(moves)} plies"
        moves.append(found.moves[-1])
        await client.move(name, moves[-1])
    return moves


async def play(server, numbers):
    """Microseconds of a move of sessions that the server must read first, and of their later moves; KiB that each keeps in memory."""
    async with Client(server) as client:
        opening = await moves_of(client, OPENING, {"game": "ayoayo"})
        names = [name_of(number) for number in numbers]
        before, used, costs = memory(server), seconds(server), []
        for move in opening:
            await in_turn(len(names), lambda place, move=move: client.move(names[place], move))
            costs.append((seconds(server) - used) / len(names) * 1e6)
            used = seconds(server)
        return {"first_us": costs[0], "later_us": statistics.fmean(costs[1:]), "active_kib": (memory(server) - before) / len(names)}


async def long_games(server, session):
    """Microseconds of a move, by ply."""
    async with Client(server) as client:
        moves = await moves_of(client, LONGEST, session)
        names = [f"{session['game']}-{number:03}" for number in range(CROWD)]
        for name in names:
            await client.calls.CreateSession(api.CreateSessionRequest(session_id=name, **session))
        costs = []
        for first in range(0, LONGEST, WINDOW):
            used = seconds(server)

            async def play_on(name, part=moves[first : first + WINDOW]):
                for move in part:
                    await client.move(name, move)

            await asyncio.gather(*map(play_on, names))
            costs.append({"ply": first + WINDOW, "us": (seconds(server) - used) / (len(names) * WINDOW) * 1e6})
            print(f"up to ply {first + WINDOW}: {costs[-1]['us']:.1f} us of the server's processor time a move", flush=True)
        return costs


def started(path):
    """A server, how long it took to listen, and what it has in memory then."""
    begun = time.perf_counter()
    server = Server(path)
    return server, {"start_ms": (time.perf_counter() - begun) * 1e3, "idle_kib": memory(server)}


def measure(wanted, folder):
    path, rows, there, unplayed = folder / "games.db", [], 0, set()
    for size in wanted.sizes:
        server = Server(path)
        try:
            asyncio.run(fill(server, there, size))
        finally:
            server.stop()
        unplayed |= set(range(there, size))
        there = size
        server, row = started(path)
        try:
            # Once more, with the file in the system's memory.
            server.stop()
            server, row = started(path)
            drawn = random.Random(size).sample(sorted(unplayed), DRAWN)
            unplayed -= set(drawn)
            row |= {"sessions": size} | asyncio.run(play(server, drawn))
        finally:
            server.stop()
        row["bytes"] = path.stat().st_size
        rows.append(row)
        print(f"\r{size} sessions of {row['bytes'] / size:.0f} bytes: started in {row['start_ms']:.0f} ms with {row['idle_kib'] / 1024:.1f} MiB;", end=" ")
        print(f"a move {row['later_us']:.1f} us, the first of a session not in memory {row['first_us']:.1f}; {row['active_kib']:.2f} KiB a session in memory", flush=True)
    server = Server(folder / "long.db")
    try:
        return {"sizes": rows, "plies": {kind: asyncio.run(long_games(server, session)) for kind, session in LONG.items()}}
    finally:
        server.stop()


def plot(found, target):
    import matplotlib

    matplotlib.use("svg")
    # The same figures are the same file.
    matplotlib.rcParams["svg.hashsalt"] = "mancala"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    rows, sizes = found["sizes"], [row["sessions"] for row in found["sizes"]]
    (moves, plies), (start, resident) = panels
    moves.plot(sizes, [row["later_us"] for row in rows], "o-", label="of a session in memory")
    moves.plot(sizes, [row["first_us"] for row in rows], "s--", label="of one that is read first")
    moves.set(title="A move, by stored sessions", ylabel="processor time of the server, us")
    moves.legend()
    for kind, costs in found["plies"].items():
        plies.plot([row["ply"] for row in costs], [row["us"] for row in costs], "o-", label=kind)
    plies.legend()
    plies.set(title="A move, by ply", xlabel="ply", ylabel="processor time of the server, us", ylim=0)
    start.plot(sizes, [row["start_ms"] for row in rows], "o-")
    start.set(title="Start", ylabel="until it listens, ms")
    resident.plot(sizes, [row["idle_kib"] / 1024 for row in rows], "o-")
    resident.set(title="Memory after the start", ylabel="MiB")
    for panel in (moves, start, resident):
        panel.set(xscale="log", xlabel="stored sessions", ylim=0)
    figure.savefig(target, metadata={"Date": None})


def main():
    wanted = arguments()
    if wanted.source:
        found = json.loads(wanted.source.read_text(encoding="utf-8"))
    else:
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        with tempfile.TemporaryDirectory(prefix="mancala-scale-", dir=wanted.folder) as folder:
            found = measure(wanted, Path(folder))
    if wanted.json:
        wanted.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if wanted.plot:
        plot(found, wanted.plot)


if __name__ == "__main__":
    main()
