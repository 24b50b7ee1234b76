// Tables, search, themes and keys, on the gallery.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOSTILE, writeGallery } from "./gallery.mjs";
import { onDisk, visit } from "./harness.mjs";

const folder = writeGallery("tools");
const gallery = onDisk("gallery.html", folder);
const open = (act, { hash = "", ...options } = {}) => visit(gallery + hash, options, act);

const names = (page) => page.locator("main > .scroll tbody tr:visible th").allInnerTexts();

test("a table sorts by what its cells are worth, back and forth and back again", async () => {
  let link;
  await open(async (page) => {
    const original = await names(page);
    const median = page.getByRole("button", { name: "Sort by Median" });
    await median.click();
    const down = await names(page);
    assert.equal(down[0], "point 10", "12 GB/s and a little is the most");
    assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
    link = new URL(page.url()).hash;
    assert.equal(link, "#sort=results:median,descending");
    await median.click();
    assert.deepEqual(await names(page), down.reverse());
    await median.click();
    assert.deepEqual(await names(page), original);
    assert.equal(new URL(page.url()).hash, "");
  });
  await open(async (page) => assert.equal((await names(page))[0], "point 10"), { hash: link });
});

test("a table filters by all words, and the link keeps them", async () => {
  let link;
  await open(async (page) => {
    await page.getByLabel("Filter Results").fill("point slower");
    assert.equal((await names(page)).length, 3);
    assert.equal(await page.locator(".filter .count").innerText(), "3 of 12");
    link = new URL(page.url()).hash;
  });
  await open(async (page) => {
    assert.equal((await names(page)).length, 3);
    await page.evaluate(() => (location.hash = "#filter=results:onerror"));
    await page.waitForFunction(() => document.querySelector(".count").textContent === "1 of 12");
    assert.deepEqual(await names(page), [`point 3${HOSTILE}`]);
  }, { hash: link });
});

test("search loads its index at first use and is led by the keyboard", () =>
  open(async (page) => {
    assert.equal(await page.locator("script[src*='search.js']").count(), 0);
    await page.keyboard.press("/");
    await page.keyboard.type("memory libc");
    await page.locator("#found a").first().waitFor();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator("#found [aria-selected=true]").count(), 1);
    await page.keyboard.press("Enter");
    await page.waitForURL(/#chart=curve$/);
    await page.keyboard.press("Control+a");
    await page.keyboard.type("img");
    assert.match(await page.locator("#found").innerText(), /<img src=x/);
    assert.equal(await page.locator("#found img").count(), 0);
    await page.keyboard.press("Control+a");
    await page.keyboard.type("no such thing");
    assert.equal(await page.locator("#found").innerText(), "nothing found");
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#found").isHidden());
  }));

test("themes: as the system says, then as chosen, and remembered", () =>
  open(async (page) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await paper();
    const button = page.locator(".tools .theme");
    await button.click();
    assert.match(await button.innerText(), /light/);
    const light = await paper();
    assert.notEqual(light, dark);
    await page.reload();
    assert.equal(await paper(), light);
    await page.keyboard.press("t");
    assert.equal(await paper(), dark);
    await page.keyboard.press("t");
    assert.match(await button.innerText(), /auto/);
  }, { colorScheme: "dark" }));

test("keys: help, next chart, filter", () =>
  open(async (page) => {
    await page.keyboard.press("?");
    assert.match(await page.getByRole("dialog").innerText(), /search/);
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.locator("#chart-boxes .stage").waitFor();
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.closest("figure")?.id === "chart-boxes");
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.closest("figure")?.id === "chart-intervals");
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.activeElement?.closest("figure")?.id === "chart-boxes");
    await page.keyboard.press("f");
    await page.keyboard.type("t?/");
    assert.equal(await page.getByLabel("Filter Results").inputValue(), "t?/", "keys typed into a field are text");
  }));
