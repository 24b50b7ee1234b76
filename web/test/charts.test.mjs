// Charts by mouse, keyboard and as files, on the gallery.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessibleInBothThemes } from "./access.mjs";
import { charts, HOSTILE, writeGallery } from "./gallery.mjs";
import { downloaded, drawAll, onDisk, visit } from "./harness.mjs";

const folder = writeGallery("gallery");
const gallery = onDisk("gallery.html", folder);
const open = (act, { hash = "", ...options } = {}) =>
  visit(gallery + hash, options, async (page, wrong) => {
    await page.locator("svg.marks").first().waitFor({ state: "attached" });
    await act(page, wrong);
  });
const stage = (page, id) => page.locator(`#chart-${id} .stage`);
/** A figure is drawn when it comes near. */
async function near(page, id) {
  await page.locator(`#chart-${id}`).scrollIntoViewIfNeeded();
  await stage(page, id).locator("svg.marks").waitFor();
}

test("every mark is drawn, and hostile names are text", () =>
  open(async (page) => {
    assert.equal(await drawAll(page), charts.length);
    const marks = { boxes: "rect", intervals: "path", curve: "path", history: "path", monitor: "path", bars: "rect", cells: "rect" };
    for (const [id, shape] of Object.entries(marks)) {
      assert.ok((await page.locator(`#chart-${id} svg.marks ${shape}`).count()) >= 2, id);
    }
    assert.equal(await page.locator("img, [onerror]").count(), 0);
    assert.equal(await page.title(), "gallery");
    assert.match(await page.locator("#chart-boxes .legend").innerText(), /<img src=x/);
  }));

test("charts, tips, search and help are accessible in both themes", () =>
  open(async (page) => {
    await drawAll(page);
    await stage(page, "intervals").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("/");
    await page.keyboard.type("memory");
    await page.locator("#found a").first().waitFor();
    await accessibleInBothThemes(page);
    await page.locator("h1").click();
    await page.keyboard.press("?");
    await accessibleInBothThemes(page);
  }));

test("data are loaded when a figure comes near", () =>
  visit(gallery, { height: 300, width: 400 }, async (page) => {
    await page.waitForTimeout(200);
    assert.equal(await page.locator("#chart-dense svg.marks").count(), 0, "a far figure is drawn too early");
    await near(page, "dense");
  }));

test("pointing at a mark says its exact value", () =>
  open(async (page) => {
    await near(page, "bars");
    await stage(page, "bars").hover({ position: { x: 400, y: 24 } });
    const tip = await page.locator("#chart-bars .tip").innerText();
    assert.match(tip, /user/);
    assert.match(tip, /aes128-gcm@openssh\.com/);
    assert.match(tip, /3 ms = 0\.003/);
  }));

test("a figure switches between a time and its rate, and the link keeps that", async () => {
  let link;
  const axis = (page) => page.locator("#chart-bars [data-part='x-axis label']").textContent();
  await open(async (page) => {
    await near(page, "bars");
    const pressed = () => page.locator("#chart-bars .metrics button[aria-pressed=true]").innerText();
    assert.deepEqual(await page.locator("#chart-bars .metrics button").allInnerTexts(), ["time", "rate"]);
    assert.equal(await page.locator(".metrics").count(), 1, "others have nothing to switch");
    assert.equal(await pressed(), "time");
    assert.match(await axis(page), /time \(ms\)/);
    await page.getByRole("button", { name: "Zoom in: bars" }).click();
    await page.waitForFunction(() => location.hash.includes("zoom=bars:"));
    await page.locator("#chart-bars .metrics button").nth(1).click();
    await page.waitForFunction(() => /rate/.test(document.querySelector("#chart-bars [data-part='x-axis label']").textContent));
    assert.equal(await pressed(), "rate");
    assert.match(await page.locator("#chart-bars figcaption").innerText(), /What the rate shows/);
    await page.waitForFunction(() => !location.hash.includes("zoom"), undefined, { timeout: 2000 });
    await accessibleInBothThemes(page);
    link = new URL(page.url()).hash;
    assert.match(link, /metric=bars:rate/);
  });
  await open(async (page) => {
    await near(page, "bars");
    assert.match(await axis(page), /rate \(ops\/s\)/);
    await page.locator("#chart-bars .metrics button").first().click();
    await page.waitForFunction(() => !location.hash.includes("metric"));
    assert.match(await axis(page), /time/);
  }, { hash: link });
});

test("arrow keys walk from value to value, aloud", () =>
  open(async (page) => {
    await near(page, "intervals");
    await stage(page, "intervals").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("End");
    assert.match(await page.locator("#chart-intervals .tip").innerText(), /1\.05× \[1\.03, 1\.08\][\s\S]*1\.05/);
    assert.match(await page.locator("#announcer").innerText(), /1\.05×/);
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#chart-intervals .tip").isHidden());
  }));

test("a group hides, and the link keeps that", async () => {
  let link;
  await open(async (page) => {
    await near(page, "curve");
    const before = await page.locator("#chart-curve svg.marks path").count();
    await page.locator("#chart-curve .legend button").nth(1).click();
    await page.waitForFunction((most) => document.querySelectorAll("#chart-curve svg.marks path").length < most, before);
    link = new URL(page.url()).hash;
    assert.match(link, /hide=curve:1/);
  });
  await open(async (page) => {
    await near(page, "curve");
    assert.equal(await page.locator("#chart-curve .legend button").nth(1).getAttribute("aria-pressed"), "false");
  }, { hash: link });
});

test("zoom and pan by buttons, keys and drag, kept in the link", async () => {
  let link;
  const ticks = (page) => page.locator("#chart-monitor [data-part='x-axis tick label'] text").allInnerTexts();
  await open(async (page) => {
    await near(page, "monitor");
    const whole = await ticks(page);
    await page.getByRole("button", { name: "Zoom in: monitor" }).click();
    await page.waitForFunction(() => location.hash.includes("zoom=monitor:15,45"));
    assert.notDeepEqual(await ticks(page), whole);
    const box = await stage(page, "monitor").boundingBox();
    await page.mouse.move(box.x + 400, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => !location.hash.includes("zoom=monitor:15,45"));
    link = new URL(page.url()).hash;
    await stage(page, "monitor").focus();
    await page.keyboard.press("0");
    await page.waitForFunction(() => !location.hash.includes("zoom"));
    assert.deepEqual(await ticks(page), whole);
  });
  await open(async (page) => {
    await near(page, "monitor");
    assert.ok(!(await ticks(page)).includes("0"), "the link shows the zoomed part");
  }, { hash: link });
});

test("the wheel alone scrolls the page", () =>
  open(async (page) => {
    await stage(page, "boxes").hover();
    await page.mouse.wheel(0, 300);
    await page.waitForFunction(() => scrollY > 0);
    assert.doesNotMatch(page.url(), /zoom/);
  }));

test("a chart saves as SVG, PNG and CSV", () =>
  open(async (page) => {
    await drawAll(page);
    const save = (what, id) => downloaded(page, () => page.getByRole("button", { name: `Save ${what}: ${id}`, exact: true }).click());
    const svg = await save("as SVG", "boxes");
    assert.equal(svg.name, "boxes.svg");
    const parsed = await page.evaluate((text) => {
      const made = new DOMParser().parseFromString(text, "image/svg+xml");
      return { wrong: made.querySelector("parsererror")?.textContent, shapes: made.querySelectorAll("rect, path").length, images: made.querySelectorAll("image").length, text: made.documentElement.textContent };
    }, svg.bytes.toString());
    assert.equal(parsed.wrong, undefined);
    assert.ok(parsed.shapes > 20 && parsed.images === 0);
    assert.ok(parsed.text.includes(HOSTILE) && parsed.text.includes("copy libc"));
    assert.doesNotMatch(svg.bytes.toString(), /var\(--|class=/, "a file needs nothing of the page");

    const png = await save("as PNG", "dense");
    assert.deepEqual([...png.bytes.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
    assert.ok(png.bytes.readUInt32BE(16) > 1000 && png.bytes.length > 20_000, "the canvas is in the picture");

    const csv = (await save("the numbers as CSV", "boxes")).bytes.toString().trimEnd().split("\r\n");
    assert.equal(csv[0], "mark,group,column,index,value,tip");
    assert.ok(csv.includes("boxes,,median,0,13400000000,"));
    assert.equal(csv.length, 1 + 3 * 6 + 60 * 2 + 2 * 2);
  }));

test("colours follow the theme on the canvas too", () =>
  open(async (page) => {
    await near(page, "dense");
    const colour = () => page.evaluate(() => {
      const shown = document.querySelector("#chart-dense canvas");
      const canvas = new OffscreenCanvas(shown.width, shown.height);
      const pen = canvas.getContext("2d", { willReadFrequently: true });
      pen.drawImage(shown, 0, 0);
      const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Map();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) { const key = `${data[at]},${data[at + 1]},${data[at + 2]}`; seen.set(key, (seen.get(key) ?? 0) + 1); }
      return [...seen].sort((a, b) => b[1] - a[1])[0]?.[0];
    });
    const light = await colour();
    await page.evaluate(() => (document.documentElement.dataset.theme = "light"));
    await page.locator(".tools .theme").click();
    await page.locator(".tools .theme").click();
    await page.waitForTimeout(100);
    assert.notEqual(await colour(), light);
  }));
