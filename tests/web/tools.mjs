// A folder under target/ for each test in which the protos, the code generated from them and the npm packages of the test command
// come together, as they would in a web developer's project.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const tools = path.join(root, "target/tools");
const packages = path.join(tools, "npm/node_modules");

assert(fs.existsSync(path.join(packages, "puppeteer-core")), "npm packages are missing: tests/run tools brings them");

// Requires an npm package that tests/tools/package.json names.
export const need = createRequire(path.join(tools, "npm/package.json"));

// A new folder, and its folder with the protos of the project and those that every gRPC server may speak beside them.
export function prepare(name) {
  const folder = path.join(root, "target/web", name);
  const protos = path.join(folder, "protos");
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(path.join(root, "proto/mancala"), path.join(protos, "mancala"), { recursive: true });
  fs.cpSync(path.join(here, "health.proto"), path.join(protos, "grpc/health/v1/health.proto"));
  for (const file of ["error_details.proto", "status.proto"]) {
    fs.cpSync(googleProto(file), path.join(protos, "google/rpc", file));
  }
  return { folder, protos };
}

// From the Python package of them, which the client tests use as well.
function googleProto(file) {
  const libraries = path.join(tools, "venv/lib");
  const places = fs.readdirSync(libraries).map((python) => path.join(libraries, python, "site-packages/google/rpc", file));
  const found = places.find((place) => fs.existsSync(place));
  assert(found, `${file} is missing: tests/run tools brings it`);
  return found;
}

// A program for browsers, in one text: the page's, the code that buf generates from the protos, and the libraries that both use.
export function bundle({ folder, protos }) {
  const env = { ...process.env, PATH: `${path.join(packages, ".bin")}${path.delimiter}${process.env.PATH}` };
  const template = path.join(here, "buf.gen.yaml");
  execFileSync("buf", ["generate", protos, "--template", template, "--output", folder], { env, stdio: "inherit" });
  const built = need("esbuild").buildSync({
    entryPoints: [path.join(here, "page.js")],
    bundle: true,
    write: false,
    format: "iife",
    nodePaths: [packages],
    alias: { "@gen": path.join(folder, "gen") },
  });
  return built.outputFiles[0].text;
}
