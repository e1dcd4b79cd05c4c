"""Postgres with the configuration of deploy/postgres: by the real server, and by ours upon it."""

import re

import pytest

from database import CONFIGURATION, URL_VARIABLE, Database, configured, connections, connections_for, max_connections, rule
from programs import wait_for
from proxies import Envoy
from server import Server
from test_proxies import works


@pytest.fixture(scope="module")
def database():
    with Database() as running:
        yield running


def test_postgres_takes_every_setting(database):
    # Some are put over by the test, on the command line.
    refused = "SELECT name, error FROM pg_file_settings JOIN pg_settings USING (name) WHERE error IS NOT NULL AND source <> 'command line'"
    assert database.sql(refused) == []
    taken = {name for (name,) in database.sql("SELECT name FROM pg_file_settings WHERE sourcefile LIKE '%/postgresql.conf'")}
    assert taken == set(configured())
    assert database.sql("SELECT name FROM pg_settings WHERE pending_restart") == []


def test_the_rule_of_connections_is_kept_and_told():
    assert connections_for(rule().servers) == rule().all == max_connections()
    assert rule().connections == connections()
    told = " ".join((CONFIGURATION.parent / "README.md").read_text(encoding="utf-8").split())
    assert f"{rule().times} × `store.connections` + {rule().beside} for each server" in told
    assert f" and {rule().reserve} for people, backups and monitoring" in told


def test_what_is_acknowledged_is_durable(database):
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        assert (configured()[name], database.sql(f"SHOW {name}")) == ("on", [["on"]])


def test_what_is_proposed_in_a_comment_is_taken(database):
    """The names of standbys, without which a failover loses the last moments. It is not put in force: no standby is there."""
    (names,) = re.findall(r"^#\s+synchronous_standby_names = '(.+)'$", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)
    database.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    database.sql("ALTER SYSTEM RESET synchronous_standby_names")
    with pytest.raises(AssertionError, match="invalid value for parameter"):
        database.sql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby_a'")


def test_replicas_on_it_serve_behind_the_proxy(database, tls, tmp_path):
    settings = {URL_VARIABLE: database.url}
    with Server(database.url, settings) as one, Server(database.url, settings) as other:
        with Envoy(tmp_path, tls, [one.address, other.address]) as proxy:
            wait_for(lambda: proxy.healthy() == 2, "second healthy server")
            # A game whose calls go to the two in turn, and a watch on one of them.
            works(proxy, tls)
        (count,) = database.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mancala'")
        assert 0 < int(count[0]) <= 2 * (connections() + rule().beside)
