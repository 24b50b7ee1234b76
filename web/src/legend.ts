// The legend: a swatch with colour, symbol and dash, and a button that hides the group.
import type { Axis, Chart, Layer } from "./chart";
import { element, shape } from "./dom";
import { type Appearance, pattern } from "./groups";
import { shade } from "./shades";
import { heading, human } from "./units";
import * as Plot from "@observablehq/plot";

type Kind = Layer["mark"];

/** The legend's list; null where nothing needs one. */
export function legend(chart: Chart, appearances: Appearance[], key: string, hidden: Set<number>, toggle: (group: number) => void): HTMLElement | null {
  const used = chart.groups.map((_, index) => chart.layers.filter((layer) => layer.group === index).map((layer) => layer.mark));
  const items = chart.groups.flatMap((group, index) => {
    const appearance = appearances[index];
    const kinds = used[index] ?? [];
    if (!appearance || kinds.length === 0) return [];
    const button = element(
      "button",
      { type: "button", "data-group": String(index), "aria-pressed": String(!hidden.has(index)), title: "Show or hide", onclick: () => toggle(index) },
      swatch(appearance, kinds, `${key}-swatch-${index}`),
      group.name,
    );
    return [element("li", {}, button)];
  });
  if (chart.colour) items.push(element("li", { class: "ramp" }, ...ramp(chart.colour)));
  return items.length > 0 ? element("ul", { class: "legend", "aria-label": "Legend" }, ...items) : null;
}

function swatch(appearance: Appearance, kinds: Kind[], id: string): SVGElement {
  const parts: SVGElement[] = [];
  if (kinds.some((kind) => kind === "bars" || kind === "spans" || kind === "boxes" || kind === "band")) {
    parts.push(pattern(id, appearance, kinds.includes("bars") ? 0.85 : 0.4));
    parts.push(shape("rect", { x: 1, y: 2, width: 22, height: 12, fill: `url(#${id})`, stroke: appearance.colour }));
  }
  if (kinds.some((kind) => kind === "line" || kind === "rules" || kind === "intervals")) {
    parts.push(shape("path", { d: "M0 8H24", stroke: appearance.colour, "stroke-width": 2, "stroke-dasharray": appearance.dash || "none", fill: "none" }));
  }
  if (kinds.some((kind) => kind === "dots" || kind === "intervals")) parts.push(symbol(appearance));
  return shape("svg", { width: 24, height: 16, viewBox: "0 0 24 16", "aria-hidden": "true" }, ...parts);
}

/** The group's symbol, as Plot draws it. */
function symbol(appearance: Appearance): SVGElement {
  const stroked = appearance.hollow || appearance.symbol === "plus" || appearance.symbol === "times";
  const drawn = Plot.plot({
    width: 24, height: 16, margin: 0, className: "marks", axis: null,
    x: { domain: [0, 24], range: [0, 24] }, y: { domain: [0, 16], range: [0, 16] },
    marks: [Plot.dot([[12, 8]], {
      r: 4, symbol: appearance.symbol, ...(stroked ? { stroke: appearance.colour, strokeWidth: 1.6, fill: "var(--paper)" } : { fill: appearance.colour }),
    })],
  });
  return shape("g", {}, ...drawn.childNodes);
}

/** What the colours of a heat map stand for. */
function ramp(axis: Axis): (Node | string)[] {
  const steps = Array.from({ length: 24 }, (_, index) => {
    const share = index / 23;
    const value = axis.scale === "log" ? axis.low * (axis.high / axis.low) ** share : axis.low + (axis.high - axis.low) * share;
    return shape("rect", { x: index * 4, y: 2, width: 4.5, height: 12, fill: shade(axis, value) });
  });
  const bar = shape("svg", { width: 97, height: 16, viewBox: "0 0 97 16", "aria-hidden": "true" }, ...steps);
  const [low, high] = [axis.low, axis.high].map((value) => human(value, { ...axis, unit: "" }));
  return [bar, `${heading(axis)}: ${low ?? ""} to ${high ?? ""}`];
}
