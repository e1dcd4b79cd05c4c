"""What clients know for certain about their requests, written down as it happens: the judge of what a server kept.

A client writes `invoked` before it sends and an outcome after the reply. A request without an outcome is unknown: it may
have been carried out or not. The clients are never killed, so memory would do; the file is for people, after a failure.
"""

import dataclasses
import json
import threading


@dataclasses.dataclass
class Entry:
    """One request: what was asked, when, and what came of it. Times are positions in one common order of all entries."""

    request_id: str
    session_id: str
    # "created" or "move_played", as the event that it should become.
    kind: str
    # The move's text; empty for a creation.
    move: str
    # The request itself, to be sent again.
    request: object
    invoked_at: int
    finished_at: int | None = None
    # The first reply; None while unknown, or if refused.
    reply: object = None
    # The reason of a definite refusal.
    refused: str | None = None

    @property
    def acknowledged(self):
        return self.reply is not None


class Ledger:
    """Shared by all clients; every method is safe to call from any thread."""

    def __init__(self, path):
        # A line at a time, so that it is whole whatever ends the test.
        self._file = open(path, "w", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()
        self._progress = threading.Condition(self._lock)
        self._clock = 0
        self._entries = {}
        self._acknowledged = 0
        self._failure = None

    def _write(self, what, entry, **more):
        self._clock += 1
        line = {"at": self._clock, "what": what, "request_id": entry.request_id, "session_id": entry.session_id, **more}
        self._file.write(json.dumps(line) + "\n")
        return self._clock

    def invoked(self, request_id, session_id, kind, move, request):
        """To be called before the request is sent for the first time."""
        with self._lock:
            entry = Entry(request_id, session_id, kind, move, request, invoked_at=0)
            entry.invoked_at = self._write("invoked", entry, kind=kind, move=move)
            assert request_id not in self._entries
            self._entries[request_id] = entry
            return entry

    def acknowledged(self, entry, version, position, reply):
        """To be called when the reply is there."""
        with self._progress:
            entry.finished_at = self._write("acknowledged", entry, version=version, position=position)
            entry.reply = reply
            self._acknowledged += 1
            self._progress.notify_all()

    def refused(self, entry, reason):
        """To be called on an error that means: not carried out, now or later."""
        with self._lock:
            entry.finished_at = self._write("refused", entry, reason=reason)
            entry.refused = reason

    def entries(self):
        """All entries so far, in order of invocation."""
        with self._lock:
            return [dataclasses.replace(entry) for entry in self._entries.values()]

    def failed(self, failure):
        """To be called by a client that can't go on; whoever waits for progress gets the first such failure."""
        with self._progress:
            self._failure = self._failure or failure
            self._progress.notify_all()

    def raise_failure(self):
        """Raises the first failure of a client, if there was one."""
        with self._lock:
            if self._failure:
                raise self._failure

    def wait_for_acknowledged(self, more, seconds):
        """Waits until so many more requests have been acknowledged."""
        with self._progress:
            count = self._acknowledged + more
            reached = self._progress.wait_for(lambda: self._failure or self._acknowledged >= count, seconds)
            if self._failure:
                raise self._failure
            assert reached, f"{self._acknowledged} acknowledged after {seconds} s, expected {count}"

    def acknowledged_count(self):
        with self._lock:
            return self._acknowledged

    def close(self):
        with self._lock:
            self._file.close()
