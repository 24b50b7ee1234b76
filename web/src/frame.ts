// Where a chart is drawn: its size, the part of the axes that is seen, and where a value falls.
import * as Plot from "@observablehq/plot";
import type { Axis, Chart, Layer } from "./chart";
import { type Ticks, ticks } from "./ticks";
import { heading } from "./units";

export interface Range {
  low: number;
  high: number;
}

/** What the reader has chosen of a chart. */
export interface View {
  /** The part of the horizontal axis that is seen, in base units; all of it where null. */
  zoom: Range | null;
  /** Groups that are not drawn. */
  hidden: Set<number>;
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  x: Placed;
  y: Placed;
}

/** An axis with its place. */
export interface Placed {
  axis: Axis;
  ticks: Ticks;
  /** Turns labels, where they would run into each other. */
  turned: boolean;
  /** So many letters of a label have room. */
  letters: number;
  scale: Plot.ScaleOptions;
  /** The pixel of a value in base units. */
  pixel: (value: number) => number;
  /** The value in base units at a pixel. */
  value: (pixel: number) => number;
}

const LETTER = 6.4;
/** Height of a category: one with dots or boxes needs more. */
const LINE = 26;
const TALL_LINE = 46;

/** Values as the scale wants them: dates, or units that people read. */
export function scaled(axis: Axis, value: number | null): number | Date {
  if (value === null) return NaN;
  if (axis.scale === "date") return new Date(value * 1000);
  return axis.scale === "band" ? value : value / axis.per;
}

/** What an axis shows when nothing is zoomed. */
export function whole(axis: Axis): Range {
  if (axis.scale === "band") return { low: -0.5, high: axis.categories.length - 0.5 };
  if (axis.low < axis.high) return { low: axis.low, high: axis.high };
  const room = Math.abs(axis.low) * 0.05 || axis.per;
  return { low: axis.low - room, high: axis.high + room };
}

function domain(axis: Axis, seen: Range, vertical: boolean): [number | Date, number | Date] {
  const [low, high] = [scaled(axis, seen.low), scaled(axis, seen.high)];
  // The first category stands on top.
  return vertical && axis.scale === "band" ? [high, low] : [low, high];
}

function place(axis: Axis, seen: Range, from: number, to: number, vertical: boolean, marks: Ticks): Placed {
  const type = axis.scale === "log" ? "log" : axis.scale === "date" ? "utc" : "linear";
  const scale: Plot.ScaleOptions = { type, domain: domain(axis, seen, vertical), range: [from, to] };
  const { apply, invert } = Plot.scale({ x: scale }) as Plot.Scale;
  return {
    axis,
    ticks: marks,
    turned: false,
    letters: 60,
    scale,
    pixel: (value) => apply(scaled(axis, value)) as number,
    value: (pixel) => {
      const at: unknown = invert?.(pixel);
      if (at instanceof Date) return at.getTime() / 1000;
      return axis.scale === "band" ? Number(at) : Number(at) * axis.per;
    },
  };
}

function longest(marks: Ticks): number {
  return Math.max(0, ...marks.at.map((value) => marks.text(value).length));
}

/** Whether only whole numbers stand on the horizontal axis: invocations, say. */
function isCounted({ x, layers }: Chart): boolean {
  if (x.unit || x.per !== 1 || x.scale !== "linear") return false;
  const places = layers.flatMap((layer) => ("x" in layer ? layer.x : "at" in layer && layer.along === "y" ? layer.at : []).slice(0, 500));
  return places.length > 0 && places.every(Number.isInteger);
}

function ticksOf(axis: Axis, seen: Range, count: number, counted = false): Ticks {
  if (axis.scale === "date") return { at: [], text: String };
  return ticks(axis, Number(scaled(axis, seen.low)), Number(scaled(axis, seen.high)), count, counted);
}

function isTall(layer: Layer): boolean {
  return layer.mark === "boxes" || layer.mark === "dots";
}

/** Whether its name stands above the chart. */
function isLabelled(layer: Layer): boolean {
  return layer.mark === "rules" && layer.along === "x";
}

function heightOf(chart: Chart, width: number): number {
  if (chart.y.scale === "band") return Math.max(60, chart.y.categories.length * (chart.layers.some(isTall) ? TALL_LINE : LINE));
  return Math.max(170, Math.min(340, width * 0.42));
}

/** The frame of a chart in a box of this width. */
export function frame(chart: Chart, width: number, view: View): Frame {
  const seen = view.zoom ?? whole(chart.x);
  const inner = heightOf(chart, width);
  const yTicks = ticksOf(chart.y, whole(chart.y), inner / 45);
  const left = Math.min(width * 0.42, Math.max(30, longest(yTicks) * LETTER + 14));
  const right = 16;
  const across = width - left - right;
  const xTicks = ticksOf(chart.x, seen, Math.max(4, across / 80), isCounted(chart));
  const turned = longest(xTicks) * LETTER > (across / Math.max(1, xTicks.at.length)) * 0.95;
  const top = heading(chart.y) || chart.layers.some(isLabelled) ? 26 : 8;
  const below = turned ? Math.min(110, longest(xTicks) * LETTER * 0.75 + 14) : 22;
  const bottom = below + (heading(chart.x) ? 20 : 4);
  const height = top + inner + bottom;
  const x = { ...place(chart.x, seen, left, width - right, false, xTicks), turned, letters: turned ? 20 : 60 };
  const y = { ...place(chart.y, whole(chart.y), height - bottom, top, true, yTicks), letters: Math.floor((left - 12) / LETTER) };
  return { width, height, left, right, top, bottom, x, y };
}
