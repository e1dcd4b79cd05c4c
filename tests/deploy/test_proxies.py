"""Calls through Envoy and nginx with the configurations of deploy/proxy, by real clients and over TLS."""

import contextlib
import http.client
import ssl
import struct

import grpc
import pytest

from mancala.v1 import rules_service_pb2 as rules_service
from mancala.v1 import session_service_pb2 as session_service
from mancala.v1 import session_service_pb2_grpc
from mancala.v1 import watch_pb2 as watch
from programs import run, wait_for
from proxies import Envoy, Nginx
from server import Server
from upstream import NOT_SERVING, Upstream

LIST_GAMES = "mancala.v1.RulesService/ListGames"
SECONDS = 20


@pytest.fixture(scope="module")
def envoy(tmp_path_factory, tls, server):
    with Envoy(tmp_path_factory.mktemp("envoy"), tls, [server.address]) as running:
        yield running


@pytest.fixture
def nginx(open_folder, tls, server):
    with Nginx(open_folder, tls, server.address) as running:
        yield running


def channel(proxy, tls):
    credentials = grpc.ssl_channel_credentials((tls / "tls.crt").read_bytes())
    # A subchannel of its own, so that no test is answered by another's proxy.
    return grpc.secure_channel(f"localhost:{proxy.port}", credentials, options=[("grpc.use_local_subchannel_pool", 1)])


def games_by_grpcurl(proxy, tls):
    return run("grpcurl", "-cacert", tls / "tls.crt", f"localhost:{proxy.port}", LIST_GAMES)


def works(proxy, tls):
    """A call by grpcurl, which needs reflection's stream too, and a watch that hears of the calls beside it as they are made."""
    assert '"game": "hoyito3"' in games_by_grpcurl(proxy, tls)
    with channel(proxy, tls) as connected:
        sessions = session_service_pb2_grpc.SessionServiceStub(connected)
        request = session_service.CreateSessionRequest(game="ayoayo")
        session_id = sessions.CreateSession(request, timeout=SECONDS).session.session_id
        stream = sessions.WatchSession(watch.WatchSessionRequest(session_id=session_id), timeout=SECONDS)
        assert [event.version for event in next(stream).events] == [1]
        for version, move in [(2, "3"), (3, "7")]:
            request = session_service.ApplyMoveRequest(session_id=session_id, move={"text": move})
            assert sessions.ApplyMove(request, timeout=SECONDS).version == version
            assert [event.version for event in next(stream).events] == [version]
        stream.cancel()


def test_envoy_takes_the_configuration(tmp_path, tls, server):
    path = tmp_path / "envoy.yaml"
    path.write_text(Envoy.configuration(tls, [server.address]))
    assert "OK" in run("envoy", "--mode", "validate", "--config-path", path)


def test_calls_and_streams_pass_envoy(envoy, tls):
    works(envoy, tls)


def test_nginx_takes_the_configuration(open_folder, tls, server):
    said = Nginx(open_folder, tls, server.address).check()
    assert "test is successful" in said and "[warn]" not in said, said


def test_calls_and_streams_pass_nginx(nginx, tls):
    works(nginx, tls)


def test_without_a_server_nginx_gives_clients_what_they_retry_on(open_folder, tls, tmp_path):
    server = Server(tmp_path / "games.db")
    with server, Nginx(open_folder, tls, server.address) as proxy, channel(proxy, tls) as connected:
        server.stop()
        with pytest.raises(grpc.RpcError) as refused:
            connected.unary_unary(f"/{LIST_GAMES}")(b"", timeout=SECONDS)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE


@contextlib.contextmanager
def through_envoy(folder, tls, *upstreams):
    """Envoy in front of these, a connection to it, and they."""
    with contextlib.ExitStack() as running:
        servers = [running.enter_context(upstream) for upstream in upstreams]
        proxy = running.enter_context(Envoy(folder, tls, [server.address for server in servers]))
        yield proxy, running.enter_context(channel(proxy, tls)), *servers


def call(connected):
    return connected.unary_unary("/mancala.v1.SessionService/ApplyMove")(b"", timeout=SECONDS).decode()


def test_envoy_repeats_unavailable_three_times_and_nothing_else(tmp_path, tls):
    with through_envoy(tmp_path, tls, Upstream("late", failures=3)) as (_, connected, late):
        assert (call(connected), late.calls) == ("late", 4)
    unavailable, aborted, internal = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED, grpc.StatusCode.INTERNAL
    for code, failures, calls in [(unavailable, 4, 4), (aborted, 1, 1), (internal, 1, 1)]:
        with through_envoy(tmp_path, tls, Upstream("bad", failures, code)) as (_, connected, bad):
            with pytest.raises(grpc.RpcError) as refused:
                call(connected)
            assert (refused.value.code(), bad.calls) == (code, calls)


def test_envoy_does_not_repeat_a_stream(tmp_path, tls):
    with through_envoy(tmp_path, tls, Upstream("bad", failures=1)) as (_, connected, bad):
        with pytest.raises(grpc.RpcError) as refused:
            list(connected.unary_stream("/mancala.v1.SessionService/WatchSession")(b"", timeout=SECONDS))
        assert (refused.value.code(), bad.calls) == (grpc.StatusCode.UNAVAILABLE, 1)


def test_envoy_takes_turns_by_call_and_leaves_out_who_does_not_serve(tmp_path, tls):
    with through_envoy(tmp_path, tls, Upstream("a"), Upstream("b")) as (proxy, connected, a, _):
        wait_for(lambda: proxy.healthy() == 2, "second healthy server")
        answers = [call(connected) for _ in range(10)]
        # Each of its threads takes turns of its own.
        assert min(answers.count("a"), answers.count("b")) >= 2, "one connection, two servers"
        a.health = NOT_SERVING
        # The drain delay of the configurations is the time that it has for this.
        wait_for(lambda: {call(connected) for _ in range(6)} == {"b"}, "server that is left out", seconds=15)


def web_request(proxy, tls, method, headers, body=None):
    """As a browser's: HTTP/1.1 over TLS."""
    context = ssl.create_default_context(cafile=str(tls / "tls.crt"))
    connection = http.client.HTTPSConnection("localhost", proxy.port, context=context, timeout=SECONDS)
    try:
        connection.request(method, f"/{LIST_GAMES}", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def frames(body):
    """Messages and trailers of a gRPC-Web answer."""
    found = []
    while body:
        kind, length = struct.unpack(">BI", body[:5])
        found.append((kind, body[5 : 5 + length]))
        body = body[5 + length :]
    return found


def web_call_works(proxy, tls, **more):
    headers = {"origin": "https://play.example", "content-type": "application/grpc-web+proto", "x-grpc-web": "1"} | more
    status, answered, body = web_request(proxy, tls, "POST", headers, struct.pack(">BI", 0, 0))
    assert (status, answered["access-control-allow-origin"]) == (200, "https://play.example")
    (message_kind, message), (trailer_kind, trailers) = frames(body)
    assert (message_kind, trailer_kind) == (0, 0x80)
    assert len(rules_service.ListGamesResponse.FromString(message).games) == 5
    assert b"grpc-status:0" in trailers.replace(b" ", b"")


def test_envoy_speaks_grpc_web_with_the_pages_of_its_list(envoy, tls):
    web_call_works(envoy, tls)


def test_nginx_passes_grpc_web_beside_grpc_to_a_server_that_speaks_it(open_folder, tls, tmp_path):
    web = {"MANCALA_WEB__ENABLED": "true", "MANCALA_WEB__ALLOW_ORIGINS": '["https://play.example"]'}
    with Server(tmp_path / "games.db", web) as server, Nginx(open_folder, tls, server.address) as proxy:
        # Neither kind may be sent on a connection that nginx has kept from the other.
        for _ in range(2):
            web_call_works(proxy, tls, host="web.mancala.example")
            with channel(proxy, tls) as connected:
                connected.unary_unary(f"/{LIST_GAMES}")(b"", timeout=SECONDS)


def test_envoy_lets_only_pages_of_its_list_call(envoy, tls):
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-grpc-web,authorization"}
    _, listed, _ = web_request(envoy, tls, "OPTIONS", {"origin": "https://play.example"} | asked)
    assert listed["access-control-allow-origin"] == "https://play.example"
    assert "authorization" in listed["access-control-allow-headers"]
    _, foreign, _ = web_request(envoy, tls, "OPTIONS", {"origin": "https://elsewhere.example"} | asked)
    assert foreign["access-control-allow-origin"] is None
