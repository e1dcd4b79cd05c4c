"""Python stubs of the wire contract, generated from proto/ into target/ and made importable."""

import hashlib
import shutil
import sys
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
OUT = ROOT / "target" / "clients" / "stubs"


def _fingerprint(sources):
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.relative_to(PROTO).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def generate():
    """Generates the stubs if the protos have changed since the last time, and puts them on the import path."""
    sources = sorted(PROTO.rglob("*.proto"))
    assert sources, f"no protos in {PROTO}"
    stamp = OUT / "made-from"
    fingerprint = _fingerprint(sources)
    if not stamp.exists() or stamp.read_text() != fingerprint:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        well_known = Path(grpc_tools.__file__).parent / "_proto"
        arguments = ["protoc", f"-I{PROTO}", f"-I{well_known}", f"--python_out={OUT}", f"--grpc_python_out={OUT}"]
        status = protoc.main(arguments + [str(source) for source in sources])
        assert status == 0, f"protoc failed with {status}"
        stamp.write_text(fingerprint)
    sys.path.insert(0, str(OUT))
