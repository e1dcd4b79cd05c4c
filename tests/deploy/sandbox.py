"""A container without an engine: the image's root as the Dockerfile describes it, made by bubblewrap.

The root has the binary, the configuration and the C library and nothing else, and can't be written, except the data folder; the
process is number 1, of the image's user, without capabilities, and can get none. Only the network is the machine's own.
"""

import json
import os
import re
import signal
import subprocess

import dockerfile
from programs import DEPLOY, UNPRIVILEGED, copied_binary, program, unprivileged, wait_for
from server import START_LINE

HOST_LIBRARIES = re.compile(r"(?:=> )?(/\S+) \(0x")


class Container:
    """One container in a folder that the image's user owns. `with` it, run the command of the image or another in it."""

    def __init__(self, folder, variables, mounts=()):
        self._log = folder / "log"
        self.data = folder / "data"
        self.data.mkdir()
        if os.geteuid() == 0:
            os.chown(self.data, UNPRIVILEGED, UNPRIVILEGED)
        configuration = folder / "mancala.toml"
        configuration.write_bytes((DEPLOY / "production.toml").read_bytes())
        binary = copied_binary(folder)

        read_only = {binary: "/usr/local/bin/mancala", str(configuration): "/etc/mancala/mancala.toml", **dict(mounts)}
        linked = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        read_only |= {library: library for library in HOST_LIBRARIES.findall(linked)}
        self._wrapper = [
            *unprivileged(), program("bwrap"),
            "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1",
            "--uid", str(UNPRIVILEGED), "--gid", str(UNPRIVILEGED), "--cap-drop", "ALL", "--die-with-parent", "--clearenv",
            "--proc", "/proc", "--dev", "/dev",
            *(word for source, target in read_only.items() for word in ("--ro-bind", source, target)),
            "--bind", str(self.data), "/var/lib/mancala",
            "--remount-ro", "/", "--remount-ro", "/dev", "--chdir", "/",
            *(word for pair in (dockerfile.environment() | variables).items() for word in ("--setenv", *pair)),
        ]  # fmt: skip
        self._bwrap = None

    def run(self, command):
        """Runs a command to its end; its exit code and what it said."""
        done = subprocess.run([*self._wrapper, *command], capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout + done.stderr

    def __enter__(self):
        reader, writer = os.pipe()
        with self._log.open("wb") as log:
            command = [*self._wrapper, "--info-fd", str(writer), *dockerfile.command()]
            self._bwrap = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, pass_fds=[writer])
        os.close(writer)
        try:
            with os.fdopen(reader) as info:
                self.pid = json.loads(info.read() or "{}").get("child-pid")
            self.address = wait_for(self._started, "start line")
        except BaseException:
            # `with` calls it only for what has been entered.
            self.__exit__()
            raise
        return self

    def _started(self):
        found = START_LINE.search(self.said())
        assert found or self._bwrap.poll() is None, f"it ended:\n{self.said()}"
        return found and found["address"]

    def said(self):
        return self._log.read_text(errors="replace")

    def stop(self):
        """SIGTERM to the server, as an engine would; its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self._bwrap.wait(20)

    def __exit__(self, *_):
        # --die-with-parent takes the server with it.
        self._bwrap.kill()
        self._bwrap.wait()

    def status(self):
        """What the kernel knows of the server's process."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as lines:
            return dict(line.rstrip("\n").split(":\t", 1) for line in lines)

    def writable_mounts(self):
        """What the server could write on, were permissions not in its way."""
        with open(f"/proc/{self.pid}/mountinfo", encoding="utf-8") as lines:
            mounts = [line.split() for line in lines]
        return {mount[4] for mount in mounts if "ro" not in mount[5].split(",")}
