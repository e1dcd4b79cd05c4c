"""The judge is judged: the auditor accepts a true history and objects to every false one."""

import dataclasses
import types

import pytest
from auditor import Stored, audit, corruptions
from ledger import Entry

SESSION = "s-1"


def reply(version, position):
    return types.SimpleNamespace(version=version, position=position)


def history():
    """A ledger and a log that agree: a creation, four moves of two clients, the last of which ends the game.

    One request is unknown and stored, one unknown and absent, one refused.
    """
    created = types.SimpleNamespace(session=types.SimpleNamespace(version=1, position=types.SimpleNamespace(text="p0")))
    entries = [
        Entry("r0", SESSION, "created", "", None, invoked_at=1, finished_at=2, reply=created),
        Entry("r1", SESSION, "move_played", "1", None, invoked_at=3, finished_at=5, reply=reply(2, "p1")),
        Entry("r2", SESSION, "move_played", "2", None, invoked_at=4, finished_at=6, refused="STALE_VERSION"),
        Entry("r3", SESSION, "move_played", "3", None, invoked_at=7),
        Entry("r4", SESSION, "move_played", "4", None, invoked_at=8, finished_at=9, reply=reply(4, "p3")),
        Entry("r5", SESSION, "move_played", "5", None, invoked_at=10),
        Entry("r6", SESSION, "move_played", "6", None, invoked_at=11, finished_at=12, reply=reply(7, "p4")),
    ]
    log = [
        Stored(1, "created", "r0", position="p0"),
        Stored(2, "move_played", "r1", "1", "p1"),
        Stored(3, "move_played", "r3", "3", "p2"),
        Stored(4, "move_played", "r4", "4", "p3"),
        Stored(5, "move_played", "r6", "6", "p4"),
        Stored(6, "round_ended", "r6"),
        Stored(7, "ended", "r6"),
    ]
    return entries, log


def test_a_true_history_is_accepted():
    entries, log = history()
    assert audit(entries, {SESSION: log}) == []


def test_consequences_need_no_request_id_of_their_own():
    entries, log = history()
    bare = [dataclasses.replace(event, request_id="") if event.version > 5 else event for event in log]
    assert audit(entries, {SESSION: bare}) == []


@pytest.mark.parametrize("name", corruptions(history()[1]))
def test_a_corrupted_log_is_objected_to(name):
    entries, log = history()
    assert audit(entries, {SESSION: corruptions(log)[name]}), name


def test_a_refused_request_that_is_stored_is_objected_to():
    entries, log = history()
    log[2] = Stored(3, "move_played", "r2", "2", "p2")
    (objection,) = audit(entries, {SESSION: log})
    assert "r2 was refused" in objection


def test_a_lost_session_is_objected_to():
    entries, _ = history()
    objections = audit(entries, {})
    assert len(objections) == 4, "one for each acknowledged request"
    assert all("is lost" in objection for objection in objections)


def test_a_later_request_before_an_acknowledged_one_is_objected_to():
    entries, log = history()
    # r5's outcome is unknown, so nothing but the order speaks against its being stored before r4.
    log[2] = Stored(3, "move_played", "r5", "5", "p2")
    (objection,) = audit(entries, {SESSION: log})
    assert "r5 is version 3, but r4" in objection


def test_an_end_of_another_request_is_objected_to():
    entries, log = history()
    log[6] = dataclasses.replace(log[6], request_id="r4")
    assert any("follows from another request" in objection for objection in audit(entries, {SESSION: log}))
