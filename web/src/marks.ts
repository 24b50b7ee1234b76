// Each mark of a chart as marks of Observable Plot.
import * as Plot from "@observablehq/plot";
import type { Along, Axis, Bars, Boxes, Cells, Dots, Intervals, Layer, Line, Band, Rules, Spans } from "./chart";
import { type Frame, scaled } from "./frame";
import { shade, ink } from "./shades";
import type { Appearance } from "./groups";
import { human } from "./units";

type Column = (number | null)[];
type Channel = (number | Date)[];

/** What a layer needs to be drawn. */
export interface MarkContext {
  frame: Frame;
  appearance: Appearance;
  /** `url(#…)` of the group's hatching. */
  fill: string;
  colour: Axis | null;
}

/** The marks of a layer. */
export function marksOf(layer: Layer, context: MarkContext): Plot.Markish[] {
  switch (layer.mark) {
    case "boxes": return boxes(layer, context);
    case "dots": return dots(layer, context);
    case "intervals": return intervals(layer, context);
    case "line": return line(layer, context);
    case "band": return band(layer, context);
    case "bars": return bars(layer, context);
    case "cells": return cells(layer, context);
    case "rules": return rules(layer, context);
    case "spans": return spans(layer, context);
  }
}

const clip = "frame" as const;

function channel(axis: Axis, column: Column): Channel {
  return column.map((value) => scaled(axis, value));
}

/** Both axes of something that lies along one: its values there, its places on the other. */
function axes({ frame }: MarkContext, along: Along): [Axis, Axis] {
  return along === "x" ? [frame.x.axis, frame.y.axis] : [frame.y.axis, frame.x.axis];
}

function data(column: unknown[]): { length: number } {
  return { length: column.length };
}

/** How far something at a place reaches to either side of it. */
export function reach(axis: Axis, at: number[], share = 0.28): [number[], number[]] {
  if (axis.scale === "log") {
    const ratio = gap(at.map(Math.log), Math.log(axis.high / axis.low)) * share;
    return [at.map((place) => place * Math.exp(-ratio)), at.map((place) => place * Math.exp(ratio))];
  }
  const half = (axis.scale === "band" ? 1 : gap(at, axis.high - axis.low)) * share;
  return [at.map((place) => place - half), at.map((place) => place + half)];
}

function gap(at: number[], whole: number): number {
  const sorted = [...new Set(at)].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((place, index) => place - (sorted[index] ?? place));
  return Math.min(whole / 12, ...gaps);
}

/** Options for a rectangle along an axis. */
function rectangle(along: Along, places: [Channel, Channel], from: Channel, to: Channel): Plot.RectOptions {
  const [near, far] = places;
  return along === "x"
    ? { x1: from, x2: to, y1: near, y2: far, clip }
    : { y1: from, y2: to, x1: near, x2: far, clip };
}

/** Options for a stroke along an axis at a place. */
function stroke(along: Along, at: Channel, from: Channel, to: Channel): Plot.LinkOptions {
  return along === "x" ? { x1: from, x2: to, y1: at, y2: at, clip } : { y1: from, y2: to, x1: at, x2: at, clip };
}

function boxes(layer: Boxes, context: MarkContext): Plot.Markish[] {
  const { along } = layer;
  const [values, places] = axes(context, along);
  const [near, far] = reach(places, layer.at);
  const sides: [Channel, Channel] = [channel(places, near), channel(places, far)];
  const at = channel(places, layer.at);
  const [low, q1, median, q3, high] = [layer.low, layer.q1, layer.median, layer.q3, layer.high].map((column) =>
    channel(values, column),
  ) as [Channel, Channel, Channel, Channel, Channel];
  const colour = context.appearance.colour;
  const across = along === "x" ? { x1: median, x2: median, y1: sides[0], y2: sides[1] } : { y1: median, y2: median, x1: sides[0], x2: sides[1] };
  return [
    Plot.link(data(at), { ...stroke(along, at, low, q1), stroke: colour, markerStart: "tick" }),
    Plot.link(data(at), { ...stroke(along, at, q3, high), stroke: colour, markerEnd: "tick" }),
    Plot.rect(data(at), { ...rectangle(along, sides, q1, q3), fill: colour, fillOpacity: 0.22, stroke: colour }),
    Plot.link(data(at), { ...across, stroke: colour, strokeWidth: 2.5, clip }),
  ];
}

function dots(layer: Dots, { frame, appearance }: MarkContext): Plot.Markish[] {
  const stroked = appearance.symbol === "times" || appearance.symbol === "plus" || appearance.hollow;
  return [
    Plot.dot(data(layer.x), {
      x: channel(frame.x.axis, layer.x),
      y: channel(frame.y.axis, layer.y),
      r: layer.x.length > 400 ? 2 : 3,
      symbol: appearance.symbol,
      ...(stroked ? { stroke: appearance.colour, strokeWidth: 1.4 } : { fill: appearance.colour, fillOpacity: 0.8 }),
      clip,
    }),
  ];
}

function intervals(layer: Intervals, context: MarkContext): Plot.Markish[] {
  const { along } = layer;
  const { appearance } = context;
  const [values, places] = axes(context, along);
  const at = channel(places, layer.at);
  const estimate = channel(values, layer.estimate);
  const [low, high] = [channel(values, layer.low), channel(values, layer.high)];
  const point = along === "x" ? { x: estimate, y: at } : { x: at, y: estimate };
  const bar = { stroke: appearance.colour, strokeWidth: 1.8 };
  return [
    Plot.link(data(at), { ...stroke(along, at, low, estimate), ...bar, markerStart: "tick" }),
    Plot.link(data(at), { ...stroke(along, at, estimate, high), ...bar, markerEnd: "tick" }),
    Plot.dot(data(at), {
      ...point, r: 4, symbol: appearance.symbol, stroke: appearance.colour, fill: appearance.hollow ? "var(--paper)" : appearance.colour, clip,
    }),
  ];
}

function line(layer: Line, { frame, appearance }: MarkContext): Plot.Markish[] {
  return [
    Plot.line(data(layer.x), {
      x: channel(frame.x.axis, layer.x),
      y: channel(frame.y.axis, layer.y),
      curve: layer.steps ? "step-after" : "linear",
      stroke: appearance.colour,
      strokeWidth: 1.6,
      strokeDasharray: appearance.dash,
      clip,
    }),
  ];
}

function band(layer: Band, { frame, appearance }: MarkContext): Plot.Markish[] {
  return [
    Plot.areaY(data(layer.x), {
      x: channel(frame.x.axis, layer.x),
      y1: channel(frame.y.axis, layer.low),
      y2: channel(frame.y.axis, layer.high),
      fill: appearance.colour,
      fillOpacity: 0.18,
      clip,
    }),
  ];
}

function bars(layer: Bars, context: MarkContext): Plot.Markish[] {
  const [values, places] = axes(context, layer.along);
  const [near, far] = reach(places, layer.at);
  const sides: [Channel, Channel] = [channel(places, near), channel(places, far)];
  const [from, to] = [channel(values, layer.from), channel(values, layer.to)];
  const options = rectangle(layer.along, sides, from, to);
  return [Plot.rect(data(layer.at), { ...options, fill: context.fill, stroke: context.appearance.colour, strokeWidth: 0.8 })];
}

function cells(layer: Cells, context: MarkContext): Plot.Markish[] {
  const { frame, colour } = context;
  if (!colour) return [];
  const [x1, x2] = reach(frame.x.axis, layer.x, 0.5);
  const [y1, y2] = reach(frame.y.axis, layer.y, 0.5);
  const fill = layer.value.map((value) => shade(colour, value));
  const room = Math.abs(frame.x.pixel(x2[0] ?? 0) - frame.x.pixel(x1[0] ?? 0));
  const rect = Plot.rect(data(layer.x), {
    x1: channel(frame.x.axis, x1), x2: channel(frame.x.axis, x2),
    y1: channel(frame.y.axis, y1), y2: channel(frame.y.axis, y2),
    fill: { value: fill, scale: null }, inset: 0.5, clip,
  });
  const text = Plot.text(data(layer.x), {
    x: channel(frame.x.axis, layer.x), y: channel(frame.y.axis, layer.y),
    text: layer.value.map((value) => human(value, { ...colour, unit: "" })),
    fill: { value: layer.value.map((value) => ink(colour, value)), scale: null }, fontSize: 11, clip,
  });
  return room > 34 ? [rect, text] : [rect];
}

function rules(layer: Rules, { frame, appearance }: MarkContext): Plot.Markish[] {
  const drawn = { stroke: appearance.colour, strokeWidth: 1.4, strokeDasharray: appearance.dash || "none", clip };
  const text = layer.tips.map((tip) => (tip.length > 42 ? `${tip.slice(0, 40)}…` : tip));
  const label = { text, fill: "var(--ink-soft)", fontSize: 11, stroke: "var(--paper)", strokeWidth: 3 };
  if (layer.along === "x") {
    const x = channel(frame.x.axis, layer.at);
    return [
      Plot.ruleX(data(x), { x, ...drawn }),
      Plot.text(data(text), { ...label, x, frameAnchor: "top", dy: -10, textAnchor: "middle" }),
    ];
  }
  const y = channel(frame.y.axis, layer.at);
  return [
    Plot.ruleY(data(y), { y, ...drawn }),
    Plot.text(data(text), { ...label, y, frameAnchor: "right", dy: -7, dx: -4, textAnchor: "end" }),
  ];
}

/** A share of an axis, from its low end. */
function within({ scale, low, high }: Axis, share: number): [number, number] {
  return [low, scale === "log" ? low * (high / low) ** share : low + (high - low) * share];
}

function spans(layer: Spans, { frame, fill, appearance }: MarkContext): Plot.Markish[] {
  const axis = layer.along === "x" ? frame.x.axis : frame.y.axis;
  const [from, to] = [channel(axis, layer.from), channel(axis, layer.to)];
  const reach = layer.share.map((share) => within(layer.along === "x" ? frame.y.axis : frame.x.axis, share));
  const [low, high] = [reach.map((ends) => ends[0]), reach.map((ends) => ends[1])];
  const place = layer.along === "x" ? { x1: from, x2: to, y1: low, y2: high } : { y1: from, y2: to, x1: low, x2: high };
  return [Plot.rect(data(from), { ...place, fill, fillOpacity: 0.2, stroke: appearance.colour, strokeOpacity: 0.25, clip })];
}
