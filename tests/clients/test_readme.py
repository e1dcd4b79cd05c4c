"""The README's walk, executed as it stands by bash with real grpcurl against a server of the built binary."""

import os
import shutil
from pathlib import Path

import walk
from server import BINARY

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_walk_in_the_readme_happens_as_it_says(server, tmp_path):
    assert shutil.which("grpcurl"), "grpcurl is missing: tests/run tools brings it, and tests/run clients puts it on the path"
    markdown = README.read_text(encoding="utf-8")
    steps = walk.parse(markdown)
    assert sum("grpcurl" in step.commands for step in steps) >= 5, "the README has a walk"
    assert any(step.must_fail for step in steps), "the walk shows a rejected move"
    # The reader has the program on the path.
    path = f"{BINARY.resolve().parent}{os.pathsep}{os.environ['PATH']}"
    assert walk.run(markdown, server.address, tmp_path, {**os.environ, "PATH": path}) == len(steps)
