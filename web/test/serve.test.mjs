// The same pages from `plumb serve`, and a run while it goes on, by the real binary.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { downloaded, drawAll, kindOf, pages, runPage, visit, work } from "./harness.mjs";

const started = [];
after(() => {
  for (const child of started) child.kill("SIGINT");
});

/** Starts plumb on the tests' store and gives the address that it prints. */
async function address(...words) {
  const child = spawn(process.env.PLUMB, words, {
    cwd: work,
    env: { ...process.env, PLUMB_STORE: join(work, "plumb.db"), XDG_DATA_HOME: join(work, "data"), XDG_CACHE_HOME: join(work, "cache") },
  });
  started.push(child);
  let said = "";
  const found = new Promise((done, failed) => {
    const listen = (chunk) => {
      said += chunk;
      const url = /http:\/\/\S+/.exec(said)?.[0];
      if (url && /\s/.test(said.slice(said.indexOf(url) + url.length))) done(url);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("exit", (code) => failed(new Error(`plumb ${words.join(" ")} ended with ${code}: ${said}`)));
  });
  return found;
}

const home = await address("serve", "--listen", "0");
const served = (name) => new URL(name, home).href;

describe("every kind of page", { concurrency: 2 }, () => {
  for (const kind of ["index", "run", "workload", "monitors", "compare", "history", "machine", "method"]) {
    const name = pages().filter((page) => kindOf(page) === kind).at(-1);
    test(`${kind}: served as it is on disk`, () =>
      visit(served(name), {}, async (page) => {
        await drawAll(page);
        assert.equal(await page.locator("html").getAttribute("data-kind"), kind);
        assert.equal(await page.locator("h1").count(), 1);
      }));
  }
});

test("served: sorting, search, exports", () =>
  visit(served(runPage()), {}, async (page) => {
    await page.getByRole("button", { name: "Sort by Median" }).first().click();
    assert.match(page.url(), /#sort=/);
    await drawAll(page);
    const svg = await downloaded(page, () => page.getByRole("button", { name: /Save as SVG/ }).first().click());
    assert.match(svg.bytes.toString(), /^<svg /);
    const png = await downloaded(page, () => page.getByRole("button", { name: /Save as PNG/ }).first().click());
    assert.ok(png.bytes.length > 5_000);
    await page.keyboard.press("/");
    await page.keyboard.type("verdict");
    await page.locator("#found a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/method\.html#/);
  }));

test("a run while it goes on: its page fills, and says when it is over", async () => {
  const live = await address("run", "cpu.sieve", "scheduler.pipe", "--live", "--no-lock", "--precision", "1%", "--budget", "8s");
  await visit(live, {}, async (page) => {
    page.setDefaultTimeout(30_000);
    await page.locator("#live-points [data-cell=figure]:not(:empty)").first().waitFor();
    await page.locator("#live-charts svg.marks").first().waitFor();
    await page.locator(".ended").waitFor();
    assert.match(await page.locator(".ended").innerText(), /complete/);
  });
});
