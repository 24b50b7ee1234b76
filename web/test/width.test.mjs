// In a window of 1,300 pixels no table needs a scroll bar, on any kind of page, and neither does the page.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kindOf, onDisk, pages, visit } from "./harness.mjs";

const WIDTH = 1300;
/** Pages of one kind differ in their points and labels: so many of each, evenly spread. */
const MOST_OF_A_KIND = 8;

const byKind = new Map();
for (const name of pages()) {
  const kind = kindOf(name);
  byKind.set(kind, [...(byKind.get(kind) ?? []), name]);
}

describe(`tables in ${WIDTH} pixels`, { concurrency: 2 }, () => {
  for (const [kind, names] of byKind) {
    const step = Math.ceil(names.length / MOST_OF_A_KIND);
    test(`pages of the kind ${kind}`, async () => {
      for (const name of names.filter((_, index) => index % step === 0)) {
        const found = await visit(onDisk(name), { width: WIDTH, height: 900 }, tooWide);
        assert.deepEqual(found, [], name);
      }
    });
  }
});

test("the kinds with tables are among them", () => {
  for (const kind of ["index", "run", "workload", "monitors", "compare", "history", "machine"]) {
    assert.ok(byKind.has(kind), kind);
  }
});

/** What is wider than the box that it stands in, folded parts included. */
function tooWide(page) {
  return page.evaluate(() => {
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
}
