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
async function play(baseUrl, sessionId, token) {
  const client = sessions(baseUrl, token);
  for (;;) {
    const { moves, version } = await client.listLegalMoves({ sessionId });
    if (moves.length === 0) throw new Error(`no legal move at version ${version}`);
    const request = { sessionId, move: moves[0], expectedVersion: version, requestId: `ply-${version}` };
    const answer = await client.applyMove(request);
    if (answer.matchResult) return { version: answer.version, position: answer.position };
  }
}

// What the end of a call tells a program: its code, and of an error the details that the server sent with it.
async function outcome(call) {
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

const create = (baseUrl, request, token) => outcome(() => sessions(baseUrl, token).createSession(request));

const move = (baseUrl, sessionId, text, token) => outcome(() => sessions(baseUrl, token).applyMove({ sessionId, move: { text } }));

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

// Watches a session until its match has ended, but hangs up after every third message and resumes; the versions of all events
// that came, and how many streams it took.
async function watchToEnd(baseUrl, sessionId) {
  const client = sessions(baseUrl);
  const versions = [];
  let afterVersion = 0;
  for (let streams = 1; ; streams++) {
    const cancel = new AbortController();
    const stream = client.watchSession({ sessionId, afterVersion }, { signal: cancel.signal, timeoutMs: 0 });
    let messages = 0;
    for await (const { events, version } of stream) {
      versions.push(...events.map((event) => event.version));
      afterVersion = version;
      if (events.some((event) => event.body.case === "ended")) {
        cancel.abort();
        return { versions, streams };
      }
      if (++messages === 3) break;
    }
    cancel.abort();
  }
}

globalThis.mancala = { create, move, play, watchedHealth, watchToEnd };
