"""The server under test: the built binary as a process of its own, on a free port, with its data in a given file."""

import collections
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("MANCALA_BIN", ROOT / "target" / "release" / "mancala"))
START_LINE = re.compile(r"mancala \S+ listening on (?P<address>127\.0\.0\.1:\d+), data in .+; try: grpcurl ")
START_SECONDS = 20
STOP_SECONDS = 15


def environment():
    """This process's environment without what would configure the server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MANCALA_")}


def new_operator(name):
    """An operator's key, and the settings of a server that knows it."""
    told = subprocess.run([str(BINARY), "key", name], capture_output=True, text=True, check=True, env=environment()).stdout
    key = re.search(rf"^mop_{name}_\S+$", told, re.MULTILINE)[0]
    operators = re.search(r"^MANCALA_AUTH__OPERATORS='(.*)'$", told, re.MULTILINE)[1]
    return key, {"MANCALA_AUTH__MODE": "token", "MANCALA_AUTH__OPERATORS": operators}


class Server:
    """One run of the binary. Its output is drained all the time, so that a full pipe can't stop it.

    `program` is the binary and what it is to be run by; whatever that is, it must become the server's process.
    """

    def __init__(self, store, settings=(), program=(str(BINARY),)):
        self._store = store
        self._started = threading.Event()
        self._output = collections.deque(maxlen=200)
        self.address = None
        command = [*program, "serve", "--listen", "127.0.0.1:0", "--store", str(store)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment() | dict(settings),
        )
        self._drain = threading.Thread(target=self._read_output, daemon=True)
        self._drain.start()
        if not self._started.wait(START_SECONDS) or self.address is None:
            self.kill()
            raise RuntimeError(f"no start line from {' '.join(command)}; it said:\n{self.output()}")

    def _read_output(self):
        with self._process.stdout as lines:
            for line in lines:
                self._output.append(line)
                found = START_LINE.search(line)
                if found and self.address is None:
                    self.address = found["address"]
                    self._started.set()
        # The end of the output means the process is gone: whoever waits for the start line should hear of it.
        self._started.set()

    def output(self):
        """The last lines that the server wrote."""
        return "".join(self._output)

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        # What has failed is not to be hidden by how the server ends.
        if failure:
            self.kill()
        else:
            self.stop()

    def kill(self):
        """SIGKILL: no chance to finish anything."""
        self._process.kill()
        self._process.wait()
        self._drain.join()

    def stop(self):
        """SIGTERM, as an operator would; fails unless the server ends by itself with exit code 0."""
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running {STOP_SECONDS} s after SIGTERM; it said:\n{self.output()}") from None
        self._drain.join()
        assert status == 0, f"exit code {status} after SIGTERM; it said:\n{self.output()}"
