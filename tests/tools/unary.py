#!/usr/bin/env python3
"""What unary calls cost, beside a server that knows nothing: processor time, calls per second and latency, as ratios from one run.

It starts `mancala serve` on a store of its own and examples/bare_unary twice, which answers with as many bytes: once as a bare server that
copies bytes, and once as an echo that reads and writes messages. It loads all three with `mancala bench`. docs/performance.md goes by it.

    cargo build --release --bin mancala --example bare_unary && tests/tools/unary.py

Figures change with what else the machine does; ratios hold. Nothing beside this should run.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "target" / "release"
TICK = 1 / os.sysconf("SC_CLK_TCK")
LISTENS = re.compile(r"listening on (127\.0\.0\.1:\d+)")
# By call: how much more processor time it may take than a bare answer, and how many calls a second there must be beside it.
TARGETS = {"apply": (2.0, 0.5), "get": (1.4, 0.7), "legal": (1.4, 0.7)}
# What a commit of one move writes to the log: three pages with their headers.
COMMIT = 3 * 4_120


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=3, help="seconds of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each, of which the median counts")
    parser.add_argument("--concurrency", type=int, default=64, help="calls in flight")
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--calls", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--no-latency", action="store_true", help="only processor time and calls per second")
    parser.add_argument("--server", type=Path, default=RELEASE / "mancala", help="the program that serves, to compare two of them")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    return parser.parse_args()


class Server:
    """A server as a process of its own, and where it listens."""

    def __init__(self, command):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MANCALA_")}
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True, env=kept)
        for line in self.process.stdout:
            if found := LISTENS.search(line):
                self.address = found[1]
                return
        raise RuntimeError(f"{command[0]} ended before it listened")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def seconds(self):
        """Processor time so far, of the program and of the system for it."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK


def bench(server, call, wanted, concurrency, connections, rate=0):
    """One measurement. Sessions are made, and all is warmed up, before what counts begins."""
    command = [RELEASE / "mancala", "bench", "--address", server.address, "--calls", f"{call}=1", "--games", "ayoayo", "--json", "--unchecked"]
    command += ["--concurrency", concurrency, "--connections", connections, "--rate", rate, "--duration", f"{int(wanted.time * 1000)}ms"]
    before = server.seconds()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    used = server.seconds() - before
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    # Games that end are followed by others: that is part of playing them.
    return {
        "us": used / (report["calls"] + concurrency) * 1e6,
        "per_second": report["calls_per_second"],
        "p50_us": report["by_call"][call]["latency_us"]["p50"],
        "p99_us": report["by_call"][call]["latency_us"]["p99"],
        "unstarted": report["unstarted"],
    }


def median(rows):
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def fsync_us(folder):
    """The median time of writing as much as a commit does over what is there, and of an fsync after it."""
    times = []
    with open(Path(folder) / "fsync", "wb", buffering=0) as file:
        file.write(bytes(COMMIT * 300))
        os.fsync(file.fileno())
        for place in range(300):
            begun = time.perf_counter()
            os.pwrite(file.fileno(), bytes([place % 256]) * COMMIT, place * COMMIT)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


def busy(ours, bare, echo, call, wanted):
    """Processor time and calls per second with many calls in flight. The three take turns, so that what disturbs one disturbs all."""
    most_us, least_rate = TARGETS[call]
    for connections in wanted.connections:
        servers = (ours, bare, echo)
        rounds = [[bench(each, call, wanted, wanted.concurrency, connections) for each in servers] for _ in range(wanted.rounds)]
        ours_, bare_, echo_ = (median(rows) for rows in zip(*rounds))
        cost, cost_echo = ours_["us"] / bare_["us"], ours_["us"] / echo_["us"]
        rate, rate_echo = (ours_["per_second"] / other["per_second"] for other in (bare_, echo_))
        print(f"{call:6} {connections:2} connections: {ours_['us']:5.1f} us each, bare {bare_['us']:5.1f}: {cost:4.2f} times (at most {most_us}),", end=" ")
        print(f"echo {echo_['us']:5.1f}: {cost_echo:4.2f} times;", end=" ")
        print(f"{ours_['per_second']:6.0f}/s, bare {bare_['per_second']:6.0f}/s: {rate:4.2f} times (at least {least_rate}),", end=" ")
        print(f"echo {echo_['per_second']:6.0f}/s: {rate_echo:4.2f} times", flush=True)
        ratios = {"cost_ratio": cost, "cost_ratio_echo": cost_echo, "rate_ratio": rate, "rate_ratio_echo": rate_echo}
        yield {"call": call, "connections": connections, "mancala": ours_, "bare": bare_, "echo": echo_, **ratios}


def latency(ours, bare, call, most, wanted):
    """Latency of one call at a time, and at half of the calls per second that there can be."""
    alone, alone_bare = (median([bench(each, call, wanted, 1, 1) for _ in range(wanted.rounds)]) for each in (ours, bare))
    half = median([bench(ours, call, wanted, wanted.concurrency, wanted.connections[0], int(most / 2)) for _ in range(wanted.rounds)])
    return {"call": call, "alone": alone, "bare": alone_bare, "half": half}


def main():
    wanted = arguments()
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    machine = f"{os.cpu_count()} x {model[1] if model else platform.machine()}, Linux {platform.release()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}; {' '.join(sys.argv[1:])}")
    found = {"machine": machine, "command": sys.argv, "busy": [], "latency": []}
    with tempfile.TemporaryDirectory(prefix="mancala-unary-", dir=ROOT / "target") as folder:
        with Server([wanted.server, "serve", "--listen", "127.0.0.1:0", "--store", Path(folder) / "games.db"]) as ours:
            program = RELEASE / "examples" / "bare_unary"
            with Server([program, ours.address]) as bare, Server([program, ours.address, "typed"]) as echo:
                for call in wanted.calls:
                    found["busy"] += busy(ours, bare, echo, call, wanted)
                if not wanted.no_latency:
                    found["fsync_us"] = disk = fsync_us(folder)
                    print(f"one write and fsync of this disk: {disk:.0f} us")
                    for call in wanted.calls:
                        most = next(row["mancala"]["per_second"] for row in found["busy"] if row["call"] == call)
                        row = latency(ours, bare, call, most, wanted)
                        found["latency"].append(row)
                        least = row["bare"]["p50_us"] + (disk if call == "apply" else 0)
                        alone, half = row["alone"]["p50_us"], row["half"]
                        print(f"{call:6} alone: p50 {alone:.0f} us, bare{' and one fsync' if call == 'apply' else ''} {least:.0f}: {alone / least:4.2f} times (at most 1.5);", end=" ")
                        print(f"at {most / 2:.0f}/s: p50 {half['p50_us']:.0f} us, p99 {half['p99_us']:.0f}: {half['p99_us'] / half['p50_us']:4.2f} times (at most 3)", flush=True)
    if wanted.json:
        wanted.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
