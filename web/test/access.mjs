// axe-core on a page, as it is now.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails with every violation, of the rules of WCAG 2.2 A and AA and of good practice. */
export async function accessible(page, where) {
  // The policy forbids a script that the page did not bring; this one comes by the browser's own door.
  await page.evaluate(`if (!window.axe) { ${axe} }`);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"], preload: false }));
  const told = violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  assert.deepEqual(told, []);
}

/** The same in both themes. */
export async function accessibleInBothThemes(page) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((chosen) => (document.documentElement.dataset.theme = chosen), theme);
    await accessible(page, theme);
  }
}
