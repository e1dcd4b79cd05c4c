"""The executor of documents, on tiny ones: what is right passes, what is wrong fails."""

import time

import pytest
from walk import WalkFault, json_difference, parse, run, text_difference

DOCUMENT = """
# A walk

```sh
exit 7  # outside a walk: never run
```

<!-- walk -->
First a variable, then its use, against 127.0.0.1:50051:

```sh
name=gore
cat    # finds no input, and takes none of the script either
```

```sh
echo '{"game": "'$name'", "at": "127.0.0.1:50051", "time": "'$(date +%s)'", "moves": [1, 2]}'
```

It says:

```json
{"at": "127.0.0.1:50051", "game": "gore", "moves": [1, 2], "time": "..."}
```

```sh
printf 'ERROR:\\n  Code: FailedPrecondition\\n  Message: PIT_EMPTY: pit 3\\n' >&2; false
```
```text
ERROR:
  Code: FailedPrecondition
  Message: PIT_EMPTY: ...
```
<!-- /walk -->
"""


def walk(document, folder):
    return run(document, "127.0.0.1:9", folder)


def test_a_true_document_passes(tmp_path):
    assert walk(DOCUMENT, tmp_path) == 3


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ('"moves": [1, 2], "time"', '"moves": [1, 3], "time"', "expected 3, got 2"),
        ('"moves": [1, 2], "time"', '"moves": [1], "time"', "expected 1 elements"),
        ('"game": "gore", "moves"', '"moves"', "not expected: ['game']"),
        ('"time": "..."}', '"time": "...", "more": "..."}', "missing ['more']"),
        ("PIT_EMPTY: ...", "PIT_CLOSED: ...", "PIT_CLOSED"),
        ("  Code: FailedPrecondition\n  Message: PIT_EMPTY: ...", "  Code: FailedPrecondition", "expected"),
        (">&2; false", ">&2", "should fail"),
        ("cat    #", "cat missing-file    #", "should succeed"),
        ("name=gore", "name=ayoayo", 'got "ayoayo"'),
        ("name=gore", "exit 3", "the shell ended"),
        ("```sh\nname=gore", "```toml\nname=gore", "a block of kind 'toml'"),
        ("```sh\nname=gore", "```json\nname=gore", "output without commands"),
        ("<!-- /walk -->", "", "not closed"),
        ("```\n<!-- /walk -->", "<!-- /walk -->", "not closed"),
        ('{"at"', '"at"', "not JSON"),
    ],
)
def test_a_false_document_fails(tmp_path, right, wrong, fault):
    assert right in DOCUMENT
    document = DOCUMENT.replace(right, wrong, 1)
    with pytest.raises(WalkFault) as failed:
        walk(document, tmp_path)
    assert fault in str(failed.value)


def test_a_block_that_does_not_end_is_ended_with_what_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr("walk.BLOCK_SECONDS", 0.2)
    begun = time.monotonic()
    with pytest.raises(WalkFault, match="was ended after 0.2 s, after printing:\nbegun"):
        walk("<!-- walk -->\n```sh\necho begun; sleep 60\n```\n<!-- /walk -->", tmp_path)
    assert time.monotonic() - begun < 30


def test_a_document_without_a_walk_has_no_steps():
    assert parse("```sh\nfalse\n```\n") == []


def test_dots_stand_for_any_json_value_but_for_no_missing_one():
    assert json_difference({"a": "...", "b": ["...", 2]}, {"a": {"deep": 1}, "b": [None, 2]}) is None
    assert json_difference({"a": "..."}, {}) == "$: missing ['a']"
    assert json_difference([1], [True]) is not None, "true is not 1"


def test_dots_stand_for_text_within_a_line_and_a_line_of_them_for_lines():
    assert text_difference("a ... c\n...\nz", "a b c\nd\ne\nz") is None
    assert text_difference("a\n...\nz", "a\nz") is None
    assert text_difference("a ... c", "a b\nc") is not None
    assert text_difference("a", "a\nb") is not None
    assert text_difference("a.c", "abc") is not None
