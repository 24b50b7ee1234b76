// The committed bundle: made of the committed sources, small enough, and of nothing outside itself.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { work } from "./harness.mjs";

const web = new URL("..", import.meta.url).pathname;
const dist = join(web, "dist");

test("the bundle is what its sources give, byte for byte", () => {
  const fresh = mkdtempSync(join(work, "fresh-"));
  execFileSync("node_modules/.bin/vite", ["build", "--outDir", fresh], { cwd: web, stdio: "pipe" });
  assert.deepEqual(readdirSync(dist).sort(), readdirSync(fresh).sort());
  for (const file of readdirSync(fresh)) {
    const same = readFileSync(join(fresh, file)).equals(readFileSync(join(dist, file)));
    assert.ok(same, `web/dist/${file} is not what web/src gives: run \`npm run build\` in web/ and commit web/dist`);
  }
});

test("the licences of what is bundled stand at the head of the script", () => {
  const script = readFileSync(join(dist, "plumb.js"), "utf8");
  const head = script.slice(0, script.indexOf("*/"));
  assert.match(head, /^\/\*!\nplumb: MIT OR Apache-2\.0/);
  const { packages } = JSON.parse(readFileSync(join(web, "package-lock.json"), "utf8"));
  for (const name of ["@observablehq/plot", "d3-array", "d3-scale", "d3-shape", "d3-geo"]) {
    const { version } = packages[`node_modules/${name}`];
    assert.ok(head.includes(`${name} ${version}`), `${name} ${version} is not named`);
  }
  for (const words of ["Copyright 2020-2025 Observable, Inc.", "Mike Bostock", "Permission to use, copy, modify"]) {
    assert.ok(head.includes(words), words);
  }
});

test("the bundle is under 160 kB compressed", () => {
  const bytes = readdirSync(dist).map((file) => gzipSync(readFileSync(join(dist, file))).length);
  const sum = bytes.reduce((a, b) => a + b, 0);
  console.log(`bundle: ${sum} bytes gzip`);
  assert.ok(sum < 160_000, `${sum} bytes`);
});

test("no source makes markup of text", () => {
  for (const file of readdirSync(join(web, "src")).filter((name) => name.endsWith(".ts"))) {
    assert.doesNotMatch(readFileSync(join(web, "src", file), "utf8"), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.html\(/, file);
  }
});

test("the bundle holds no path of the machine that built it, and fetches nothing", () => {
  const script = readFileSync(join(dist, "plumb.js"), "utf8");
  const found = script.match(/sourceMappingURL|\/home\/|\/root\/|\/tmp\/|node_modules|\bfetch\(|XMLHttpRequest|\beval\(|new Function\(/);
  assert.equal(found, null, found?.[0]);
});
