"""The Kubernetes manifests, as kustomize builds them: by Kubernetes' own schemas, and by what they promise."""

import pytest

from database import URL_VARIABLE, connections_for, max_connections
from programs import DEPLOY, UNPRIVILEGED, documents, drain, run, seconds, settings

MANIFESTS = DEPLOY / "kubernetes"
SERVER = {"app.kubernetes.io/name": "mancala"}


# One server with a volume, and several on a database.
SINGLE, REPLICAS = ["base", "tls"], ["replicas"]


def only(variants):
    return pytest.mark.parametrize("built", variants, indirect=True)


@pytest.fixture(scope="module", params=[*SINGLE, *REPLICAS])
def built(request, tmp_path_factory):
    """The variant's name, and a file of all its manifests."""
    path = tmp_path_factory.mktemp("kubernetes") / f"{request.param}.yaml"
    path.write_text(run("kubectl", "kustomize", MANIFESTS / request.param))
    return request.param, path


@pytest.fixture
def manifests(built):
    """The manifests by kind and name."""
    return {(found["kind"], found["metadata"]["name"]): found for found in documents(built[1].read_text())}


@pytest.fixture
def workload(built, manifests):
    return manifests["Deployment" if built[0] in REPLICAS else "StatefulSet", "mancala"]["spec"]


@pytest.fixture
def pod(workload):
    return workload["template"]["spec"]


@pytest.fixture
def configuration(built):
    """The server's configuration in the variant."""
    return settings(MANIFESTS / ("replicas" if built[0] in REPLICAS else "base") / "mancala.toml")


@pytest.fixture
def container(pod):
    (only,) = pod["containers"]
    return only


def test_kubernetes_knows_every_field(built):
    run("kubernetes-validate", "--strict", built[1])


def test_examples_are_valid_and_not_applied(built):
    examples = sorted(MANIFESTS.rglob("*.example.yaml"))
    assert len(examples) == 3
    for example in examples:
        run("kubernetes-validate", "--strict", example)
        for manifest in documents(example.read_text(encoding="utf-8")):
            assert f"kind: {manifest['kind']}" not in built[1].read_text()


def test_the_pod_is_restricted(manifests, pod, container):
    """What the pod security standard "restricted" asks for, which the namespace enforces, and a read-only root on top."""
    assert manifests["Namespace", "mancala"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == UNPRIVILEGED
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
        assert not pod.get(forbidden)
    assert all(set(volume) & {"configMap", "secret"} for volume in pod["volumes"]), "no volume of the node"
    assert pod["automountServiceAccountToken"] is False
    assert manifests["ServiceAccount", pod["serviceAccountName"]]["automountServiceAccountToken"] is False


@only(SINGLE)
def test_one_server_has_one_volume(workload, container):
    assert workload["replicas"] == 1, "the store is a file that one process writes"
    (claim,) = workload["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    # They can't be changed once the set exists: a version in them would forbid the next version.
    assert not claim["metadata"].get("labels")
    writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/var/lib/mancala"]
    assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]


def test_the_pod_is_given_the_time_that_its_drain_takes(pod, configuration):
    assert pod["terminationGracePeriodSeconds"] >= drain(configuration) + 5
    # A pod that is deleted is taken out of the endpoints at once, whatever its probes say; that needs a moment to get round.
    assert seconds(configuration["server"]["drain_delay"]) >= 5


def test_probes_ask_where_the_server_answers(built, container, configuration):
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert configuration["server"]["listen"].endswith(f":{ports['grpc']}")
    assert configuration["metrics"]["listen"].endswith(f":{ports['metrics']}")
    # A restart mends no full disk, so that liveness must not ask for the store as gRPC's health does.
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "metrics"}
    for name in ("startupProbe", "readinessProbe"):
        probe = container[name]
        if built[0] == "tls":
            assert probe["httpGet"] == {"path": "/readyz", "port": "metrics"} and "grpc" not in probe
        elif (built[0], name) == ("replicas", "startupProbe"):
            # A server that starts while the database is away must not be killed for it.
            assert probe["httpGet"] == {"path": "/livez", "port": "metrics"} and "grpc" not in probe
        else:
            assert probe["grpc"] == {"port": ports["grpc"]} and "httpGet" not in probe


def test_the_parts_find_each_other(built, manifests, workload, pod, container):
    assert workload["template"]["metadata"]["labels"].items() >= SERVER.items()
    assert workload["selector"]["matchLabels"] == SERVER
    assert manifests["PodDisruptionBudget", "mancala"]["spec"]["selector"]["matchLabels"] == SERVER
    names = {port["name"] for port in container["ports"]}
    for service in ("mancala", "mancala-headless"):
        found = manifests["Service", service]["spec"]
        assert found["selector"] == SERVER
        assert {port["targetPort"] for port in found["ports"]} <= names
        expected = None if built[0] == "tls" else "kubernetes.io/h2c"
        assert found["ports"][0].get("appProtocol") == expected
    assert manifests["Service", workload.get("serviceName", "mancala-headless")]["spec"]["clusterIP"] == "None"
    (configured,) = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
    assert "mancala.toml" in manifests["ConfigMap", configured]["data"]
    assert ":latest" not in container["image"]


def test_only_clients_and_scrapes_get_through(built, manifests):
    policy = manifests["NetworkPolicy", "mancala"]["spec"]
    assert policy["podSelector"]["matchLabels"] == SERVER
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    # To the database and to where its name is looked up; one server connects to nobody.
    reached = [{port["port"] for port in rule["ports"]} for rule in policy["egress"] if rule["to"]]
    assert len(reached) == len(policy["egress"])
    assert reached == ([{5432}, {53}] if built[0] in REPLICAS else [])
    assert all(rule["from"] and rule["ports"] for rule in policy["ingress"]), "an empty rule would let everybody in"


def test_tls_comes_from_a_secret(built, pod, container):
    variables = {variable["name"]: variable["value"] for variable in container.get("env", [])}
    if built[0] != "tls":
        assert variables == {}
        return
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "tls"]
    assert variables == {
        "MANCALA_TLS__CERTIFICATE": f"{mount['mountPath']}/tls.crt",
        "MANCALA_TLS__KEY": f"{mount['mountPath']}/tls.key",
    }
    # With subPath a renewed certificate would never arrive.
    assert "subPath" not in mount
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "tls"]
    assert volume["secret"]["defaultMode"] == 0o440


@only(REPLICAS)
def test_a_new_version_costs_no_capacity(workload, manifests):
    assert workload["replicas"] >= 3
    assert workload["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert workload["minReadySeconds"] > 0
    # A drain of nodes takes one at a time, and is not stopped by servers that are not ready because the database is away.
    budget = manifests["PodDisruptionBudget", "mancala"]["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


@only(REPLICAS)
def test_replicas_are_spread_and_have_nothing_of_their_own(workload, pod, container):
    (spread,) = pod["topologySpreadConstraints"]
    (apart,) = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    for selector in (spread["labelSelector"], apart["podAffinityTerm"]["labelSelector"]):
        assert selector["matchLabels"] == SERVER
    assert {spread["topologyKey"], apart["podAffinityTerm"]["topologyKey"]} == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
    assert "volumeClaimTemplates" not in workload
    assert all(mount["readOnly"] for mount in container["volumeMounts"])


@only(REPLICAS)
def test_the_database_is_told_by_a_secret(pod, container, configuration):
    given = [source["secretRef"]["name"] for source in container["envFrom"]]
    (secret, authority) = documents((MANIFESTS / "replicas" / "database.example.yaml").read_text(encoding="utf-8"))
    assert given == ["mancala-operators", secret["metadata"]["name"]]
    (variable,) = secret["stringData"]
    assert variable == URL_VARIABLE and secret["stringData"][variable].startswith("postgres://")
    # It has a password, and must be nowhere else; what says whom to believe is a file.
    assert "path" not in configuration["store"] and "url" not in configuration["store"]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "database-ca"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "database-ca"]
    assert volume["secret"]["secretName"] == authority["metadata"]["name"]
    (item,) = volume["secret"]["items"]
    assert item["key"] in authority["stringData"]
    assert configuration["store"]["tls"] == "on"
    assert configuration["store"]["tls_ca"] == f"{mount['mountPath']}/{item['path']}"


@only(REPLICAS)
def test_the_autoscaler_scales_the_servers(manifests):
    (scaler,) = documents((MANIFESTS / "replicas" / "autoscaler.example.yaml").read_text(encoding="utf-8"))
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) in manifests
    deployment = manifests["Deployment", "mancala"]["spec"]
    assert scaler["spec"]["minReplicas"] == deployment["replicas"] <= scaler["spec"]["maxReplicas"]
    # A new version may come while there are as many as there may be.
    most = scaler["spec"]["maxReplicas"] + deployment["strategy"]["rollingUpdate"]["maxSurge"]
    assert connections_for(most) <= max_connections()
