// How long it takes a reader: run alone, because what else runs would be measured, too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DENSE, writeGallery } from "./gallery.mjs";
import { onDisk, visit } from "./harness.mjs";

const gallery = onDisk("gallery.html", writeGallery("timing"));

test("the first page is there within a second, from disk", async () => {
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    times.push(await visit(onDisk("index.html"), {}, (page) =>
      page.evaluate(() => performance.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint")?.startTime ?? performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart)));
  }
  console.log(`first page: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
  assert.ok(Math.min(...times) < 1000, `${times}`);
});

test("100,000 samples pan at 30 frames a second, and share pixels openly", () =>
  visit(gallery, {}, async (page) => {
    await page.locator("#chart-dense").scrollIntoViewIfNeeded();
    await page.locator("#chart-dense canvas").waitFor();
    const note = await page.locator("#chart-dense .notes").innerText();
    assert.match(note, new RegExp(`${DENSE.toLocaleString("en")} marks: those that fall on the same pixel`));
    await page.getByRole("button", { name: "Zoom in: dense" }).click();
    const rates = [];
    for (let round = 0; round < 5 && Math.max(0, ...rates) < 30; round += 1) rates.push(await panned(page));
    console.log(`pan of ${DENSE} samples: ${rates.map((rate) => rate.toFixed(0)).join(", ")} frames a second`);
    assert.ok(Math.max(...rates) >= 30, `${rates}`);
  }));

/** Frames a second while a drag goes on for a second. */
function panned(page) {
  return page.evaluate(async () => {
    const stage = document.querySelector("#chart-dense .stage");
    stage.setPointerCapture = () => {};
    const { left, top, width } = stage.getBoundingClientRect();
    const send = (name, x) => stage.dispatchEvent(new PointerEvent(name, { clientX: left + x, clientY: top + 80, button: 0, pointerId: 1, bubbles: true }));
    send("pointerdown", width / 2);
    const start = performance.now();
    let frames = 0;
    await new Promise((done) => {
      const step = () => {
        frames += 1;
        send("pointermove", width / 2 + 200 * Math.sin(frames / 10));
        if (performance.now() - start < 1000) requestAnimationFrame(step);
        else done();
      };
      requestAnimationFrame(step);
    });
    send("pointerup", width / 2);
    return (frames * 1000) / (performance.now() - start);
  });
}
