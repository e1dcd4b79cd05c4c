// The program of a page that plays. It runs in the browser; what it gives back to the test is plain data.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { BadRequestSchema, ErrorInfoSchema } from "@gen/google/rpc/error_details_pb.js";
import { Health, HealthCheckResponse_ServingStatus } from "@gen/grpc/health/v1/health_pb.js";
import { SessionService } from "@gen/mancala/v1/session_service_pb.js";

function transport(baseUrl, token) {
  const authorize = (next) => (request) => {
    if (token) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createGrpcWebTransport({ baseUrl, interceptors: [authorize], defaultTimeoutMs: 20_000 });
}

const sessions = (baseUrl, token) => createClient(SessionService, transport(baseUrl, token));

// Plays a session to its end with the first legal move each time; where it ended.
async function play(baseUrl, game, sessionId, token) {
  const client = sessions(baseUrl, token);
  const made = await client.createSession({ game, sessionId });
  let version = made.session.version;
  for (;;) {
    const legal = await client.listLegalMoves({ sessionId });
    if (legal.moves.length === 0) throw new Error(`no legal move at version ${legal.version}`);
    const request = { sessionId, move: legal.moves[0], expectedVersion: version, requestId: `ply-${version}` };
    const answer = await client.applyMove(request);
    version = answer.version;
    if (answer.matchResult) return { version, position: answer.position };
  }
}

// What an error tells a program: its code and the details that the server sent with it.
async function refusal(call) {
  try {
    await call();
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    const [info] = error.findDetails(ErrorInfoSchema);
    const fields = error.findDetails(BadRequestSchema).flatMap((details) => details.fieldViolations.map((fault) => fault.field));
    return { code: Code[error.code], message: error.rawMessage, reason: info?.reason, metadata: info?.metadata, fields };
  }
  return { code: "OK" };
}

const refusedMove = (baseUrl, sessionId, text, token) =>
  refusal(() => sessions(baseUrl, token).applyMove({ sessionId, move: { text } }));

const refusedCreation = (baseUrl, request, token) => refusal(() => sessions(baseUrl, token).createSession(request));

// The first state that a health watch tells. The stream is left open until then and is cancelled by the page.
async function watchedHealth(baseUrl) {
  const cancel = new AbortController();
  const stream = createClient(Health, transport(baseUrl)).watch({ service: "" }, { signal: cancel.signal, timeoutMs: 0 });
  for await (const { status } of stream) {
    cancel.abort();
    return HealthCheckResponse_ServingStatus[status];
  }
  throw new Error("the stream ended without a message");
}

globalThis.mancala = { play, refusedMove, refusedCreation, watchedHealth };
