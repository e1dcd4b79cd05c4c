"""Runs the commands of a Markdown document and compares what they print with what the document says.

The parts that are run stand between the lines `<!-- walk -->` and `<!-- /walk -->`. In them

- a ```sh block is given to one bash that lives through the whole document, so variables carry over as in a reader's shell;
- a ```json or ```text block is what the block of commands before it prints, standard error included. JSON is compared as
  data: one document or several, `"..."` stands for any value, fields that are missing or extra are faults. Text is
  compared line by line, blanks at a line's end aside: `...` in a line stands for any characters, a line of nothing else
  for any number of lines;
- commands without an expectation need only succeed; the last command of a block decides, as in a shell. Commands must
  fail exactly where the expected text begins with `ERROR:`, which is how grpcurl begins an error.

Any other kind of block is a fault, so that nothing is passed over in silence.
"""

import contextlib
import dataclasses
import json
import os
import re
import secrets
import signal
import subprocess
import threading

DOCUMENTED_ADDRESSES = ("127.0.0.1:50051", "localhost:50051")
BLOCK_SECONDS = 30
_FENCE = re.compile(r"```(\w*)\s*")


class WalkFault(Exception):
    """The document doesn't say what happens, or can't be read; says where."""


@dataclasses.dataclass
class Step:
    """A block of commands and what it should print."""

    line: int
    commands: str
    # "json" or "text"; None if any output will do.
    kind: str | None = None
    expected: str = ""

    @property
    def must_fail(self):
        return self.kind == "text" and self.expected.startswith("ERROR:")


def parse(markdown):
    """The steps of a document, in order."""
    steps, inside, lines = [], False, iter(enumerate(markdown.splitlines(), start=1))
    for number, line in lines:
        marker = line.strip()
        if marker in ("<!-- walk -->", "<!-- /walk -->"):
            opens = marker == "<!-- walk -->"
            if opens == inside:
                raise WalkFault(f"line {number}: {marker} without its counterpart")
            inside = opens
        elif fence := _FENCE.fullmatch(line):
            content = _block(lines, number)
            if inside:
                _add(steps, number, fence[1], content)
    if inside:
        raise WalkFault("the last <!-- walk --> is not closed")
    return steps


def _block(lines, opened):
    content = []
    for _, line in lines:
        if line.rstrip() == "```":
            return "\n".join(content)
        content.append(line)
    raise WalkFault(f"line {opened}: the block is not closed")


def _add(steps, number, kind, content):
    if kind == "sh":
        steps.append(Step(number, content))
    elif kind in ("json", "text"):
        if not steps or steps[-1].kind is not None:
            raise WalkFault(f"line {number}: output without commands before it")
        steps[-1].kind, steps[-1].expected = kind, content
    else:
        raise WalkFault(f"line {number}: a block of kind {kind!r} in a walk")


class Shell:
    """One bash, fed block by block. Its script comes by a pipe of its own: commands that read standard input find nothing."""

    def __init__(self, folder, environment):
        script_end, self._script = os.pipe()
        self._bash = subprocess.Popen(
            ["bash", f"/dev/fd/{script_end}"],
            pass_fds=(script_end,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment,
            # A group of its own, so that what a document starts and does not get to end can be ended with it.
            start_new_session=True,
        )
        os.close(script_end)

    def run(self, commands):
        """Exit code of the block's last command, and all that the block printed."""
        mark = secrets.token_hex(16)
        timer = threading.Timer(BLOCK_SECONDS, self._kill)
        timer.start()
        os.write(self._script, f"{commands}\nprintf '\\n%s %d\\n' {mark} $?\n".encode())
        output = []
        try:
            for line in self._bash.stdout:
                if line.startswith(mark):
                    # The line break before the mark is ours.
                    return int(line.split()[1]), "".join(output).removesuffix("\n")
                output.append(line)
        finally:
            timer.cancel()
        raise WalkFault(f"the shell ended, or was ended after {BLOCK_SECONDS} s, after printing:\n{''.join(output)}")

    def _kill(self):
        """Ends bash and what it has started, which would keep the output open."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)

    def close(self):
        os.close(self._script)
        self._kill()
        self._bash.wait()
        self._bash.stdout.close()


def json_difference(expected, actual, path="$"):
    """Where two JSON values differ first, or None. An expected "..." is equal to anything."""
    if expected == "...":
        return None
    if type(expected) is not type(actual):
        return f"{path}: expected {json.dumps(expected)}, got {json.dumps(actual)}"
    if isinstance(expected, dict):
        if missing := expected.keys() - actual.keys():
            return f"{path}: missing {sorted(missing)}"
        if extra := actual.keys() - expected.keys():
            return f"{path}: not expected: {sorted(extra)}"
        pairs = [(expected[key], actual[key], f"{path}.{key}") for key in expected]
    elif isinstance(expected, list):
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} elements, got {len(actual)}: {json.dumps(actual)}"
        pairs = [(one, other, f"{path}[{index}]") for index, (one, other) in enumerate(zip(expected, actual))]
    else:
        return None if expected == actual else f"{path}: expected {json.dumps(expected)}, got {json.dumps(actual)}"
    return next((difference for pair in pairs if (difference := json_difference(*pair))), None)


def _documents(text):
    """All JSON documents in a text, one after the other."""
    decoder, documents, text = json.JSONDecoder(), [], text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        documents.append(document)
        text = text[end:].lstrip()
    return documents


def text_difference(expected, actual):
    """How a text differs from what was expected, or None."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    lines = [line.rstrip() for line in actual.strip("\n").splitlines()]
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)):
        return None
    return f"expected:\n{expected}\ngot:\n{actual}"


def _check(step, status, output):
    """Raises unless a step did what its document says."""
    where = f"line {step.line}: {step.commands}\n"
    if (status != 0) != step.must_fail:
        expectation = "should fail" if step.must_fail else "should succeed"
        raise WalkFault(f"{where}{expectation}, exit code {status}, printed:\n{output}")
    difference = None
    if step.kind == "text":
        difference = text_difference(step.expected, output)
    elif step.kind == "json":
        try:
            wanted = _documents(step.expected)
        except json.JSONDecodeError as error:
            raise WalkFault(f"{where}the expected output is not JSON: {error}") from None
        try:
            difference = json_difference(wanted, _documents(output))
        except json.JSONDecodeError:
            difference = "printed something else than JSON"
        difference = difference and f"{difference}\nall of it:\n{output}"
    if difference:
        raise WalkFault(f"{where}{difference}")


def run(markdown, address, folder, environment=None):
    """Walks a document against the server at `address`; gives the number of blocks run, raises WalkFault at the first fault."""
    for documented in DOCUMENTED_ADDRESSES:
        markdown = markdown.replace(documented, address)
    steps = parse(markdown)
    shell = Shell(folder, environment)
    try:
        for step in steps:
            _check(step, *shell.run(step.commands))
    finally:
        shell.close()
    return len(steps)
