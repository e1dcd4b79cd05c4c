"""A channel to the server with both services on it, and what a client can read from an error."""

import dataclasses

import grpc
from google.rpc import error_details_pb2, status_pb2
from mancala.v1 import rules_service_pb2_grpc, session_service_pb2_grpc

CALL_SECONDS = 30


class _Calls(grpc.UnaryUnaryClientInterceptor):
    """Gives every call a deadline, as a reply that never comes should fail a test and not hang it, and the caller's token."""

    def __init__(self, token):
        self._metadata = [("authorization", f"Bearer {token}")] if token else []

    def intercept_unary_unary(self, continuation, details, request):
        if details.timeout is None:
            details = details._replace(timeout=CALL_SECONDS)
        details = details._replace(metadata=[*(details.metadata or ()), *self._metadata])
        return continuation(details, request)


class Client:
    """One connection to one address, with a token if the server wants one. `rules` and `sessions` are the generated stubs."""

    def __init__(self, address, token=None):
        self.address = address
        # A subchannel of its own, so that many clients are many connections as they would be from many machines.
        self._channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        channel = grpc.intercept_channel(self._channel, _Calls(token))
        self.rules = rules_service_pb2_grpc.RulesServiceStub(channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)

    def close(self):
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@dataclasses.dataclass(frozen=True)
class Refused:
    """An error as a client sees it."""

    code: grpc.StatusCode
    message: str
    reason: str
    domain: str
    metadata: dict
    # Field path to the descriptions of what is wrong with it.
    fields: dict


def decode(error):
    """The details of a grpc.RpcError. Fails if it has none, or more than one ErrorInfo."""
    trailers = dict(error.trailing_metadata() or ())
    raw = trailers.get("grpc-status-details-bin")
    assert raw is not None, f"an error without details: {error.code()} {error.details()}"
    status = status_pb2.Status.FromString(raw)
    assert status.code == error.code().value[0], f"details of another code: {status}"
    assert status.message == error.details(), f"details with another message: {status}"
    infos, fields = [], {}
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            infos.append(info)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            request = error_details_pb2.BadRequest()
            detail.Unpack(request)
            for violation in request.field_violations:
                fields.setdefault(violation.field, []).append(violation.description)
    assert len(infos) == 1, f"{len(infos)} ErrorInfo in {status}"
    (info,) = infos
    return Refused(error.code(), error.details(), info.reason, info.domain, dict(info.metadata), fields)


def refusal_of(method, request):
    """Calls, expects an error and decodes it."""
    try:
        reply = method(request)
    except grpc.RpcError as error:
        return decode(error)
    raise AssertionError(f"not refused: {request} gave {reply}")
