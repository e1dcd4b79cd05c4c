"""A server that behaves as a test wants, for what proxies do that a good server gives no occasion for."""

import concurrent.futures
import threading

import grpc

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


class Upstream(grpc.GenericRpcHandler):
    """Answers every unary call with its name, after failing the first `failures` calls with `code`. Health is what it is set to."""

    def __init__(self, name, failures=0, code=grpc.StatusCode.UNAVAILABLE):
        self.name, self._left, self._code = name, failures, code
        self.calls, self.health = 0, SERVING
        self._lock = threading.Lock()
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[self])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self._check if details.method == "/grpc.health.v1.Health/Check" else self._call)

    def _check(self, _request, _context):
        return self.health

    def _call(self, _request, context):
        with self._lock:
            self.calls += 1
            self._left -= 1
            fails = self._left >= 0
        if fails:
            context.abort(self._code, "as the test wants")
        return self.name.encode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()
