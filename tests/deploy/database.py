"""A Postgres server with the configuration of deploy/postgres, and what that says of connections."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from programs import DEPLOY, free_port, program, settings, wait_for

CONFIGURATION = DEPLOY / "postgres" / "postgresql.conf"
# What a server takes its database from.
URL_VARIABLE = "MANCALA_STORE__URL"
# The superuser of the cluster, who needs no password.
USER = "mancala"


def configured():
    """The settings of the configuration as text, by their names."""
    lines = CONFIGURATION.read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"(\w+) = '?([^']*?)'?", line) for line in lines if line and not line.startswith("#")]
    assert all(found), "every line is a comment or a setting"
    names = [match[1] for match in found]
    assert len(set(names)) == len(names), "no setting is there twice"
    return {match[1]: match[2] for match in found}


def max_connections():
    return int(configured()["max_connections"])


def connections():
    """For reads and writes, of one server, by default."""
    return settings(DEPLOY / "mancala.toml")["store"]["connections"]


class Rule(NamedTuple):
    """How the configuration counts connections: servers x (times x connections + beside) + reserve = all."""

    servers: int
    # How often a server may have its connections for a while.
    times: int
    connections: int
    # Those of a server that are not for reads and writes: hints (2), the keeper, the count of sessions.
    beside: int
    # For people, backups and monitoring.
    reserve: int
    all: int


def rule():
    text = CONFIGURATION.read_text(encoding="utf-8")
    (found,) = re.findall(r"(\d+) x \((\d+) x (\d+) \+ (\d+)\) \+ (\d+) = (\d+)", text)
    return Rule(*map(int, found))


def connections_for(servers):
    """Connections that the database must allow for so many servers."""
    return servers * (rule().times * connections() + rule().beside) + rule().reserve


def postgres(name):
    """The path of one of Postgres' programs, the newest that Debian has."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    return str(versions[-1] / name) if versions else program(name)


def ordinary_user():
    """What to put before a command so that it runs as a user that may run Postgres, and that user's ids; nothing unless this is root."""
    if os.geteuid() != 0:
        return [], None
    users = {user.pw_name: user for user in pwd.getpwall()}
    user = users.get("postgres") or users["nobody"]
    who = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return [program("setpriv"), *who], (user.pw_uid, user.pw_gid)


class Database:
    """A cluster of its own, reached on a port of this machine, with the configuration and `more` settings after it."""

    def __init__(self, more=()):
        self._folder = Path(tempfile.mkdtemp(prefix="mancala-postgres-"))
        self._before, owner = ordinary_user()
        configuration = self._folder / "postgresql.conf"
        shutil.copy(CONFIGURATION, configuration)
        self._folder.chmod(0o755)
        if owner:
            os.chown(self._folder, *owner)
            os.chown(configuration, *owner)
        self._data = self._folder / "data"
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--data-checksums", "--no-sync")
        self.port = free_port()
        # Where it is and how much memory it has, and nothing of what is looked at here.
        here = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self._folder, "shared_buffers": "16MB"}
        options = [f"{name}={value}" for name, value in (here | dict(more)).items()]
        command = [*self._before, postgres("postgres"), "-D", str(self._data), "-c", f"config_file={configuration}"]
        command += [part for option in options for part in ("-c", option)]
        self._log = self._folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder)
        try:
            wait_for(self._answers, "Postgres that answers")
            self.sql("CREATE DATABASE mancala TEMPLATE template0", "postgres")
        except BaseException:
            self.close()
            raise
        self.url = f"postgres://{USER}@127.0.0.1:{self.port}/mancala"

    def _command(self, name, *arguments):
        return [*self._before, postgres(name), *map(str, arguments)]

    def _run(self, name, *arguments):
        done = subprocess.run(self._command(name, *arguments), capture_output=True, text=True, cwd=self._folder, timeout=60)
        assert done.returncode == 0, f"{name}: {done.stderr}\n{self.log()}"
        return done.stdout

    def _answers(self):
        assert self._process.poll() is None, f"Postgres ended:\n{self.log()}"
        asked = self._command("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port)
        return subprocess.run(asked, cwd=self._folder, timeout=10).returncode == 0

    def log(self):
        return self._log.read_text() if hasattr(self, "_log") else ""

    def sql(self, statement, database="mancala"):
        """The rows of a statement, as lists of texts."""
        where = ["-h", "127.0.0.1", "-p", self.port, "-U", USER, "-d", database]
        rows = self._run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *where, "-c", statement)
        return [row.split("|") for row in rows.splitlines()]

    def close(self):
        # Postgres' way to stop without waiting for those who are connected.
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)
        shutil.rmtree(self._folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
