"""The systemd unit: well-formed, nearly closed, and not too closed for what the server does."""

import re

from client import Client
from mancala.v1 import session_service_pb2 as session_service
from programs import DEPLOY, copied_binary, drain, program, run, seconds, settings, unprivileged, wait_for
from server import BINARY, Server

UNIT = DEPLOY / "systemd" / "mancala.service"


def service():
    """The [Service] section; a setting that is given more than once is all its values."""
    found = {}
    section = UNIT.read_text(encoding="utf-8").split("\n[Service]\n")[1].split("\n[Install]\n")[0]
    for name, value in re.findall(r"^(\w+)=(.*)$", section, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def installed(tmp_path):
    """The unit with the path that the binary has here."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/local/bin/mancala", str(BINARY.resolve())))
    return unit


def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path):
    unit = installed(tmp_path)
    assert run("systemd-analyze", "verify", "--man=no", unit) == ""
    # In tenths: exposure at most 1.5 of 10. What is left is having a network.
    run("systemd-analyze", "security", "--offline=true", "--threshold=15", unit)


def test_the_unit_waits_for_the_drain_and_keeps_the_data_where_the_configuration_says():
    configuration = settings(DEPLOY / "production.toml")
    unit = service()
    assert seconds(unit["TimeoutStopSec"][0]) >= drain(configuration) + 5
    assert f"/var/lib/{unit['StateDirectory'][0]}/" in configuration["store"]["path"]
    assert "MANCALA_CONFIG=/etc/mancala/mancala.toml" in unit["Environment"]


def allowed_calls():
    """System calls that the unit's filter lets through."""
    sets = {}
    for name, body in re.findall(r"^(@[\w-]+)\n((?:[ \t]+.*\n?)*)", run("systemd-analyze", "syscall-filter"), re.MULTILINE):
        sets[name] = re.findall(r"^\s+(@?[\w-]+)$", body, re.MULTILINE)

    def expand(name):
        return {call for member in sets[name] for call in expand(member)} if name.startswith("@") else {name}

    allowed = expand("@default") | {"execve"}
    for line in service()["SystemCallFilter"]:
        calls = {call for name in line.removeprefix("~").split() for call in expand(name)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def test_the_server_makes_no_system_call_that_the_unit_forbids(open_folder):
    log = open_folder / "calls"
    # With -D the tracer is the one that is forked off, so that signals reach the server.
    tracer = [program("strace"), "-D", "-f", "-qq", "-e", "signal=none", "-o", str(log)]
    # Not as root, as whom SQLite makes calls of its own.
    command = [*unprivileged(), *tracer, copied_binary(open_folder)]
    with Server(open_folder / "games.db", program=command) as server, Client(server.address) as client:
        made = client.sessions.CreateSession(session_service.CreateSessionRequest(game="ayoayo"))
        move = {"session_id": made.session.session_id, "move": {"text": "3"}}
        client.sessions.ApplyMove(session_service.ApplyMoveRequest(**move))
    wait_for(lambda: re.search(r"exit_group\(0\)", log.read_text(errors="replace")), "end in the log of calls")

    traced = log.read_text(errors="replace")
    made = set(re.findall(r"^\d+ +(\w+)\(", traced, re.MULTILINE))
    assert {"fdatasync", "accept4"} <= made or {"fsync", "accept4"} <= made, "it was watched as it served and stored"
    assert made - allowed_calls() == set()
    # Of pairs of sockets, by which tokio hears of signals, systemd forbids none.
    families = set(re.findall(r"socket\((AF_\w+)", traced))
    assert families <= set(service()["RestrictAddressFamilies"][0].split())
    assert service()["MemoryDenyWriteExecute"] == ["yes"]
    assert re.findall(r"m(?:map|protect)\(.*PROT_WRITE\|PROT_EXEC.*", traced) == []
    assert re.findall(r"mprotect\(.*PROT_EXEC.*", traced) == []
