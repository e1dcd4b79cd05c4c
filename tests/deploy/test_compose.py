"""The compose file: by the schema of the Compose specification, and closed as the image is meant to run."""

import dockerfile
from programs import DEPLOY, UNPRIVILEGED, documents, drain, run, seconds, settings

PATH = DEPLOY / "compose.yaml"


def services():
    (compose,) = documents(PATH.read_text(encoding="utf-8"))
    return compose["services"]


def test_the_compose_file_is_one():
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", PATH)


def test_no_service_can_do_more_than_it_must():
    for name, service in services().items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["pids_limit"] and service["mem_limit"], name
        assert not service["image"].endswith(":latest") and ":" in service["image"], name
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), f"{name} is published to this machine only"


def test_the_server_runs_as_its_image_says():
    server = services()["mancala"]
    assert server["user"] == f"{UNPRIVILEGED}:{UNPRIVILEGED}"
    assert server["healthcheck"]["test"] == ["CMD", *dockerfile.healthcheck()[0]]
    assert server["volumes"] == ["data:/var/lib/mancala"]
    assert seconds(server["stop_grace_period"]) >= drain(settings(DEPLOY / "production.toml")) + 5
    assert (DEPLOY / f"{server['env_file']}.example").is_file()
    assert (PATH.parent / server["build"]["context"] / server["build"]["dockerfile"]).resolve() == dockerfile.PATH


def test_monitoring_is_an_option_and_its_files_are_there():
    optional = {name: service for name, service in services().items() if "profiles" in service}
    assert set(optional) == {"prometheus", "grafana"}
    mounts = [volume for service in optional.values() for volume in service["volumes"] if volume.startswith("./")]
    assert mounts
    provider = (DEPLOY / "monitoring/grafana/provisioning/dashboards/mancala.yaml").read_text(encoding="utf-8")
    assert any(documents(provider)[0]["providers"][0]["options"]["path"] == mount.split(":")[1] for mount in mounts)
    for mount in mounts:
        path, _, mode = mount.split(":")
        assert (PATH.parent / path).exists(), path
        assert mode == "ro"
