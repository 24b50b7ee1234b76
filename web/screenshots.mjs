// Screenshots of a report's pages for the README: `node screenshots.mjs SITE FOLDER`.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [site, folder] = process.argv.slice(2);
const pages = readdirSync(site);
const first = (pattern) => pages.filter((name) => pattern.test(name)).sort().at(-1);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

/** A window of a page that begins at `from`. */
async function shoot(name, page, { from = "body", width = 1280, height = 800, colorScheme = "light" } = {}) {
  if (!page) throw new Error(`the report has no page for ${name}`);
  const tab = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  await tab.goto(pathToFileURL(join(site, page)).href);
  for (const figure of await tab.locator("figure.chart").all()) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("svg.marks").first().waitFor();
  }
  await tab.locator(from).first().evaluate((it) => scrollTo(0, it.getBoundingClientRect().top + scrollY - 12));
  await tab.screenshot({ path: join(folder, `${name}.png`) });
  await tab.close();
}

await shoot("report", "index.html", { height: 860 });
await shoot("report-workload", first(/^run-[0-9a-f-]{36}-memory\.copy\.html$/), { from: ".charts", colorScheme: "dark", height: 900 });
await shoot("report-compare", first(/^compare-/), { from: ".charts", width: 1100, height: 860 });
await browser.close();
