"""Programs that the deployment tests run, and the files of deploy/ that they run them on."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import tomllib
from pathlib import Path

import yaml

from server import BINARY

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
# Debian packages that are unpacked there and not installed, as installed they would be services, and start.
UNPACKED = ROOT / "target" / "tools" / "debian" / "usr"
# The user of the container image, as distroless images number it.
UNPRIVILEGED = 65532


def program(name):
    """The path of a program; a missing one is a failure that says how to get it."""
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], str(UNPACKED / "bin"), str(UNPACKED / "sbin")]))
    assert found, f"{name} is missing: tests/run tools brings it"
    return found


def run(name, *arguments, **options):
    """Runs a program that must succeed; what it printed."""
    done = subprocess.run(
        [program(name), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        **options,
    )
    assert done.returncode == 0, f"{name} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}"
    return done.stdout


def documents(text):
    """The documents of a YAML text."""
    return [document for document in yaml.safe_load_all(text) if document is not None]


def settings(path):
    """A configuration file of the server."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def seconds(duration):
    """A time as the server's configuration and others' have it, such as "5s" or "1m30s", in seconds."""
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", duration)
    assert "".join(number + unit for number, unit in parts) == duration, f"not a time: {duration}"
    return sum(float(number) * units[unit] for number, unit in parts)


def drain(configuration):
    """How long a stop takes at most, in seconds, by a configuration."""
    server = configuration["server"]
    return seconds(server["drain_delay"]) + seconds(server["drain_timeout"])


def certificate(folder):
    """Makes a certificate for localhost that vouches for itself, tls.crt and tls.key, in a folder."""
    run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        # rustls takes no authority for a server.
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-keyout", folder / "tls.key", "-out", folder / "tls.crt",
    )  # fmt: skip
    return folder


def wait_for(condition, what, seconds=15):
    """Asks until there is an answer that is true, and gives it back."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"no {what} within {seconds} s"
        time.sleep(0.02)


def unprivileged():
    """What to put before a command so that it runs without root's rights: nothing if this process has none."""
    if os.geteuid() != 0:
        return []
    who = [f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
    return [program("setpriv"), *who, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


def free_port():
    """A port that nobody has right now, for programs that can't tell which one they were given."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def copied_binary(folder):
    """A copy of the server's binary in a folder, for users who may not go where the original is."""
    copy = folder / "mancala"
    shutil.copy(BINARY, copy)
    copy.chmod(0o755)
    return str(copy)


def load_json(path):
    return json.loads(path.read_text(encoding="utf-8"))
