// Screenshots of a report's pages and of a scorecard for the documents: `node screenshots.mjs SITE SCORECARD FOLDER`.
// SCORECARD is a file with what `plumb show` prints in colour.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [site, scorecard, folder] = process.argv.slice(2);
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

/** Text with the colours of a dark terminal as markup. */
function terminalMarkup(text) {
  // Those that plumb's styles use, as xterm shows them on black.
  const colours = { 31: "#f66", 32: "#5d5", 33: "#dd5", 34: "#69f", 35: "#e7e", 36: "#5dd", 90: "#999", 91: "#f88", 92: "#7f7", 93: "#ff7", 94: "#8af", 95: "#f9f", 96: "#7ff" };
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  let styles = [];
  const escapeSign = String.fromCharCode(27);
  return escaped.replace(new RegExp(`${escapeSign}\\[([0-9;]*)m`, "g"), (_, codes) => {
    const close = styles.length > 0 ? "</span>" : "";
    for (const code of codes.split(";")) {
      // Code 0 ends all styles that came before it.
      if (code === "0" || code === "") styles = [];
      else if (code === "1") styles.push("font-weight:bold");
      else if (code === "2") styles.push("opacity:0.65");
      else if (colours[code]) styles.push(`color:${colours[code]}`);
    }
    return styles.length > 0 ? `${close}<span style="${styles.join(";")}">` : close;
  });
}

/** A scorecard in a terminal. */
async function shootScorecard(name) {
  const tab = await browser.newPage({ viewport: { width: 900, height: 200 } });
  const text = terminalMarkup(readFileSync(scorecard, "utf8").trimEnd());
  await tab.setContent(`<body style="margin:0;background:#111;color:#ddd"><pre style="display:inline-block;margin:0;padding:14px 18px;font:13px/1.35 'DejaVu Sans Mono',monospace">${text}</pre></body>`);
  await tab.locator("pre").screenshot({ path: join(folder, `${name}.png`) });
  await tab.close();
}

await shootScorecard("scorecard");
await shoot("report", "index.html", { height: 860 });
await shoot("report-dark", "index.html", { height: 860, colorScheme: "dark" });
await shoot("report-workload", first(/^run-[0-9a-f-]{36}-memory\.copy\.html$/), { from: ".charts", colorScheme: "dark", height: 900 });
await shoot("report-compare", first(/^compare-/), { from: ".charts", width: 1100, height: 860 });
await browser.close();
