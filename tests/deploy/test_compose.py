"""The compose files: by the schema of the Compose specification, and closed as the images are meant to run."""

import ipaddress
import json
import re

import dockerfile
import pytest
import yaml
from database import CONFIGURATION, URL_VARIABLE, connections_for, max_connections
from programs import DEPLOY, UNPRIVILEGED, documents, drain, run, seconds, settings

PATH, REPLICAS = DEPLOY / "compose.yaml", DEPLOY / "compose.replicas.yaml"
both = pytest.mark.parametrize("path", [PATH, REPLICAS], ids=lambda path: path.name)


def composed(path):
    (compose,) = documents(path.read_text(encoding="utf-8"))
    return compose


def services(path=PATH):
    """The services of a file, those that are another file's as they are there."""
    found = composed(path)["services"]
    extended = {name: service["extends"] for name, service in found.items() if "extends" in service}
    return found | {name: services(DEPLOY / of["file"])[of["service"]] for name, of in extended.items()}


@both
def test_the_compose_file_is_one(path):
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", path)


@both
def test_no_service_can_do_more_than_it_must(path):
    for name, service in services(path).items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["pids_limit"] and service["mem_limit"], name
        assert not service["image"].endswith(":latest") and ":" in service["image"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), f"{name} is published to this machine only"


@both
def test_the_server_runs_as_its_image_says(path):
    server = services(path)["mancala"]
    assert server["user"] == f"{UNPRIVILEGED}:{UNPRIVILEGED}"
    assert server["healthcheck"]["test"] == ["CMD", *dockerfile.healthcheck()[0]]
    assert seconds(server["stop_grace_period"]) >= drain(settings(DEPLOY / "production.toml")) + 5
    assert (DEPLOY / f"{server['env_file']}.example").is_file()
    assert (PATH.parent / server["build"]["context"] / server["build"]["dockerfile"]).resolve() == dockerfile.PATH


@both
def test_networks_and_volumes_are_declared(path):
    compose = composed(path)
    for name, service in services(path).items():
        assert set(service["networks"]) <= set(compose["networks"]), name
        named = [volume.split(":")[0] for volume in service.get("volumes", []) if not volume.startswith("./")]
        assert set(named) <= set(compose["volumes"]), name


def test_one_server_keeps_its_data():
    assert services()["mancala"]["volumes"] == ["data:/var/lib/mancala"]


def test_replicas_keep_nothing_and_share_a_database():
    found = services(REPLICAS)
    server, database = found["mancala"], found["postgres"]
    assert server["scale"] >= 3 and "ports" not in server and "volumes" not in server
    assert "container_name" not in server, "several can't have one name"
    user = database["environment"]
    assert user["POSTGRES_PASSWORD"].startswith("${MANCALA_DATABASE_PASSWORD:?"), "there is no default password"
    expected = f"postgres://{user['POSTGRES_USER']}:{user['POSTGRES_PASSWORD']}@postgres/{user['POSTGRES_DB']}"
    assert server["environment"][URL_VARIABLE] == expected
    # Whoever is first, and whoever is away for a while, is for the servers to deal with.
    assert "depends_on" not in server
    assert set(server["networks"]) & set(database["networks"]) == {"database"}
    assert composed(REPLICAS)["networks"]["database"]["internal"] is True
    # What its head says of having more of them.
    (more,) = re.findall(r"^#.* --scale mancala=(\d+)$", REPLICAS.read_text(encoding="utf-8"), re.MULTILINE)
    assert server["scale"] < int(more) and connections_for(int(more)) <= max_connections()
    assert database["pids_limit"] > max_connections() + 50
    mounted = [volume.split(":") for volume in database["volumes"]]
    assert [(REPLICAS.parent / path).resolve() for path, *_ in mounted if path.startswith("./")] == [CONFIGURATION]
    assert f"config_file={mounted[0][1]}" in database["command"]


def test_the_proxy_finds_all_servers_and_is_believed():
    found = services(REPLICAS)
    (cluster,) = yaml.safe_load((DEPLOY / "proxy" / "envoy.yaml").read_text(encoding="utf-8"))["static_resources"]["clusters"]
    (locality,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = locality["lb_endpoints"]
    address = endpoint["endpoint"]["address"]["socket_address"]["address"]
    assert address in found["mancala"]["networks"]["games"]["aliases"] and "games" in found["proxy"]["networks"]
    (subnet,) = composed(REPLICAS)["networks"]["games"]["ipam"]["config"]
    assert json.loads(found["mancala"]["environment"]["MANCALA_LIMITS__TRUSTED_PROXIES"]) == [subnet["subnet"]]
    assert ipaddress.ip_network(subnet["subnet"]).is_private
    (mounted,) = [volume for volume in found["proxy"]["volumes"] if volume.startswith("./proxy/")]
    assert (REPLICAS.parent / mounted.split(":")[0]).is_file() and mounted.split(":")[1] in found["proxy"]["command"]


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
