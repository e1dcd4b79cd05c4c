// A real browser calls the server by gRPC-Web, from a page of another origin, with the libraries that web developers use.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";

import { newOperator, start } from "./server.mjs";
import { bundle, need, prepare } from "./tools.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const operator = newOperator("web");

let pages, browser, page, foreign, open, closed;

before(async () => {
  pages = await serve(bundle(prepare("browser")));
  const port = pages.address().port;
  // The same pages under two names are two origins, of which the servers know one.
  const [origin, elsewhere] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  const web = { MANCALA_WEB__ENABLED: "true", MANCALA_WEB__ALLOW_ORIGINS: `["${origin}"]` };
  [open, closed] = await Promise.all([start(web), start({ ...web, ...operator.settings })]);
  browser = await need("puppeteer-core").launch({
    executablePath: CHROMIUM,
    // Its own sandbox is not for root, as whom the test command runs in containers.
    args: process.getuid() === 0 ? ["--no-sandbox"] : [],
  });
  [page, foreign] = await Promise.all([opened(origin), opened(elsewhere)]);
});

after(async () => {
  await browser?.close();
  pages?.close();
  await Promise.all([open?.stop(), closed?.stop()]);
});

// Serves a page that does nothing but load this program.
async function serve(program) {
  const server = http.createServer((request, response) => {
    const isProgram = request.url === "/page.js";
    response.setHeader("content-type", isProgram ? "text/javascript" : "text/html");
    response.end(isProgram ? program : '<!doctype html><title>mancala</title><script src="/page.js"></script>');
  });
  await new Promise((listening) => server.listen(0, listening));
  return server;
}

async function opened(origin) {
  const tab = await browser.newPage();
  await tab.goto(`${origin}/`);
  await tab.waitForFunction(() => globalThis.mancala !== undefined);
  return tab;
}

const url = (server) => `http://${server.address}`;

// Calls a function of the page's program.
const call = (tab, name, ...args) => tab.evaluate((name, args) => globalThis.mancala[name](...args), name, args);

test("a page plays a whole game", async () => {
  assert.deepEqual(await call(page, "create", url(open), { game: "ayoayo", sessionId: "from-a-page" }), { code: "OK" });
  const { version, position } = await call(page, "play", url(open), "from-a-page");
  assert(version > 10, `a game of ${version} events`);
  assert.match(position, /^ayoayo .* over/);
});

test("a refused move tells its reason and facts", async () => {
  assert.deepEqual(await call(page, "create", url(open), { game: "gore", sessionId: "refused-move" }), { code: "OK" });
  const refused = await call(page, "move", url(open), "refused-move", "5");
  assert.equal(refused.code, "FailedPrecondition");
  assert.equal(refused.reason, "PIT_NOT_YOURS");
  assert.deepEqual(refused.metadata, { owner: "North", pit: "5", seat: "South" });
});

test("a malformed request names all its faulty fields", async () => {
  const refused = await call(page, "create", url(open), { game: "chess", sessionId: "!" });
  assert.equal(refused.code, "InvalidArgument");
  assert.deepEqual(refused.fields.sort(), ["game", "session_id"]);
});

test("a stream comes through message by message", async () => {
  assert.equal(await call(page, "watchedHealth", url(open)), "SERVING");
});

test("a page that watches a game, hangs up and resumes gets every event once", async () => {
  assert.deepEqual(await call(page, "create", url(open), { game: "ayoayo", sessionId: "watched-page" }), { code: "OK" });
  const watched = call(page, "watchToEnd", url(open), "watched-page");
  const played = await call(page, "play", url(open), "watched-page");
  const { versions, streams } = await watched;
  assert(streams > 1, "it hung up");
  assert.deepEqual(versions, Array.from({ length: played.version }, (_, index) => index + 1));
});

test("a token is sent and judged", async () => {
  const request = { game: "gore", sessionId: "with-a-token" };
  assert.equal((await call(page, "create", url(closed), request)).reason, "TOKEN_MISSING");
  assert.equal((await call(page, "create", url(closed), request, newOperator("web").key)).reason, "TOKEN_INVALID");
  assert.equal((await call(page, "create", url(closed), request, operator.key)).code, "OK");
});

test("a page of another origin gets nothing", async () => {
  const complaints = [];
  foreign.on("console", (message) => complaints.push(message.text()));
  const request = { game: "gore", sessionId: "from-elsewhere" };
  const refused = await call(foreign, "create", url(open), request);
  assert.notEqual(refused.code, "OK");
  assert.equal(refused.reason, undefined, "not even why");
  assert(complaints.some((text) => text.includes("CORS policy")), `the browser said: ${complaints.join("\n")}`);
  // The browser asked before it sent anything: the session was not made.
  assert.equal((await call(page, "create", url(open), request)).code, "OK");
});
