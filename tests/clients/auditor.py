"""Holds what a server has stored against a ledger of what its clients know. Pure: lists in, objections out."""

import collections
import dataclasses

# Events that a command causes besides its own; they follow it at once.
CONSEQUENCES = ("round_ended", "round_started", "ended")


@dataclasses.dataclass(frozen=True)
class Stored:
    """One stored event, as far as the audit looks at it."""

    version: int
    # The name of the event's body, such as "move_played".
    kind: str
    request_id: str
    # The move's text, if it is one.
    move: str = ""
    # The position after it: of a creation, a move or a new round.
    position: str = ""


def stored(event):
    """A `mancala.v1.Event` as `Stored`."""
    kind = event.WhichOneof("body")
    if kind == "created":
        return Stored(event.version, kind, event.request_id, position=event.created.session.position.text)
    if kind == "move_played":
        played = event.move_played
        return Stored(event.version, kind, event.request_id, played.move.text, played.position)
    return Stored(event.version, kind, event.request_id)


def version_and_position(reply):
    """Of the reply to a creation or a move: the version and the position that it acknowledges."""
    if hasattr(reply, "session"):
        return reply.session.version, reply.session.position.text
    return reply.version, reply.position


def audit(entries, logs):
    """All objections to `logs` (session id to its list of `Stored`), given all ledger `entries` of those sessions.

    Nothing lost: every acknowledged request is stored with the version and the position of its reply.
    Nothing twice: versions are dense, a request id occurs once.
    Nothing invented: every stored command was asked for; what was refused is absent.
    In order: what was acknowledged before another request was sent has a lower version.
    """
    by_session = collections.defaultdict(list)
    for entry in entries:
        by_session[entry.session_id].append(entry)
    objections = []
    for session_id in sorted(set(by_session) | set(logs)):
        for objection in _audit_session(by_session[session_id], logs.get(session_id, [])):
            objections.append(f"session {session_id}: {objection}")
    return objections


def _audit_session(entries, log):
    yield from _dense(log)
    commands, objections = _commands(log)
    yield from objections
    asked = {entry.request_id: entry for entry in entries}
    for request_id, (event, _) in commands.items():
        if request_id not in asked:
            yield f"version {event.version} was asked for by nobody: {event}"
        elif (event.kind, event.move) != (asked[request_id].kind, asked[request_id].move):
            yield f"version {event.version} is not what was asked for: {event}"
    for entry in entries:
        yield from _outcome(entry, commands.get(entry.request_id))
    yield from _order(entries, commands)


def _dense(log):
    versions = [event.version for event in log]
    if versions != list(range(1, len(log) + 1)):
        yield f"versions are not 1 to {len(log)}: {versions}"


def _commands(log):
    """Request id to (its event, the version after all its consequences), and objections to ids."""
    commands, objections, current = {}, [], None
    for event in log:
        if event.kind in CONSEQUENCES:
            if current is None:
                objections.append(f"version {event.version} follows from nothing: {event}")
            elif event.request_id not in ("", current):
                objections.append(f"version {event.version} follows from another request than {current}: {event}")
            else:
                commands[current] = (commands[current][0], event.version)
            continue
        if not event.request_id:
            objections.append(f"version {event.version} has no request id: {event}")
            current = None
        elif event.request_id in commands:
            objections.append(f"request {event.request_id} is stored twice, again as version {event.version}")
        else:
            current = event.request_id
            commands[current] = (event, event.version)
    return commands, objections


def _outcome(entry, command):
    if entry.acknowledged and command is None:
        yield f"request {entry.request_id} was acknowledged and is lost"
    if entry.refused and command is not None:
        yield f"request {entry.request_id} was refused ({entry.refused}) and is stored"
    if entry.acknowledged and command is not None:
        event, last_version = command
        version, position = version_and_position(entry.reply)
        if (last_version, event.position) != (version, position):
            acknowledged, kept = f"{version}, {position}", f"{last_version}, {event.position}"
            yield f"request {entry.request_id} was acknowledged as {acknowledged}; stored is {kept}"


def _order(entries, commands):
    """Sweeps through time: when a request is sent, all versions acknowledged so far must be below its own."""
    moments = []
    for entry in entries:
        if entry.request_id in commands:
            version = commands[entry.request_id][0].version
            moments.append((entry.invoked_at, "invoked", entry.request_id, version))
            if entry.acknowledged:
                moments.append((entry.finished_at, "acknowledged", entry.request_id, version))
    highest, holder = 0, None
    for _, what, request_id, version in sorted(moments):
        if what == "acknowledged" and version > highest:
            highest, holder = version, request_id
        if what == "invoked" and version <= highest:
            yield f"request {request_id} is version {version}, but {holder}, acknowledged before it was sent, is {highest}"


def corruptions(log):
    """Damaged copies of one session's log of five or more events, each with a name: what an auditor must object to."""
    assert len(log) >= 5
    middle = len(log) // 2
    event, following = log[middle], log[middle + 1]
    moves = [index for index, candidate in enumerate(log) if candidate.kind == "move_played"]
    last_move = moves[-1]

    def renumbered(events):
        return [dataclasses.replace(event, version=version) for version, event in enumerate(events, start=1)]

    def changed(index, **fields):
        return log[:index] + [dataclasses.replace(log[index], **fields)] + log[index + 1 :]

    without = log[:middle] + log[middle + 1 :]
    swapped = log[:middle] + [following, event] + log[middle + 2 :]
    doubled = log[: middle + 1] + [event] + log[middle + 1 :]
    invented = dataclasses.replace(event, request_id="asked-for-by-nobody")
    return {
        "an event dropped": without,
        "an event dropped, the rest renumbered": renumbered(without),
        "the last move dropped with all after it": log[:last_move],
        "everything dropped": [],
        "an event doubled": doubled,
        "an event doubled, the rest renumbered": renumbered(doubled),
        "two events swapped": swapped,
        "two events swapped and renumbered": renumbered(swapped),
        "a position changed": changed(last_move, position=log[last_move].position + " "),
        "a move changed": changed(last_move, move="99"),
        "an event nobody asked for": log + [dataclasses.replace(invented, version=len(log) + 1)],
        "a request id taken away": changed(last_move, request_id=""),
    }
