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

// Metadata with a key, the operator's unless told otherwise.
function authorized(key = operator.key) {
  const metadata = new grpc.Metadata();
  if (key) metadata.set("authorization", `Bearer ${key}`);
  return metadata;
}

// A unary call as a promise.
function call(method, request, key) {
  const deadline = Date.now() + DEADLINE_SECONDS * 1000;
  return new Promise((answered, failed) => {
    client[method](request, authorized(key), { deadline }, (error, answer) => (error ? failed(error) : answered(answer)));
  });
}

// Plays a session to its end with the first legal move each time, and sends each move twice; the version at the end.
async function play(session_id) {
  for (;;) {
    const { moves, version } = await call("ListLegalMoves", { session_id });
    const request = { session_id, move: { text: moves[0].text }, expected_version: version, request_id: `ply-${version}` };
    const answer = await call("ApplyMove", request);
    const again = await call("ApplyMove", request);
    assert.deepEqual([again.version, again.replayed], [answer.version, true]);
    if (answer.match_result) return answer.version;
  }
}

test("a game is played to its end, each move once however often it is sent", async () => {
  const session_id = "from-node";
  await call("CreateSession", { game: "hoyito3", session_id });
  const version = await play(session_id);
  const { session } = await call("GetSession", { session_id });
  assert.deepEqual([session.state, session.version], ["SESSION_STATE_FINISHED", version]);
});

test("a watch gets every event once, in order, also when it is cut and resumed", async () => {
  const session_id = "node-watched";
  await call("CreateSession", { game: "ayoayo", session_id });
  const watched = watchToEnd(session_id);
  const version = await play(session_id);
  const { versions, streams } = await watched;
  assert(streams > 1, "it was cut");
  assert.deepEqual(versions, Array.from({ length: version }, (_, index) => index + 1));
});

// Watches a session until its match has ended, cancelling every fifth message's stream and resuming.
async function watchToEnd(session_id) {
  const versions = [];
  let after_version = 0;
  for (let streams = 1; ; streams++) {
    const stream = client.WatchSession({ session_id, after_version }, authorized());
    // Cancelling ends it with an error of its own, which is no news.
    stream.on("error", (error) => assert.equal(error.code, grpc.status.CANCELLED));
    let messages = 0;
    for await (const { events, version } of stream.iterator({ destroyOnReturn: false })) {
      versions.push(...events.map((event) => event.version));
      after_version = version;
      if (events.some((event) => event.ended)) {
        stream.cancel();
        return { versions, streams };
      }
      if (++messages === 5) break;
    }
    stream.cancel();
  }
}

test("commands and replies share one stream", async () => {
  const stream = client.Play(authorized());
  const replies = new Map();
  const ended = new Promise((done, failed) => stream.on("end", done).on("error", failed));
  stream.on("data", (reply) => replies.set(reply.command_id, reply));
  const session_id = "node-piped";
  // Not one of them waits for the reply to another.
  stream.write({ command_id: "make", create_session: { game: "gore", session_id } });
  stream.write({ command_id: "south", apply_move: { session_id, move: { text: "0" } } });
  stream.write({ command_id: "wrong", apply_move: { session_id, move: { text: "1" } } });
  stream.write({ command_id: "north", apply_move: { session_id, move: { text: "4" } } });
  stream.end();
  await ended;
  assert.equal(replies.get("make").create_session.session.session_id, session_id);
  assert.equal(replies.get("south").apply_move.version, 2);
  assert.equal(replies.get("wrong").reply, "failure");
  assert.equal(replies.get("north").apply_move.position, "gore 1,8,8,8/0,8,8,7 0-0 S sow");
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
