// A run under way, told by a server that stops and goes on as no real one does when it is wanted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { HOSTILE, writeGallery } from "./gallery.mjs";
import { visit } from "./harness.mjs";

const example = JSON.parse(readFileSync(new URL("../../docs/schemas/plumb.live-1.example.json", import.meta.url), "utf8"));
const folder = writeGallery("live");
const cells = ["figure", "precision", "invocations", "state", "flags"].map((key) => `<td data-cell="${key}"></td>`).join("");
const rows = example.points.map(({ index, name }) => `<tr data-point="${index}"><th scope="row">${name}</th>${cells}</tr>`).join("");
const page = readFileSync(join(folder, "gallery.html"), "utf8").replace(
  /<main[\s\S]*<\/main>/,
  `<main id="main" data-live="events?run=${example.run}"><h1>A run under way</h1>
  <section class="answer"><p id="live-says"></p><p>As a scorecard: <a href="run-1.html">here</a></p></section>
  <div id="live-points"><div class="scroll" tabindex="0"><table class="data"><thead><tr>${["Point", "a", "b", "c", "d", "e"].map((name) => `<th scope="col">${name}</th>`).join("")}</tr></thead><tbody>${rows}</tbody></table></div></div>
  <div id="live-charts"></div><ul id="live-log"></ul></main>`,
);

let stream = null;
let asked = 0;
const server = createServer((request, response) => {
  if (request.url.startsWith("/events")) {
    asked += 1;
    stream = response;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 200\n\n");
    return;
  }
  if (request.url === "/live.html") response.writeHead(200, { "content-type": "text/html" }).end(page);
  else if (request.url === "/favicon.ico") response.writeHead(204).end();
  else response.end(readFileSync(join(folder, request.url.slice(1)), { encoding: null }));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
after(() => {
  server.closeAllConnections?.();
  server.close();
});
const tell = (message) => stream.write(`data: ${JSON.stringify({ ...example, ...message })}\n\n`);
const until = async (holds) => {
  for (let tries = 0; !holds() && tries < 100; tries += 1) await new Promise((done) => setTimeout(done, 50));
  assert.ok(holds());
};

test("a run under way: points, charts, a lost connection, the end", () =>
  visit(`http://127.0.0.1:${server.address().port}/live.html`, {}, async (page, wrong) => {
    await until(() => stream);
    tell({ whole: true });
    await page.locator("#live-charts svg.marks").first().waitFor();
    assert.equal(await page.locator("#live-says").innerText(), example.says.replace(/ +/g, " "));
    const cell = (index, key) => page.locator(`tr[data-point="${index}"] [data-cell="${key}"]`);
    assert.equal(await cell(0, "figure").innerText(), "100 [98, 102] ops/s");
    assert.equal(await cell(0, "invocations").innerText(), "4 (1 excluded)");
    assert.equal(await cell(0, "flags").innerText(), "cached");
    assert.equal(await page.locator("tr.current").getAttribute("data-point"), "1");

    const point = { ...example.points[1], figure: "90 [80, 100] ops/s", precision: HOSTILE, share: 0.4, invocations: 3 };
    tell({ whole: false, number: 4, points: [point], charts: [], log: [{ at: 4, text: HOSTILE }] });
    await page.waitForFunction(() => document.querySelector("#live-log")?.textContent.includes("<img"));
    assert.equal(await cell(1, "figure").innerText(), "90 [80, 100] ops/s");
    assert.equal(await cell(1, "precision").innerText(), HOSTILE);
    assert.ok(Math.abs((await cell(1, "precision").locator(".share span").evaluate((it) => it.offsetWidth / it.parentElement.clientWidth)) - 0.4) < 0.05);
    assert.equal(await page.locator("#live-charts figure").count(), example.charts.length, "no chart comes twice");

    const before = asked;
    stream.destroy();
    await page.getByText(/Connection lost; last update at/).waitFor();
    await until(() => asked > before);
    tell({ whole: true });
    await page.getByText(/Connection lost/).waitFor({ state: "hidden" });
    tell({ whole: false, status: "complete", says: "complete after 9 s", current: null, points: [], charts: [], log: [] });
    await page.getByRole("link", { name: "See its scorecard" }).waitFor();
    assert.equal(await page.locator("tr.current").count(), 0);
    assert.equal(await page.locator("img").count(), 0);
    // The browser itself tells of the connection that this test cut.
    assert.ok(wrong.splice(0).every((it) => /INCOMPLETE_CHUNKED|events/.test(it)), `${wrong}`);
  }));
