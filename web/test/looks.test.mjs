// The charts look as they did when somebody last looked at them: `UPDATE_LOOKS=1 web/test/run looks`.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { charts, writeGallery } from "./gallery.mjs";
import { drawAll, onDisk, visit } from "./harness.mjs";
import { alike, darkness } from "./looks.mjs";

const gallery = onDisk("gallery.html", writeGallery("looks"));
const committed = new URL("looks.json", import.meta.url);
/** Other fonts and another Chromium give 0.97 and more; a chart without one of its groups 0.8 and less. */
const ENOUGH = 0.9;

test("every chart looks as it did", () =>
  visit(gallery, { width: 900 }, async (page) => {
    await drawAll(page);
    const now = {};
    for (const { id } of charts) now[id] = await darkness(page, await page.locator(`#chart-${id} .stage`).screenshot());
    if (process.env.UPDATE_LOOKS) writeFileSync(committed, `${JSON.stringify(now).replaceAll('],"', '],\n"')}\n`);
    const before = JSON.parse(readFileSync(committed, "utf8"));
    assert.deepEqual(Object.keys(now), Object.keys(before));
    for (const [id, look] of Object.entries(now)) {
      const same = alike(look, before[id]);
      assert.ok(same > ENOUGH, `${id} correlates by ${same.toFixed(3)} with what was committed: look at it, then UPDATE_LOOKS=1`);
    }
  }));

test("a chart without its marks does not pass for one with them", () =>
  visit(gallery, { width: 900 }, async (page) => {
    await drawAll(page);
    const before = JSON.parse(readFileSync(committed, "utf8"));
    for (const id of ["boxes", "curve", "bars", "cells"]) {
      await page.locator(`#chart-${id} svg.marks`).evaluate((svg) => {
        const marks = ["rect", "area", "line", "dot", "link"].map((part) => `[data-part='${part}']`);
        for (const mark of svg.querySelectorAll(marks.join())) mark.remove();
      });
      const same = alike(await darkness(page, await page.locator(`#chart-${id} .stage`).screenshot()), before[id]);
      assert.ok(same < ENOUGH, `${id} without marks still correlates by ${same.toFixed(3)}`);
    }
  }));
