// What the tests share: the site that make-site wrote, and a Chromium in which nothing may go wrong.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const work = process.env.PLUMB_WEB_WORK ?? fail("run `bash web/test/run`");
export const site = join(work, "site");

function fail(why) {
  throw new Error(why);
}

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });
});
after(() => browser?.close());

/** The URL of a file of the site. */
export function onDisk(name, folder = site) {
  return pathToFileURL(join(folder, name)).href;
}

/** The site's pages; of one kind, where it is given: what their names begin with. */
export function pages(kind = "") {
  const all = readdirSync(site).filter((name) => name.endsWith(".html") && name.startsWith(kind));
  assert.ok(all.length > 0, `the site has no page ${kind}*.html`);
  return all.sort();
}

/** The word that a page says of itself. */
export function kindOf(name) {
  return /data-kind="(\w+)"/.exec(readFileSync(new URL(onDisk(name)), "utf8"))?.[1];
}

/** The page of the newest run. */
export function runPage() {
  return pages("run-").filter((name) => /^run-[0-9a-f-]{36}\.html$/.test(name)).at(-1) ?? fail("no page of a run");
}

/** Opens a page, does something with it, and sees to it that nothing went wrong meanwhile. */
export async function visit(url, options, act) {
  const { width = 1440, height = 900, ...rest } = options;
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", ...rest });
  context.setDefaultTimeout(20_000);
  const wrong = [];
  const home = new URL(url).host;
  context.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (["data:", "blob:"].includes(protocol)) return;
    if (host !== home) wrong.push(`a request to another host: ${request.url()}`);
  });
  context.on("requestfailed", (request) => {
    // A stream of events ends with its page.
    if (!/ERR_ABORTED/.test(request.failure()?.errorText ?? "")) wrong.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) wrong.push(`${response.status()}: ${response.url()}`);
  });
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => wrong.push(`error: ${error.error().stack}`));
  const page = await context.newPage();
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  try {
    await page.goto(url);
    const result = await act(page, wrong);
    assert.deepEqual(wrong, [], url);
    return result;
  } finally {
    await context.close();
  }
}

/** Has every figure drawn, as before printing; gives how many there are. */
export async function drawAll(page) {
  const figures = page.locator("figure.chart");
  if ((await figures.count()) === 0) return 0;
  // Their data come when the first one is near.
  await figures.first().scrollIntoViewIfNeeded();
  await figures.first().locator("svg.marks").first().waitFor({ state: "attached" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.waitForFunction(() => [...document.querySelectorAll("figure.chart")].every((it) => it.querySelector("svg.marks")));
  await page.evaluate(() => scrollTo(0, 0));
  return figures.count();
}

/** What a download gave. */
export async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return { name: download.suggestedFilename(), bytes: Buffer.concat(chunks) };
}
