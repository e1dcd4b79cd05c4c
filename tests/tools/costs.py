#!/usr/bin/env python3
"""What moves and reads cost: processor time of the server and of Postgres, log (WAL) and bytes on the disk, by call.

It makes a Postgres of its own with deploy/postgres/postgresql.conf, a server on it, and loads that with `mancala bench`; then the same
with the embedded store, for comparison. docs/scaling.md goes by it.

    tests/run tools && cargo build --release && target/tools/venv/bin/python tests/tools/costs.py --help

Processor time by call changes by a third with what else the machine does, calls per second by any factor: compare those of one run.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "deploy"), str(TESTS / "clients")]

import stubs  # noqa: E402

stubs.generate()

import grpc  # noqa: E402
from database import Database, postgres  # noqa: E402
from mancala.v1 import session_service_pb2 as api  # noqa: E402
from mancala.v1 import session_service_pb2_grpc, watch_pb2  # noqa: E402
from server import BINARY, Server, environment  # noqa: E402

# Streams on one connection, of which the server allows 128.
STREAMS = 100
# Calls at once.
CROWD = 32
# So long watches are looked at while nothing happens, in seconds.
IDLE = 30
TICK = 1 / os.sysconf("SC_CLK_TCK")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", default="20s", help="of each measurement")
    parser.add_argument("--concurrency", type=int, default=64, help="calls in flight")
    parser.add_argument("--sessions", type=int, default=2_000, help="sessions that are played at a time; a server keeps 4,096 in memory")
    parser.add_argument("--rate", type=int, default=0, help="calls per second, 0: as many as are answered")
    parser.add_argument("--games", default="ali_guli_mane,ayoayo,gore,hoyito3,kiothi")
    parser.add_argument("--connections", type=int, default=16, help="of the server to Postgres")
    parser.add_argument("--memory", default="256MB", help="shared_buffers")
    parser.add_argument("--settings", nargs="*", default=[], metavar="NAME=VALUE", help="of Postgres beside those of the file")
    parser.add_argument("--watches", type=int, default=2_000, help="of sessions that nothing happens to")
    parser.add_argument("--no-sqlite", action="store_true", help="only Postgres")
    return parser.parse_args()


def of_process(pid):
    """A process's parent, and the processor seconds of it and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system, children_user, children_system = map(int, fields[11:15])
    return int(fields[1]), (user + system) * TICK, (children_user + children_system) * TICK


def of_server(server):
    return of_process(server._process.pid)[1]


def of_postgres(database):
    """Processor seconds of all of Postgres' processes, those that have ended too."""
    root = database._process.pid
    total = sum(of_process(root)[1:])
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent, own, _ = of_process(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += own if parent == root else 0
    return total


def in_kib(pid, file, name):
    return int(re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8"), re.MULTILINE)[1])


class Meter:
    """What has been used so far: seconds of the server and of Postgres, bytes of its log, whole pages of it, commits and syncs."""

    NAMES = ("server", "postgres", "log", "pages", "commits", "syncs")
    # Shared by all databases of the cluster, but there is only this one.
    COUNTERS = """SELECT pg_current_wal_insert_lsn() - '0/0', (SELECT wal_fpi FROM pg_stat_wal),
        (SELECT xact_commit FROM pg_stat_database WHERE datname = 'mancala'), (SELECT wal_sync FROM pg_stat_wal)"""

    def __init__(self, server, database):
        self._server, self._database = server, database

    def read(self):
        if self._database is None:
            return [of_server(self._server), 0, 0, 0, 0, 0]
        # Backends tell of what they did within a second of being idle.
        time.sleep(2)
        (counted,) = self._database.sql(self.COUNTERS)
        return [of_server(self._server), of_postgres(self._database), *map(float, counted)]


class Costs:
    """Of one server."""

    def __init__(self, wanted, server, database=None):
        self._wanted, self._server, self._database = wanted, server, database
        self._meter = Meter(server, database)
        # Of one creation, once it has been measured.
        self._creation = [0.0] * len(Meter.NAMES)

    def bench(self, calls, how_long):
        """The report of `mancala bench`, and what was used."""
        if self._database is not None:
            # One in the midst of it would be counted or not by chance.
            self._database.sql("CHECKPOINT")
        wanted = self._wanted
        command = [BINARY, "bench", "--address", self._server.address, "--calls", calls, "--duration", how_long, "--json"]
        command += ["--concurrency", wanted.concurrency, "--connections", 4, "--sessions", wanted.sessions, "--games", wanted.games]
        command += ["--rate", wanted.rate]
        before = self._meter.read()
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment())
        assert done.returncode == 0, done.stderr + done.stdout
        used = [now - then for now, then in zip(self._meter.read(), before)]
        return json.loads(done.stdout), used

    def creations(self):
        """Measures what it costs to make sessions: hardly anything else is done."""
        report, used = self.bench("get=1", "1ms")
        count = self._wanted.sessions
        self._creation = [each / count for each in used]
        self.show("create", f"{count} sessions", self._creation)
        assert report["calls"] < count / 10, "more was read than made"

    def calls(self, name):
        """Measures calls of a kind, without the creations before and among them."""
        report, used = self.bench(f"{name}=1", self._wanted.time)
        of_name = report["by_call"][name]
        made = self._wanted.sessions + report["by_call"].get("create", {}).get("succeeded", 0)
        count = of_name["succeeded"]
        each = [(all_of_it - made * of_one) / count for all_of_it, of_one in zip(used, self._creation)]
        latency = of_name["latency_us"]
        self.show(name, f"{count} calls, {of_name['per_second']:.0f}/s, p50 {latency['p50'] / 1000:.1f} ms, p99 {latency['p99'] / 1000:.1f} ms", each)

    def show(self, name, what, each):
        server, database, log, pages, commits, syncs = each
        print(f"{name:7} {what}")
        print(f"        server {server * 1e6:.1f} us of processor time each")
        if self._database is not None:
            print(f"        Postgres {database * 1e6:.1f} us, {log:.0f} bytes of log with {pages:.3f} whole pages, {commits:.2f} commits, {syncs:.3f} syncs")

    def memory(self):
        """KiB of the server."""
        return in_kib(self._server._process.pid, "status", "VmRSS")

    async def watches(self):
        """Measures what watches of as many sessions take while nothing happens."""
        count = self._wanted.watches
        ids = [f"watched-{number}" for number in range(count)]
        channels = [grpc.aio.insecure_channel(self._server.address, [("grpc.use_local_subchannel_pool", 1)]) for _ in ids[::STREAMS]]
        callers = [session_service_pb2_grpc.SessionServiceStub(channel) for channel in channels]
        parts = [ids[first : first + STREAMS] for first in range(0, count, STREAMS)]
        for caller, part in zip(callers, parts):
            await asyncio.gather(*(caller.CreateSession(api.CreateSessionRequest(game="ayoayo", session_id=name)) for name in part))
        before, open_calls = self.memory(), []
        for caller, part in zip(callers, parts):
            calls = [caller.WatchSession(watch_pb2.WatchSessionRequest(session_id=name)) for name in part]
            await asyncio.gather(*(call.read() for call in calls))
            open_calls += calls
        grown, used = self.memory() - before, self._meter.read()
        await asyncio.sleep(IDLE)
        server, database, *_ = [(now - then) / IDLE / count * 1e6 for now, then in zip(self._meter.read(), used)]
        print(f"watch   {count} of a session each: {grown / count:.1f} KiB of the server each, and a second of one takes")
        print(f"        {server:.1f} us of the server and {database:.1f} us of Postgres")
        for call in open_calls:
            call.cancel()
        for channel in channels:
            await channel.close()

    async def cold(self):
        """Measures reads of sessions that are not in the server's memory, which has just been started."""
        rows = self._database.sql("SELECT session_id, version FROM sessions WHERE version > 3 ORDER BY random() LIMIT 4000")
        async with grpc.aio.insecure_channel(self._server.address) as channel:
            caller = session_service_pb2_grpc.SessionServiceStub(channel)
            before = self._meter.read()
            for first in range(0, len(rows), CROWD):
                asked = [api.GetSessionRequest(session_id=name) for name, _ in rows[first : first + CROWD]]
                await asyncio.gather(*map(caller.GetSession, asked))
            used = [now - then for now, then in zip(self._meter.read(), before)]
        length = sum(int(version) for _, version in rows) / len(rows)
        self.show("cold", f"get of {len(rows)} sessions that are not in memory, of {length:.1f} events", [each / len(rows) for each in used])

    def resident(self):
        print(f"memory  server {self.memory() // 1024} MiB")
        if self._database is not None:
            backends = [int(pid) for (pid,) in self._database.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'mancala'")]
            private = [in_kib(pid, "smaps_rollup", "Private_Dirty") + in_kib(pid, "smaps_rollup", "Private_Clean") for pid in backends]
            print(f"        Postgres {sum(private) / len(private) / 1024:.1f} MiB of its own for each of {len(private)} connections")


def sizes(database):
    """What is on the disk of each table."""
    database.sql("VACUUM ANALYZE")
    ((events, sessions),) = database.sql("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM sessions)")
    print(f"stored  {events} events of {sessions} sessions")
    rows = database.sql("""SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables
        WHERE n_live_tup > 0 ORDER BY pg_total_relation_size(relid) DESC""")
    for name, count, table, indexes in rows:
        count, table, indexes = int(count), int(table), int(indexes)
        print(f"        {name}: {count} rows, each {table / count:.0f} bytes and {indexes / count:.0f} of indexes")
    for index, size in database.sql("SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes ORDER BY 2 DESC LIMIT 12"):
        print(f"        {index}: {int(size) / 1e6:.1f} MB")
    ((hot, updates),) = database.sql("SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'sessions'")
    print(f"        {100 * int(hot) / max(1, int(updates)):.1f} % of {updates} changes of sessions touched no index")
    made, moved, body = "avg(pg_column_size(events.*)) FILTER (WHERE seq = 1)", "avg(pg_column_size(events.*)) FILTER (WHERE seq > 1)", "avg(length(body)) FILTER (WHERE seq > 1)"
    ((made, moved, body),) = database.sql(f"SELECT {made}, {moved}, {body} FROM events")
    print(f"        the row of a first event has {float(made):.0f} bytes, of a later one {float(moved):.0f}, of which {float(body):.0f} say what happened")


def main():
    wanted = arguments()
    version = subprocess.run([postgres("postgres"), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {version}; {' '.join(sys.argv[1:])}")
    more = dict(setting.split("=", 1) for setting in wanted.settings)
    print(f"== Postgres, {wanted.connections} connections, shared_buffers {wanted.memory}")
    with Database({"shared_buffers": wanted.memory} | more) as database:
        # What is too slow would be repeated, and cost twice: on a machine that is busy with other things nothing is.
        patience = {f"MANCALA_{name}": "30s" for name in ("STORE__READ_TIMEOUT", "STORE__WRITE_TIMEOUT", "SERVER__REQUEST_TIMEOUT")}
        settings = {"MANCALA_STORE__CONNECTIONS": str(wanted.connections)} | patience
        server = Server(database.url, settings)
        try:
            costs = Costs(wanted, server, database)
            costs.creations()
            costs.calls("apply")
            sizes(database)
            for name in ("get", "legal"):
                costs.calls(name)
            costs.resident()
            server.stop()
            server = Server(database.url, settings)
            costs = Costs(wanted, server, database)
            asyncio.run(costs.cold())
            asyncio.run(costs.watches())
        finally:
            server.stop()
    if wanted.no_sqlite:
        return
    print("== SQLite")
    with tempfile.TemporaryDirectory(prefix="mancala-costs-") as folder:
        path = Path(folder) / "games.db"
        server = Server(path)
        try:
            costs = Costs(wanted, server)
            costs.creations()
            for name in ("apply", "get", "legal"):
                costs.calls(name)
            costs.resident()
            asyncio.run(costs.watches())
        finally:
            server.stop()
        print(f"stored  {sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6:.1f} MB")
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
