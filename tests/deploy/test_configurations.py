"""Every file of deploy/ parses, and the server takes the configurations among them."""

import re

import pytest
import yaml

from programs import DEPLOY, ROOT, drain, load_json, run, settings
from server import BINARY, environment

CONFIGURATIONS = sorted(DEPLOY.rglob("*.toml"))
# Every setting as it is by default. The others are for servers that others reach.
DEFAULTS = DEPLOY / "mancala.toml"


def test_every_yaml_and_json_file_parses():
    texts = sorted(DEPLOY.rglob("*.yaml")) + sorted(DEPLOY.rglob("*.yml"))
    assert len(texts) > 10
    for path in texts:
        assert list(yaml.safe_load_all(path.read_text(encoding="utf-8"))), path
    for path in DEPLOY.rglob("*.json"):
        assert load_json(path), path


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_the_server_takes_the_configuration(path, operator_settings):
    _, operator = operator_settings
    # Not the mode: that is for the file to say. In open mode operators are for nothing.
    told = {} if path == DEFAULTS else {"MANCALA_AUTH__OPERATORS": operator["MANCALA_AUTH__OPERATORS"]}
    run(str(BINARY), "check-config", "--config", path, env=environment() | told | {"HOME": "/nonexistent"})


@pytest.mark.parametrize("path", [path for path in CONFIGURATIONS if path != DEFAULTS], ids=lambda path: path.parent.name)
def test_configurations_for_others_to_reach_are_closed(path):
    configuration = settings(path)
    assert configuration["auth"]["mode"] == "token"
    assert configuration["log"]["format"] == "json"
    assert not configuration["server"].get("allow_open", False)
    # The time that everything else of deploy/ waits for.
    assert drain(configuration) == 13


def test_versions_are_those_of_the_crate():
    package = settings(ROOT / "Cargo.toml")["package"]
    version, rust = package["version"], package["rust-version"]

    def found(path, pattern):
        return re.findall(pattern, (DEPLOY / path).read_text(encoding="utf-8"), re.MULTILINE)

    assert found("Dockerfile", r"^ARG RUST_VERSION=(.+)$") == [rust]
    assert found("Dockerfile", r"(?:^ARG VERSION=|--tag mancala:)(\S+)") == [version] * 2
    for path in ("compose.yaml", "compose.replicas.yaml"):
        assert found(path, r"image: mancala:(.+)$") == [version]
    assert found("kubernetes/base/kustomization.yaml", r"(?:newTag|app\.kubernetes\.io/version): (.+)$") == [version] * 2
