"""The Kubernetes manifests, as kustomize builds them: by Kubernetes' own schemas, and by what they promise."""

import pytest

from programs import DEPLOY, UNPRIVILEGED, documents, drain, run, seconds, settings

MANIFESTS = DEPLOY / "kubernetes"
SERVER = {"app.kubernetes.io/name": "mancala"}


@pytest.fixture(scope="module", params=["base", "tls"])
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
def stateful_set(manifests):
    return manifests["StatefulSet", "mancala"]["spec"]


@pytest.fixture
def pod(stateful_set):
    return stateful_set["template"]["spec"]


@pytest.fixture
def container(pod):
    (only,) = pod["containers"]
    return only


def test_kubernetes_knows_every_field(built):
    run("kubernetes-validate", "--strict", built[1])


def test_the_example_of_a_secret_is_one_and_is_not_applied(built):
    run("kubernetes-validate", "--strict", MANIFESTS / "base" / "operators.example.yaml")
    assert "kind: Secret" not in built[1].read_text()


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


def test_one_server_has_one_volume(stateful_set, container):
    assert stateful_set["replicas"] == 1, "the store is a file that one process writes"
    (claim,) = stateful_set["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    # They can't be changed once the set exists: a version in them would forbid the next version.
    assert not claim["metadata"].get("labels")
    writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/var/lib/mancala"]
    assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]


def test_the_pod_is_given_the_time_that_its_drain_takes(pod):
    configuration = settings(MANIFESTS / "base" / "mancala.toml")
    assert pod["terminationGracePeriodSeconds"] >= drain(configuration) + 5
    # A pod that is deleted is taken out of the endpoints at once, whatever its probes say; that needs a moment to get round.
    assert seconds(configuration["server"]["drain_delay"]) >= 5


def test_probes_ask_where_the_server_answers(built, container):
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    configuration = settings(MANIFESTS / "base" / "mancala.toml")
    assert configuration["server"]["listen"].endswith(f":{ports['grpc']}")
    assert configuration["metrics"]["listen"].endswith(f":{ports['metrics']}")
    # A restart mends no full disk, so that liveness must not ask for the store as gRPC's health does.
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "metrics"}
    for probe in (container["startupProbe"], container["readinessProbe"]):
        if built[0] == "tls":
            assert probe["httpGet"] == {"path": "/readyz", "port": "metrics"} and "grpc" not in probe
        else:
            assert probe["grpc"] == {"port": ports["grpc"]} and "httpGet" not in probe


def test_the_parts_find_each_other(built, manifests, stateful_set, pod, container):
    assert stateful_set["template"]["metadata"]["labels"].items() >= SERVER.items()
    assert stateful_set["selector"]["matchLabels"] == SERVER
    assert manifests["PodDisruptionBudget", "mancala"]["spec"]["selector"]["matchLabels"] == SERVER
    names = {port["name"] for port in container["ports"]}
    for service in ("mancala", "mancala-headless"):
        found = manifests["Service", service]["spec"]
        assert found["selector"] == SERVER
        assert {port["targetPort"] for port in found["ports"]} <= names
        expected = None if built[0] == "tls" else "kubernetes.io/h2c"
        assert found["ports"][0].get("appProtocol") == expected
    assert manifests["Service", stateful_set["serviceName"]]["spec"]["clusterIP"] == "None"
    (configured,) = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
    assert "mancala.toml" in manifests["ConfigMap", configured]["data"]
    assert ":latest" not in container["image"]


def test_only_clients_and_scrapes_get_through(manifests):
    policy = manifests["NetworkPolicy", "mancala"]["spec"]
    assert policy["podSelector"]["matchLabels"] == SERVER
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert policy["egress"] == []
    assert all(rule["from"] and rule["ports"] for rule in policy["ingress"]), "an empty rule would let everybody in"


def test_tls_comes_from_a_secret(built, pod, container):
    variables = {variable["name"]: variable["value"] for variable in container.get("env", [])}
    if built[0] == "base":
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
