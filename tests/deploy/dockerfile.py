"""A Dockerfile as its instructions, in the little that ours uses of the language."""

import json
import re

from programs import DEPLOY

PATH = DEPLOY / "Dockerfile"


def stages():
    """Lists of instructions (name, rest of the line), one for each FROM; those before the first are left out."""
    text = re.sub(r"^\s*#.*\n", "", PATH.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    found = []
    for line in filter(str.strip, lines):
        name, rest = line.split(maxsplit=1)
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, rest))
    return found


def of_last_stage(name):
    """What the last stage has under this name."""
    return [rest for instruction, rest in stages()[-1] if instruction == name]


def one(name):
    """What the last stage has once under this name."""
    (rest,) = of_last_stage(name)
    return rest


def environment():
    """The variables that the image sets."""
    return dict(pair.split("=", 1) for line in of_last_stage("ENV") for pair in line.split())


def healthcheck():
    """The command of the health check, and its options."""
    options, command = re.fullmatch(r"(.*?)\s*CMD\s+(\[.*\])", one("HEALTHCHECK")).groups()
    return json.loads(command), dict(re.findall(r"--([\w-]+)=(\S+)", options))


def command():
    """What a container runs."""
    return json.loads(one("ENTRYPOINT")) + json.loads(one("CMD"))
