// Every page that the real binary wrote, from disk: nothing goes wrong, everybody can read it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { accessibleInBothThemes } from "./access.mjs";
import { darkness } from "./looks.mjs";
import { drawAll, kindOf, onDisk, pages, runPage, visit } from "./harness.mjs";

const everyKind = ["index", "run", "workload", "monitors", "compare", "history", "machine", "method"];

/** Pages of one kind differ in their points, labels and numbers: no more than this many of each kind, evenly spread. */
const MOST_OF_A_KIND = 5;
/** The width at which no table may need a scroll bar. */
const DESKTOP = 1300;

const byKind = everyKind.map((kind) => pages().filter((name) => kindOf(name) === kind));
/** The first and the last page of each kind: these are looked at most closely. */
const thorough = new Set(byKind.flatMap((names) => [names.at(0), names.at(-1)]).filter(Boolean));
const others = byKind.flatMap(evenlySpread).filter((name) => !thorough.has(name));

// Two pages at a time: while one is drawn, the other waits for its answers.
describe("pages of every kind, from disk", { concurrency: 2 }, () => {
  for (const name of thorough) {
    test(`${name}: drawn, accessible in both themes, at every width`, () =>
      visit(onDisk(name), {}, async (page) => {
        await drawAll(page);
        assert.equal(await page.locator("h1").count(), 1);
        for (const [index, { width, height, marks }] of (await drawings(page)).entries()) {
          assert.ok(width > 300 && height > 60 && height < 4000, `chart ${index}: ${width} × ${height}`);
          assert.ok(marks > 2, `chart ${index}: ${marks} marks`);
        }
        await notBlank(page);
        await harmless(page);
        await accessibleInBothThemes(page);
        for (const width of [360, 820]) {
          await page.setViewportSize({ width, height: 740 });
          await page.waitForTimeout(60);
          assert.ok(await narrow(page), `wider than a window of ${width}`);
        }
        await tablesFit(page);
      }));
  }
  for (const name of others) {
    test(`${name}: opens without a complaint, on a phone and a desktop`, () =>
      visit(onDisk(name), { width: 360, height: 740 }, async (page) => {
        await drawAll(page);
        assert.ok(await narrow(page), name);
        await harmless(page);
        await tablesFit(page);
      }));
  }
});

test("there is a page of every kind", () => {
  assert.deepEqual(everyKind.filter((_, index) => byKind[index].length === 0), []);
});

test("some pages hold hostile labels and commands", () => {
  const hostile = pages().filter((name) => readFileSync(new URL(onDisk(name)), "utf8").includes("&lt;img src=x"));
  assert.ok(hostile.length >= 2, `${hostile}`);
});

/** Each figure's size, and how many marks it has. */
function drawings(page) {
  return page.locator("figure.chart").evaluateAll((figures) =>
    figures.map((figure) => {
      const { width, height } = figure.querySelector(".stage").getBoundingClientRect();
      return { width, height, marks: figure.querySelectorAll("svg.marks :is(path, rect, line, circle)").length };
    }),
  );
}

/** Hostile texts are texts. */
async function harmless(page) {
  assert.equal(await page.locator("img, [onerror], svg[onload], main script").count(), 0);
  assert.doesNotMatch(await page.title(), /^\d$/);
}

function narrow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
}

function evenlySpread(names) {
  const step = Math.ceil(names.length / MOST_OF_A_KIND);
  return names.filter((_, index) => index % step === 0);
}

/** On a desktop no table needs a scroll bar, folded ones included, and neither does the page. */
async function tablesFit(page) {
  await page.setViewportSize({ width: DESKTOP, height: 900 });
  await page.waitForTimeout(60);
  const tooWide = await page.evaluate(() => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    const found = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(`the page: ${root.scrollWidth} of ${root.clientWidth}`);
    for (const table of document.querySelectorAll("table")) {
      const box = table.closest(".scroll") ?? table.parentElement;
      // A border may take the fraction of a pixel.
      if (Math.max(box.scrollWidth, table.scrollWidth) > box.clientWidth + 1) {
        const titles = [...table.querySelectorAll("thead th")].map((title) => `${title.innerText.trim()} ${title.offsetWidth}`);
        found.push(`a table: ${table.scrollWidth} of ${box.clientWidth} (${titles.join(", ")})`);
      }
    }
    return found;
  });
  assert.deepEqual(tooWide, []);
}

async function notBlank(page) {
  const look = await darkness(page, await page.screenshot());
  const inked = look.filter((dark) => dark > 8).length / look.length;
  assert.ok(inked > 0.05 && inked < 0.98, `${inked} of the page is inked`);
}

test("without JavaScript the tables are there, and nothing that needs it", () =>
  visit(onDisk(runPage()), { javaScriptEnabled: false }, async (page) => {
    assert.ok((await page.locator("main table tbody tr").count()) > 3);
    assert.ok(await page.locator("header .tools").isHidden());
    assert.ok(await page.locator("figure.chart").first().isHidden(), "no empty room for a drawing");
  }));

test("below a chart is a table of its numbers", () =>
  visit(onDisk(runPage()), {}, async (page) => {
    await drawAll(page);
    const table = page.locator("figure.chart details.data").first();
    assert.equal(await table.locator("table").count(), 0, "made when it is opened");
    await table.locator("summary").click();
    await table.locator("tbody tr").first().waitFor();
    assert.match((await table.locator("table").last().innerText()) ?? "", /\d/);
  }));

test("on paper: no controls, black on white, drawings kept", () =>
  visit(onDisk(runPage()), { colorScheme: "dark" }, async (page) => {
    await drawAll(page);
    await page.emulateMedia({ media: "print" });
    for (const control of [".tools", ".chart-tools", "nav"]) assert.ok(await page.locator(control).first().isHidden(), control);
    assert.ok(await page.locator("svg.marks").first().isVisible());
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
  }));

test("every link leads to a page that is there, and to a place in it", async () => {
  const ids = new Map(pages().map((name) => [name, new Set([...readFileSync(new URL(onDisk(name)), "utf8").matchAll(/ id="([^"]*)"/g)].map((it) => it[1]))]));
  const dead = new Set();
  for (const name of pages()) {
    for (const [, link] of readFileSync(new URL(onDisk(name)), "utf8").matchAll(/<a [^>]*href="([^"]*)"/g)) {
      const [to, place] = link.split("#");
      if (!ids.has(to || name)) dead.add(`${name}: ${link}`);
      else if (place && !ids.get(to || name).has(decodeURIComponent(place))) dead.add(`${name}: ${link}`);
    }
  }
  assert.deepEqual([...dead], []);
});

test("search finds workloads first, runs and words, and every page it names is there", () =>
  visit(onDisk("index.html"), {}, async (page) => {
    const all = new Set(pages());
    await page.keyboard.press("/");
    for (const word of ["memory.copy", "verdict"]) {
      await page.getByRole("combobox").fill(word);
      await page.locator("#found a").first().waitFor();
      if (word === "memory.copy") assert.match(await page.locator("#found a").first().innerText(), /memory\.copy\s+workload/);
      for (const to of await page.locator("#found a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))) {
        assert.ok(all.has(to.split("#")[0]), to);
      }
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(/method\.html/);
  }));
