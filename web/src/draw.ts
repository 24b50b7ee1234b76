// A chart drawn by Observable Plot. Layers with very many marks go to a canvas under it (dense.ts).
import * as Plot from "@observablehq/plot";
import { type Chart, type Layer, size } from "./chart";
import { isDense } from "./dense";
import { type Frame, frame, type Placed, type View } from "./frame";
import { type Appearance, appearances, appearanceOf, pattern } from "./groups";
import { marksOf } from "./marks";
import { shape } from "./dom";
import { dateText } from "./ticks";
import { heading } from "./units";

export interface Drawing {
  svg: SVGSVGElement;
  frame: Frame;
  appearances: Appearance[];
  /** Layers that are seen. */
  layers: Layer[];
  /** Those of them that the canvas draws. */
  dense: Layer[];
}

/** Draws what is seen of a chart; `key` keeps the ids of its patterns apart from other charts'. */
export function draw(chart: Chart, width: number, view: View, key: string): Drawing {
  const placed = frame(chart, width, view);
  const all = appearances(chart);
  const layers = chart.layers.filter((layer) => size(layer) > 0 && !(layer.group !== null && view.hidden.has(layer.group)));
  const dense = layers.filter(isDense);
  const marks = layers
    .filter((layer) => !isDense(layer))
    .flatMap((layer) => {
      const fill = `url(#${key}-${layer.group ?? "none"}-${layer.mark === "spans" ? "soft" : "full"})`;
      return marksOf(layer, { frame: placed, appearance: appearanceOf(all, layer.group), fill, colour: chart.colour });
    });
  const svg = Plot.plot({
    width,
    height: placed.height,
    marginLeft: placed.left,
    marginRight: placed.right,
    marginTop: placed.top,
    marginBottom: placed.bottom,
    className: "marks",
    x: { ...placed.x.scale, axis: null },
    y: { ...placed.y.scale, axis: null },
    ariaLabel: chart.title,
    ariaDescription: chart.says,
    marks: [() => patterns(chart, all, key), ...axesOf(placed), ...marks],
  }) as SVGSVGElement;
  svg.setAttribute("role", "img");
  // A picture has one name; those that Plot gives its parts are for those who style and test.
  for (const part of svg.querySelectorAll("[aria-label]")) {
    part.setAttribute("data-part", part.getAttribute("aria-label") ?? "");
    part.removeAttribute("aria-label");
  }
  return { svg, frame: placed, appearances: all, layers, dense };
}

function patterns(chart: Chart, all: Appearance[], key: string): SVGElement {
  const groups: (number | null)[] = [...chart.groups.keys(), null];
  return shape(
    "defs",
    {},
    ...groups.flatMap((group) => [
      pattern(`${key}-${group ?? "none"}-full`, appearanceOf(all, group), 0.85),
      pattern(`${key}-${group ?? "none"}-soft`, appearanceOf(all, group), 0.5),
    ]),
  );
}

function axesOf(placed: Frame): Plot.Markish[] {
  const { x, y } = placed;
  const date = x.axis.scale === "date";
  const grid = { stroke: "var(--grid)", strokeOpacity: 1 };
  const label = { color: "var(--ink-soft)", fontSize: 11 };
  const axisX = { ...label, anchor: "bottom" as const, label: named(x) || null, labelArrow: "none" as const, labelAnchor: "center" as const };
  return [
    ...(x.axis.scale === "band" ? [] : [Plot.gridX(date ? grid : { ...grid, ticks: x.ticks.at })]),
    ...(y.axis.scale === "band" ? [] : [Plot.gridY({ ...grid, ticks: y.ticks.at })]),
    Plot.axisX(date ? { ...axisX, ticks: (placed.width - placed.left) / 90, text: { transform: (dates: Date[]) => Array.from(dates, (at, index) => dateText(at, index, dates)) }, lineAnchor: "top" } : { ...axisX, ...labels(x), ...(x.turned ? { tickRotate: -40 } : {}) }),
    Plot.axisY({
      ...label, ...labels(y), anchor: "left", tickSize: y.axis.scale === "band" ? 0 : 4,
      label: named(y) || null, labelArrow: "none", labelAnchor: "top", labelOffset: placed.left,
    }),
    Plot.frame({ stroke: "var(--line)" }),
  ];
}

/** The axis's name; units that ticks say themselves are not said again. */
function named({ axis, ticks }: Placed): string {
  return ticks.units ? axis.label : heading(axis);
}

/** Plot would write labels of its own at the ticks of a logarithm, were these its `tickFormat`. */
function labels(placed: Placed): { ticks: number[]; text: (value: number) => string } {
  const { at, text } = placed.ticks;
  return { ticks: at, text: (value) => shortened(text(value), placed.letters) };
}

function shortened(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}
