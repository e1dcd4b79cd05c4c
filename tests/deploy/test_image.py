"""The Dockerfile, as far as it can be judged without an engine."""

import os
import re
import shutil
import subprocess

import dockerfile
from programs import DEPLOY, ROOT, UNPRIVILEGED, run, settings
from server import BINARY

# The C library of Debian 12, which the image is made from.
IMAGE_GLIBC = (2, 36)
# What distroless/cc has of the libraries that Rust programs use.
IMAGE_LIBRARIES = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6", "libgcc_s.so.1", "libm.so.6"}


def copied():
    """Paths of the repository that the image is built from."""
    copies = [rest.split() for stage in dockerfile.stages() for name, rest in stage if name == "COPY" and "--from=" not in rest]
    return [source for *sources, _ in copies for source in sources]


def test_hadolint_finds_nothing():
    run("hadolint", dockerfile.PATH)


def test_the_image_is_small_pinned_and_not_roots():
    first, last = (stage[0][1] for stage in dockerfile.stages())
    for image in (first, last):
        tag = re.fullmatch(r"[a-z0-9./-]+:(\S+)(?: AS \w+)?", image)
        assert tag and tag[1] != "latest", f"{image} has no tag of its own"
    assert "bookworm" in first and "debian12" in last, "both stages are of one Debian, or the C library may be too old"
    assert "distroless" in last, "no shell"
    assert dockerfile.one("USER") == f"{UNPRIVILEGED}:{UNPRIVILEGED}"
    assert not dockerfile.of_last_stage("RUN"), "there is nothing in the image that could run"
    assert dockerfile.one("VOLUME") == '["/var/lib/mancala"]'
    labels = dockerfile.one("LABEL")
    for label in ("title", "description", "licenses", "version", "revision", "base.name"):
        assert f"org.opencontainers.image.{label}=" in labels


def test_what_the_image_listens_on_and_keeps_is_what_its_configuration_says():
    configuration = settings(DEPLOY / "production.toml")
    ports = [configuration[part]["listen"].rpartition(":")[2] for part in ("server", "metrics")]
    assert dockerfile.one("EXPOSE").split() == ports
    assert configuration["store"]["path"].startswith("/var/lib/mancala/")
    assert "deploy/production.toml /etc/mancala/mancala.toml" in dockerfile.of_last_stage("COPY")
    assert dockerfile.environment() == {"MANCALA_CONFIG": "/etc/mancala/mancala.toml"}


def test_what_is_copied_is_enough_to_build(tmp_path):
    """cargo takes the manifest for whole only if every target's file is there; docs and pages are included by sources."""
    for source in copied():
        origin, target = ROOT / source, tmp_path / source
        assert origin.exists(), f"COPY {source}: there is no such file"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(origin, target) if origin.is_dir() else shutil.copy(origin, target)
    run("cargo", "metadata", "--locked", "--offline", "--no-deps", "--features=", "--format-version=1", cwd=tmp_path)
    included = [
        (source.parent / path).resolve()
        for source in (tmp_path / "src").rglob("*.rs")
        for path in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text(encoding="utf-8"))
    ]
    assert len(included) > 5, "sources include pages"
    assert [path for path in included if not path.is_file()] == [], "included by sources but not copied"


def test_what_is_copied_is_sent_to_the_builder():
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*"
    assert {line.removeprefix("!") for line in patterns[1:]} == set(copied())


def test_the_binary_needs_no_more_than_the_image_has():
    needed = [tuple(map(int, version)) for version in re.findall(rb"GLIBC_(\d+)\.(\d+)\b", BINARY.read_bytes())]
    assert needed and max(needed) <= IMAGE_GLIBC
    listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    libraries = {os.path.basename(line.split()[0]) for line in listed.splitlines()} - {"linux-vdso.so.1"}
    assert "libc.so.6" in libraries
    assert libraries <= IMAGE_LIBRARIES
