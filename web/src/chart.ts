// plumb.chart/1, as crates/show/report/src/chart.rs writes it: numbers in SI base units, in columns, and every
// word that is drawn. Nothing here computes what is shown.

export const CHART_SCHEMA = "plumb.chart/1";

export interface Chart {
  schema: typeof CHART_SCHEMA;
  id: string;
  title: string;
  says: string;
  x: Axis;
  y: Axis;
  colour: Axis | null;
  groups: Group[];
  layers: Layer[];
  notes: string[];
  /** The chart in whose figure this one is shown when the reader switches. */
  instead_of: string | null;
}

export interface Axis {
  label: string;
  unit: string;
  /** What one unit that people read is in the base units of the data. */
  per: number;
  scale: "linear" | "log" | "date" | "band";
  categories: string[];
  low: number;
  high: number;
}

export interface Group {
  name: string;
  tone: Tone;
}

export type Tone =
  | "plain"
  | "steady"
  | "warmup"
  | "excluded"
  | "faster"
  | "slower"
  | "equivalent"
  | "inconclusive"
  | "baseline"
  | "interference";

export type Along = "x" | "y";

export interface Boxes {
  mark: "boxes";
  along: Along;
  at: number[];
  low: number[];
  q1: number[];
  median: number[];
  q3: number[];
  high: number[];
}

export interface Dots {
  mark: "dots";
  x: number[];
  y: number[];
  tips: string[];
}

export interface Intervals {
  mark: "intervals";
  along: Along;
  at: number[];
  low: (number | null)[];
  estimate: number[];
  high: (number | null)[];
  tips: string[];
}

export interface Line {
  mark: "line";
  x: number[];
  y: (number | null)[];
  steps: boolean;
}

export interface Band {
  mark: "band";
  x: number[];
  low: number[];
  high: number[];
}

export interface Bars {
  mark: "bars";
  along: Along;
  at: number[];
  from: number[];
  to: number[];
}

export interface Cells {
  mark: "cells";
  x: number[];
  y: number[];
  value: number[];
}

export interface Rules {
  mark: "rules";
  along: Along;
  at: number[];
  tips: string[];
}

export interface Spans {
  mark: "spans";
  along: Along;
  from: number[];
  to: number[];
  /** How much of the other axis each takes, from its low end. */
  share: number[];
  tips: string[];
}

export type Mark = Boxes | Dots | Intervals | Line | Band | Bars | Cells | Rules | Spans;
export type Layer = Mark & { group: number | null };

/** How many marks a layer has. */
export function size(layer: Layer): number {
  switch (layer.mark) {
    case "dots":
    case "line":
    case "band":
    case "cells":
      return layer.x.length;
    case "spans":
      return layer.from.length;
    default:
      return layer.at.length;
  }
}

/** The columns of numbers, by name. */
export function columns(layer: Layer): [string, (number | null)[]][] {
  return Object.entries(layer).filter((entry): entry is [string, number[]] => Array.isArray(entry[1]) && entry[0] !== "tips");
}

/** The axis that a column's numbers lie on. */
export function axisOf(column: string, layer: Layer, chart: Chart): Axis | null {
  if (column === "x") return chart.x;
  if (column === "y") return chart.y;
  if (column === "value") return chart.colour;
  if (column === "share") return null;
  if (!("along" in layer)) return chart.y;
  const values = layer.along === "x" ? chart.x : chart.y;
  const places = layer.along === "x" ? chart.y : chart.x;
  return column === "at" && layer.mark !== "rules" ? places : values;
}
