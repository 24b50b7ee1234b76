// A page with every mark, of numbers that never change: what is tested on it does not depend on what this
// machine measured. Its markup is that of the real pages.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { work } from "./harness.mjs";

const dist = new URL("../dist/", import.meta.url);
export const HOSTILE = `<img src=x onerror="document.title='!'">`;
export const DENSE = 100_000;

/** The same numbers every time, between 0 and 1. */
export function randoms(seed) {
  let state = seed;
  return () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
}

const axis = (given) => ({ label: "", unit: "", per: 1, scale: "linear", categories: [], low: 0, high: 1, ...given });
const bandwidth = (low, high) => axis({ label: "bandwidth", unit: "GB/s", per: 1e9, low, high });
const names = (...categories) => axis({ scale: "band", categories, low: 0, high: categories.length - 1 });
const count = (length, value) => Array.from({ length }, (_, index) => value(index));

function chart(id, given) {
  return { schema: "plumb.chart/1", id, title: id, says: `What ${id} shows.`, colour: null, groups: [], notes: [], instead_of: null, ...given };
}

const random = randoms(1);

export const charts = [
  chart("boxes", {
    x: bandwidth(1.2e10, 1.5e10),
    y: names("copy libc", "copy nt", HOSTILE),
    groups: [{ name: "steady samples", tone: "steady" }, { name: HOSTILE, tone: "excluded" }],
    layers: [
      { group: null, mark: "boxes", along: "x", at: [0, 1, 2], low: [1.25e10, 1.3e10, 1.32e10], q1: [1.3e10, 1.35e10, 1.36e10], median: [1.34e10, 1.38e10, 1.37e10], q3: [1.38e10, 1.4e10, 1.4e10], high: [1.44e10, 1.46e10, 1.43e10] },
      { group: 0, mark: "dots", x: count(60, () => 1.25e10 + random() * 2e9), y: count(60, (index) => (index % 3) + random() * 0.4 - 0.2), tips: count(60, (index) => `sample ${index}`) },
      { group: 1, mark: "dots", x: [1.22e10, 1.47e10], y: [0, 1], tips: [HOSTILE, ""] },
    ],
  }),
  chart("intervals", {
    x: axis({ label: "× the cost", scale: "log", low: 0.9, high: 1.12 }),
    y: names("a", "b", "c"),
    groups: [{ name: "margin", tone: "equivalent" }, { name: "slower", tone: "slower" }, { name: "inconclusive", tone: "inconclusive" }],
    layers: [
      { group: 0, mark: "spans", along: "x", from: [0.99], to: [1.01], share: [1], tips: ["margin 1 %"] },
      { group: null, mark: "rules", along: "x", at: [1], tips: ["no change"] },
      { group: 1, mark: "intervals", along: "x", at: [0], low: [1.03], estimate: [1.05], high: [1.08], tips: ["1.05× [1.03, 1.08]"] },
      { group: 2, mark: "intervals", along: "x", at: [1, 2], low: [0.97, null], estimate: [1, 0.97], high: [1.05, null], tips: ["1.00× [0.97, 1.05]", "0.97×, no interval"] },
    ],
  }),
  chart("curve", {
    x: axis({ label: "size", unit: "MiB", per: 1048576, scale: "log", low: 1024, high: 2 ** 28 }),
    y: bandwidth(0, 2e10),
    groups: ["libc", "nt", "rep"].map((name) => ({ name, tone: "plain" })),
    layers: [0, 1, 2].flatMap((group) => {
      const x = count(19, (index) => 1024 * 2 ** index);
      const y = x.map((_, index) => 1.8e10 - group * 2e9 - index * 5e8);
      return [
        { group, mark: "band", x, low: y.map((value) => value * 0.95), high: y.map((value) => value * 1.05) },
        { group, mark: "line", x, y, steps: false },
        { group, mark: "dots", x, y, tips: [] },
      ];
    }),
  }),
  chart("history", {
    x: axis({ label: "run", scale: "date", low: 1790000000, high: 1795000000 }),
    y: bandwidth(1e10, 1.5e10),
    groups: [{ name: "estimate", tone: "plain" }, { name: "change", tone: "slower" }],
    layers: [
      { group: 0, mark: "intervals", along: "y", at: count(30, (index) => 1790000000 + index * 160000), low: count(30, () => 1.28e10), estimate: count(30, () => 1.3e10 + random() * 1e9), high: count(30, () => 1.42e10), tips: count(30, () => "13 GB/s") },
      { group: 1, mark: "rules", along: "x", at: [1793000000], tips: ["kernel 6.12"] },
    ],
  }),
  chart("monitor", {
    x: axis({ label: "time", unit: "s", low: 0, high: 60 }),
    y: axis({ label: "cached data", unit: "MiB", per: 1048576, low: 0, high: 4e9 }),
    groups: [{ name: "Linux 6.1", tone: "plain" }, { name: "Linux 6.12", tone: "plain" }],
    layers: [0, 1].map((group) => ({ group, mark: "line", steps: group === 1, x: count(60, (index) => index), y: count(60, (index) => (index === 30 ? null : 1e9 * (group + 1) + index * 2e7 + random() * 1e8)) })),
  }),
  chart("bars", {
    x: axis({ label: "time", unit: "ms", per: 1e-3, low: 0, high: 0.012 }),
    y: names("aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"),
    groups: ["user", "system", "waiting"].map((name) => ({ name, tone: "plain" })),
    layers: [0, 1, 2].map((group) => ({ group, mark: "bars", along: "x", at: [0, 1], from: [group * 0.003, group * 0.0035], to: [(group + 1) * 0.003, (group + 1) * 0.0035] })),
  }),
  chart("cells", {
    x: axis({ label: "block", scale: "band", categories: ["4 KiB", "8 KiB", "16 KiB", "32 KiB"], low: 0, high: 3 }),
    y: axis({ label: "depth", scale: "band", categories: ["1", "2", "4"], low: 0, high: 2 }),
    colour: axis({ label: "bandwidth", unit: "GB/s", per: 1e9, scale: "log", low: 2e8, high: 2.6e10 }),
    layers: [{ group: null, mark: "cells", x: count(12, (index) => index % 4), y: count(12, (index) => Math.floor(index / 4)), value: count(12, (index) => 2e8 * 1.5 ** index) }],
  }),
  chart("dense", {
    x: axis({ label: "time", unit: "s", low: 0, high: 100 }),
    y: axis({ label: "iteration", unit: "µs", per: 1e-6, low: 0, high: 2e-5 }),
    groups: [{ name: "steady", tone: "steady" }, { name: "interference", tone: "interference" }],
    layers: [
      { group: 1, mark: "spans", along: "x", from: [20, 60], to: [23, 61], share: [1, 0.25], tips: ["steal 12 %", "steal 4 %"] },
      { group: 0, mark: "dots", x: count(DENSE, (index) => index / 1000), y: count(DENSE, () => 8e-6 + random() * random() * 8e-6), tips: [] },
    ],
  }),
];

/** What the figure of the bars shows when the reader switches from the time to the rate. */
const rate = chart("bars/rate", {
  ...charts.find(({ id }) => id === "bars"),
  id: "bars/rate",
  says: "What the rate shows.",
  x: axis({ label: "rate", unit: "ops/s", low: 0, high: 300 }),
  layers: [{ group: 0, mark: "bars", along: "x", at: [0, 1], from: [0, 0], to: [250, 200] }],
  instead_of: "bars",
});

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function figure({ id }) {
  return `<figure class="chart" id="chart-${id}" data-chart="${id}"><div class="plot"></div></figure>`;
}

const ROWS = count(12, (index) => [`point ${index}${index === 3 ? HOSTILE : ""}`, [5, 3, 12, 0.5][index % 4] * 1e9 + index, ["faster", "slower", "equivalent", "inconclusive"][index % 4]]);

function row([name, value, verdict]) {
  return `<tr><th scope="row">${escaped(name)}</th><td class="num" title="${value} B/s">${(value / 1e9).toFixed(2)} GB/s</td><td><span class="verdict ${verdict}">▲ ${verdict}</span></td></tr>`;
}

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/** As the site packs them. */
function packed(of) {
  return deflateRawSync(JSON.stringify(of)).toString("base64");
}

/** Writes the gallery and gives its folder. */
export function writeGallery(name) {
  const folder = join(work, name);
  mkdirSync(join(folder, "data"), { recursive: true });
  for (const file of ["plumb.js", "plumb.css"]) copyFileSync(new URL(file, dist), join(folder, file));
  writeFileSync(join(folder, "data/gallery.js"), `plumb.charts("gallery","${packed([...charts, rate])}");\n`);
  const entries = [["memory.copy method=libc", "gallery.html#chart=curve", "workload"], [HOSTILE, "gallery.html", "run"], ["verdict", "gallery.html", "word"]];
  writeFileSync(join(folder, "data/search.js"), `plumb.search(${JSON.stringify(entries).replaceAll("<", "\\u003c")});\n`);
  writeFileSync(join(folder, "gallery.html"), `<!doctype html><html lang="en" data-page="gallery" data-kind="run"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>gallery</title><link rel="stylesheet" href="plumb.css"><script defer src="plumb.js"></script></head>
<body><a class="skip" href="#main">Skip to content</a><header class="top"><a class="brand" href="gallery.html">plumb</a>
<nav aria-label="Pages"><a href="gallery.html" aria-current="page">Runs</a></nav><div class="tools" hidden></div></header>
<main id="main"><h1>Gallery</h1><section class="answer"><p>Every mark.</p></section>
<div class="scroll" tabindex="0"><table class="data" data-filter data-sort><caption>Results</caption><thead><tr><th scope="col">Point</th><th scope="col">Median</th><th scope="col">Verdict</th></tr></thead>
<tbody>${ROWS.map(row).join("\n")}</tbody></table></div>${charts.map(figure).join("\n")}</main><footer>gallery</footer></body></html>`);
  return folder;
}
