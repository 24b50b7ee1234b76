// axe-core on a page, as it is now.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails with every violation of these rules; of all of WCAG 2.2 A and AA and of good practice when none is given. */
async function accessible(page, where, rules) {
  // The policy forbids a script that the page did not bring; this one comes by the browser's own door.
  await page.evaluate(`if (!window.axe) { ${axe} }`);
  const options = { resultTypes: ["violations"], preload: false, ...(rules ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate((given) => axe.run(document, given), options);
  const told = violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  assert.deepEqual(told, []);
}

/** The same in both themes, which differ in colours alone. */
export async function accessibleInBothThemes(page) {
  const theme = (chosen) => page.evaluate((it) => (document.documentElement.dataset.theme = it), chosen);
  await theme("light");
  await accessible(page, "light");
  await theme("dark");
  await accessible(page, "dark", ["color-contrast"]);
}
