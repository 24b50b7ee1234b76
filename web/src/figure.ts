// A figure of a page: its drawing, legend, tips, zoom and exports.
import { type Chart, size } from "./chart";
import { DENSE, drawDense } from "./dense";
import { announce, element, resolved } from "./dom";
import { draw, type Drawing } from "./draw";
import { csvText, fileName, png, save, svgText } from "./export";
import { appearances, appearanceOf } from "./groups";
import { hits } from "./hits";
import { legend } from "./legend";
import { numbers } from "./numbers";
import { choose, chosen, onChosen } from "./state";
import { onTheme } from "./theme";
import { tip } from "./tip";
import type { Range, View } from "./frame";
import { zoomed, zooming } from "./zoom";

/** A chart with more rows takes the whole width. */
const MANY = 12;
let count = 0;

/** A drawn figure. */
export interface Figure {
  /** Draws another state of the same chart. */
  update: (chart: Chart) => void;
}

/** Draws a chart into a figure's empty box. */
export function figure(box: HTMLElement, first: Chart, name: string): Figure {
  let chart = first;
  let drawing: Drawing | null = null;
  let frame = 0;
  count += 1;
  const key = `f${count}`;
  const view: View = { zoom: null, hidden: new Set() };
  const stage = element("div", { class: "stage", tabindex: "0", role: "group", "aria-label": `${chart.title}: arrow keys step through its values` });
  const canvas = element("canvas", { hidden: true, "aria-hidden": "true" });
  const legendBox = element("div", { class: "legend-box" });
  stage.append(canvas);

  const bubble = tip(stage, () => (drawing ? hits(drawing, chart.groups.map((group) => group.name), chart.colour) : []));
  const render = () => {
    frame = 0;
    const width = Math.floor(stage.clientWidth);
    if (width < 40) return;
    drawing = draw(chart, width, view, key);
    stage.querySelector("svg.marks")?.remove();
    canvas.after(drawing.svg);
    const { dense, appearances: all } = drawing;
    canvas.hidden = dense.length === 0;
    stage.classList.toggle("zoomed", view.zoom !== null);
    if (dense.length > 0) drawDense(canvas, dense.map((layer) => [layer, appearanceOf(all, layer.group)]), drawing.frame, resolved);
    bubble.clear();
  };
  const soon = () => (frame ||= requestAnimationFrame(render));
  const relist = () => {
    const list = legend(chart, appearances(chart), key, view.hidden, toggle);
    legendBox.replaceChildren(...(list ? [list] : []));
  };
  const toggle = (group: number) => {
    if (!view.hidden.delete(group)) view.hidden.add(group);
    choose("hide", name, [...view.hidden].sort((a, b) => a - b).join(","));
    legendBox.querySelector(`[data-group="${group}"]`)?.setAttribute("aria-pressed", String(!view.hidden.has(group)));
    soon();
  };
  let keep = 0;
  const see = (range: Range | null) => {
    view.zoom = range;
    clearTimeout(keep);
    keep = setTimeout(() => choose("zoom", name, range && `${Number(range.low.toPrecision(9))},${Number(range.high.toPrecision(9))}`), 200);
    soon();
  };
  const restore = () => {
    view.zoom = zoomOf(chosen("zoom", name));
    view.hidden = new Set((chosen("hide", name) ?? "").split(",").filter(Boolean).map(Number));
    relist();
    soon();
  };

  zooming(stage, () => chart.x, () => drawing?.frame ?? null, () => view.zoom, see);
  const table = numbers(() => chart);
  box.replaceChildren(legendBox, stage, tools(() => chart, stage, name, (factor) => see(factor === 0 ? null : zoomed(chart.x, view.zoom, factor))), table);
  box.closest("figure")?.classList.toggle("wide", chart.y.categories.length > MANY);
  new ResizeObserver(soon).observe(stage);
  onTheme(soon);
  onChosen(restore);
  restore();
  render();
  return {
    update: (next) => {
      // What was zoomed in another quantity is nowhere in this one.
      if (next.x.label !== chart.x.label && view.zoom !== null) see(null);
      chart = next;
      table.dispatchEvent(new Event("changed"));
      relist();
      soon();
    },
  };
}

function zoomOf(text: string | null): Range | null {
  const [low, high] = (text ?? "").split(",").map(Number);
  return low !== undefined && high !== undefined && low < high ? { low, high } : null;
}

/** Says beside a drawing how to read it and what is known of it. */
export function say(place: HTMLElement, chart: Chart): void {
  const caption = place.querySelector("figcaption") ?? element("figcaption");
  place.prepend(caption);
  caption.replaceChildren(element("b", {}, chart.title), ` ${chart.says}`);
  const most = Math.max(0, ...chart.layers.map(size));
  const shared = `${most.toLocaleString("en")} marks: those that fall on the same pixel are drawn as one; zoom in to separate them.`;
  const notes = [...chart.notes.map((note) => element("li", {}, note)), ...(most > DENSE ? [element("li", { class: "dense" }, shared)] : [])];
  const list = place.querySelector("ul.notes") ?? place.appendChild(element("ul", { class: "notes" }));
  list.replaceChildren(...notes);
}

function tools(chart: () => Chart, stage: HTMLElement, name: string, zoom: (factor: number) => void): HTMLElement {
  const button = (text: string, title: string, act: () => void) =>
    element("button", { type: "button", title, "aria-label": `${title}: ${chart().title}`, onclick: act }, text);
  const text = (ending: string, type: string, make: () => string) => () =>
    save(fileName(chart(), ending), new Blob([make()], { type }));
  return element(
    "div",
    { class: "chart-tools" },
    button("−", "Zoom out", () => zoom(2)),
    button("+", "Zoom in", () => zoom(0.5)),
    button("all", "Show all", () => zoom(0)),
    element("span", { class: "gap" }),
    button("SVG", "Save as SVG", text("svg", "image/svg+xml", () => svgText(chart(), stage))),
    button("PNG", "Save as PNG", () => void png(chart(), stage).then((blob) => save(fileName(chart(), "png"), blob), failed)),
    button("CSV", "Save the numbers as CSV", text("csv", "text/csv", () => csvText(chart()))),
    element("a", { href: `#chart=${encodeURIComponent(name)}`, class: "link", title: "Link to this chart", "aria-label": `Link to this chart: ${chart().title}` }, "#"),
  );
}

function failed(error: unknown): void {
  announce(`Can't create the picture: ${String(error)}. Try SVG.`);
}
