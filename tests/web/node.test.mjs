// A Node client as its developers would write one: grpc-js, and the protos read when the program runs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { newOperator, start } from "./server.mjs";
import { need, prepare } from "./tools.mjs";

const DEADLINE_SECONDS = 20;
const operator = newOperator("node");

let grpc, api, health, server, client;

before(async () => {
  const { protos } = prepare("node");
  grpc = need("@grpc/grpc-js");
  const load = (file) => {
    const options = { includeDirs: [protos], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true };
    return grpc.loadPackageDefinition(need("@grpc/proto-loader").loadSync(file, options));
  };
  api = load("mancala/v1/session_service.proto").mancala.v1;
  health = load("grpc/health/v1/health.proto").grpc.health.v1;
  server = await start(operator.settings);
  client = new api.SessionService(server.address, grpc.credentials.createInsecure());
});

after(async () => {
  client?.close();
  await server?.stop();
});

// A unary call as a promise, with the operator's key.
function call(method, request, key = operator.key) {
  const metadata = new grpc.Metadata();
  if (key) metadata.set("authorization", `Bearer ${key}`);
  const deadline = Date.now() + DEADLINE_SECONDS * 1000;
  return new Promise((answered, failed) => {
    client[method](request, metadata, { deadline }, (error, answer) => (error ? failed(error) : answered(answer)));
  });
}

test("a game is played to its end, each move once however often it is sent", async () => {
  const session_id = "from-node";
  let { version } = (await call("CreateSession", { game: "hoyito3", session_id })).session;
  for (;;) {
    const { moves } = await call("ListLegalMoves", { session_id });
    const request = { session_id, move: { text: moves[0].text }, expected_version: version, request_id: `ply-${version}` };
    const answer = await call("ApplyMove", request);
    assert(answer.version > version);
    const again = await call("ApplyMove", request);
    assert.deepEqual([again.version, again.replayed], [answer.version, true]);
    version = answer.version;
    if (answer.match_result) break;
  }
  const { session } = await call("GetSession", { session_id });
  assert.deepEqual([session.state, session.version], ["SESSION_STATE_FINISHED", version]);
});

test("a refusal has its code and reason", async () => {
  const session_id = "node-refused";
  await call("CreateSession", { game: "gore", session_id });
  await assert.rejects(call("ApplyMove", { session_id, move: { text: "5" } }), (error) => {
    assert.equal(error.code, grpc.status.FAILED_PRECONDITION);
    assert.match(error.details, /^PIT_NOT_YOURS: /);
    const [details] = error.metadata.get("grpc-status-details-bin");
    assert(details.includes("type.googleapis.com/google.rpc.ErrorInfo"));
    return true;
  });
  // Without a key as with a wrong one; that there is such a session is nobody's concern either.
  await assert.rejects(call("GetSession", { session_id }, null), { code: grpc.status.NOT_FOUND });
  await assert.rejects(call("GetSession", { session_id }, `${operator.key}x`), { code: grpc.status.UNAUTHENTICATED });
});

test("a health watch lives on while calls are made", async () => {
  const watcher = new health.Health(server.address, grpc.credentials.createInsecure());
  const stream = watcher.Watch({ service: "mancala.v1.SessionService" });
  const first = await new Promise((told, failed) => stream.once("data", told).once("error", failed));
  assert.equal(first.status, "SERVING");
  await call("ListSessions", {});
  stream.on("error", (error) => assert.equal(error.code, grpc.status.CANCELLED));
  stream.cancel();
  watcher.close();
});
