// The server under test: the built binary as a process of its own, on a free port, with its data in a folder that goes with it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";

const binary = process.env.MANCALA_BIN;
assert(binary, "MANCALA_BIN is not set: tests/run web sets it to the release binary");

const START_LINE = /mancala \S+ listening on (127\.0\.0\.1:\d+), data in /;

// This process's environment without what would configure the server.
function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MANCALA_")));
}

// Starts a server with these settings (by the names of environment variables).
export async function start(settings = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mancala-web-"));
  const options = { env: { ...environment(), ...settings }, stdio: ["ignore", "pipe", "pipe"] };
  const child = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--store", path.join(folder, "games.db")], options);
  const ended = once(child, "exit");
  const said = [];
  const address = await new Promise((found, failed) => {
    for (const output of [child.stdout, child.stderr]) {
      readline.createInterface({ input: output }).on("line", (line) => {
        said.push(line);
        const start = START_LINE.exec(line);
        if (start) found(start[1]);
      });
    }
    ended.then(() => failed(new Error(`the server ended:\n${said.join("\n")}`)));
  });
  return {
    address,
    // SIGTERM, and a clean end.
    async stop() {
      child.kill("SIGTERM");
      const [code] = await ended;
      fs.rmSync(folder, { recursive: true });
      assert.equal(code, 0, `exit code ${code} after SIGTERM:\n${said.join("\n")}`);
    },
  };
}

// An operator's key, and the settings of a server that knows it.
export function newOperator(name) {
  const told = execFileSync(binary, ["key", name], { encoding: "utf8", env: environment() });
  const key = new RegExp(`^mop_${name}_\\S+$`, "m").exec(told)[0];
  const operators = /^MANCALA_AUTH__OPERATORS='(.*)'$/m.exec(told)[1];
  return { key, settings: { MANCALA_AUTH__MODE: "token", MANCALA_AUTH__OPERATORS: operators } };
}
