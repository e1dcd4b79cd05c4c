"""Prometheus' rules by promtool, and every metric that rules and dashboard name against a running server."""

import collections
import re
import subprocess
import urllib.request

import grpc
import pytest

from client import Client
from mancala.v1 import session_service_pb2 as session_service
from programs import DEPLOY, documents, load_json, program, run, wait_for
from server import Server

MONITORING = DEPLOY / "monitoring"
DASHBOARD = MONITORING / "grafana" / "dashboards" / "mancala.json"
# What Prometheus itself puts on series.
SCRAPE_LABELS = {"job", "instance", "le"}
NAME = r"\bmancala_\w+"


def rules():
    """The recorded names and their expressions, and the alerts and theirs."""
    (file,) = documents((MONITORING / "rules.yml").read_text(encoding="utf-8"))
    every = [rule for group in file["groups"] for rule in group["rules"]]
    recorded = {rule["record"]: rule["expr"] for rule in every if "record" in rule}
    return recorded, {rule["alert"]: rule["expr"] for rule in every if "alert" in rule}


def panels():
    return [panel for panel in load_json(DASHBOARD)["panels"] if panel["type"] != "row"]


def dashboard_expressions():
    dashboard = load_json(DASHBOARD)
    variables = [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    annotations = [annotation["expr"] for annotation in dashboard["annotations"]["list"]]
    return [target["expr"] for panel in panels() for target in panel["targets"]] + variables + annotations


def expressions():
    """All that is asked of Prometheus."""
    recorded, alerts = rules()
    return [*recorded.values(), *alerts.values(), *dashboard_expressions()]


def test_prometheus_takes_configuration_and_rules():
    run("promtool", "check", "config", MONITORING / "prometheus.yml")
    run("promtool", "check", "rules", "--lint=all", "--lint-fatal", MONITORING / "rules.yml")


def test_alerts_fire_when_they_should_and_only_then():
    run("promtool", "test", "rules", MONITORING / "rules.test.yml")


def test_every_alert_is_tested_and_says_what_to_do():
    (tests,) = documents((MONITORING / "rules.test.yml").read_text(encoding="utf-8"))
    tested = {case["alertname"] for test in tests["tests"] for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert tested == set(rules()[1])
    (file,) = documents((MONITORING / "rules.yml").read_text(encoding="utf-8"))
    for rule in (rule for group in file["groups"] for rule in group["rules"] if "alert" in rule):
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]


def test_the_dashboard_is_laid_out():
    every = load_json(DASHBOARD)["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    taken = collections.Counter(
        (x, y)
        for place in (panel["gridPos"] for panel in every)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert max(x for x, _ in taken) == 23
    assert taken.most_common(1)[0][1] == 1, "panels lie over each other"
    for panel in panels():
        assert panel["title"] and panel["targets"] and panel["fieldConfig"]["defaults"]["unit"]


@pytest.fixture(scope="module")
def scraped(tmp_path_factory, operator_settings):
    """What Prometheus gets of a server that was used in every way that is counted."""
    key, settings = operator_settings
    tight = {"MANCALA_LIMITS__ANONYMOUS_RATE": "1", "MANCALA_LIMITS__ANONYMOUS_BURST": "1"}
    watched = {"MANCALA_METRICS__LISTEN": "127.0.0.1:0"}
    server = Server(tmp_path_factory.mktemp("metrics") / "games.db", settings | tight | watched)
    try:
        address = wait_for(lambda: re.search(r"metrics on http://(\S+)/metrics", server.output()), "address of metrics")[1]
        with Client(server.address, token=key) as client:
            client.sessions.CreateSession(session_service.CreateSessionRequest(game="gore", session_id="measured"))
            for pit in ("0", "0"):
                move = {"session_id": "measured", "move": {"text": pit}}
                try:
                    client.sessions.ApplyMove(session_service.ApplyMoveRequest(**move))
                except grpc.RpcError as refused:
                    assert refused.code() == grpc.StatusCode.FAILED_PRECONDITION
        with Client(server.address) as stranger:
            for _ in range(3):
                with pytest.raises(grpc.RpcError):
                    stranger.sessions.GetSession(session_service.GetSessionRequest(session_id="measured"))
        def with_sessions():
            """Sessions are counted by themselves, now and then."""
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
                text = answer.read().decode()
            return text if "mancala_sessions{" in text else None

        yield wait_for(with_sessions, "count of sessions")
    finally:
        server.stop()


@pytest.fixture(scope="module")
def exposed(scraped):
    """Names of the samples, and the labels of each."""
    return labels_of(scraped)


def test_prometheus_finds_no_fault_with_the_metrics(scraped):
    checked = subprocess.run([program("promtool"), "check", "metrics"], input=scraped, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def labels_of(text):
    """The labels of the samples of each name, in a scrape."""
    labels = collections.defaultdict(set)
    for line in text.splitlines():
        if sample := re.match(r"([a-z_:]\w*)(?:\{(.*)\})? ", line):
            labels[sample[1]] |= set(re.findall(r'(\w+)="', sample[2] or ""))
    return labels


def test_every_metric_that_is_named_is_exposed(exposed):
    named = {name for expression in expressions() for name in re.findall(NAME, expression)}
    assert len(named) > 15
    assert named - set(exposed) == set()


def test_every_label_that_is_named_is_on_its_metric(exposed):
    for expression in expressions():
        for name, matchers in re.findall(rf"({NAME})\{{([^}}]*)\}}", expression):
            matched = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
            assert matched <= exposed[name] | SCRAPE_LABELS, expression
        grouped = {label for by in re.findall(r"by \(([^)]*)\)", expression) for label in re.findall(r"\w+", by)}
        of_metrics = {label for name in re.findall(NAME, expression) for label in exposed[name]}
        if of_metrics:
            assert grouped <= of_metrics | SCRAPE_LABELS, expression


def test_what_is_recorded_is_what_is_used():
    recorded, _ = rules()
    used = {name for expression in expressions() for name in re.findall(r"mancala:[\w:]+", expression)}
    assert used == set(recorded)
