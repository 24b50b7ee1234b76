// What can be pointed at in a drawing, and what is said of it: exact values, by mouse, finger or keyboard.
import type { Axis, Bars, Boxes, Cells, Dots, Intervals, Layer, Line, Band, Rules, Spans } from "./chart";
import type { Drawing } from "./draw";
import type { Frame } from "./frame";
import { reach } from "./marks";
import { exact, human } from "./units";

/** The rectangle of pixels of a mark (of a point: without area), and its lines of text. */
export interface Hit {
  x1: number;
  x2: number;
  y1: number;
  y2: number;
  say: () => string[];
}

/** Everything that can be pointed at and is seen, from left to right. */
export function hits(drawing: Drawing, groups: string[], colour: Axis | null): Hit[] {
  const { frame } = drawing;
  const right = frame.width - frame.right;
  return drawing.layers
    .flatMap((layer) => {
      const name = layer.group === null ? [] : [groups[layer.group] ?? ""];
      return hitsOf(layer, frame, colour).map((hit) => ({ ...hit, say: () => [...new Set([...name, ...hit.say()])].filter(Boolean) }));
    })
    .filter((hit) => hit.x2 >= frame.left && hit.x1 <= right && Number.isFinite(hit.x1 + hit.y1))
    .sort((a, b) => a.x1 - b.x1 || a.y1 - b.y1);
}

function hitsOf(layer: Layer, frame: Frame, colour: Axis | null): Hit[] {
  switch (layer.mark) {
    case "boxes": return ofBoxes(layer, frame);
    case "dots": return ofDots(layer, frame);
    case "intervals": return ofIntervals(layer, frame);
    case "line": return ofLine(layer, frame);
    case "band": return ofBand(layer, frame);
    case "bars": return ofBars(layer, frame);
    case "cells": return ofCells(layer, frame, colour);
    case "rules": return ofRules(layer, frame);
    case "spans": return ofSpans(layer, frame);
  }
}

function point(x: number, y: number, say: () => string[]): Hit {
  return { x1: x, x2: x, y1: y, y2: y, say };
}

function box(x1: number, x2: number, y1: number, y2: number, say: () => string[]): Hit {
  return { x1: Math.min(x1, x2), x2: Math.max(x1, x2), y1: Math.min(y1, y2), y2: Math.max(y1, y2), say };
}

/** `median: 12.41 GB/s = 12410000000`; a category needs no name before it. */
function named(axis: Axis, value: number | null, name = axis.label): string {
  const text = exact(value, axis);
  return axis.scale === "band" || !name ? text : `${name}: ${text}`;
}

/** A rectangle along an axis: values there, places across. */
function lying(along: "x" | "y", frame: Frame, near: number, far: number, from: number, to: number, say: () => string[]): Hit {
  return along === "x"
    ? box(frame.x.pixel(from), frame.x.pixel(to), frame.y.pixel(near), frame.y.pixel(far), say)
    : box(frame.x.pixel(near), frame.x.pixel(far), frame.y.pixel(from), frame.y.pixel(to), say);
}

function axes(along: "x" | "y", frame: Frame): [Axis, Axis] {
  return along === "x" ? [frame.x.axis, frame.y.axis] : [frame.y.axis, frame.x.axis];
}

function ofBoxes(layer: Boxes, frame: Frame): Hit[] {
  const [values, places] = axes(layer.along, frame);
  const [near, far] = reach(places, layer.at);
  return layer.at.map((at, index) => {
    const five: [string, number][] = [
      ["upper whisker", layer.high[index] ?? NaN],
      ["third quartile", layer.q3[index] ?? NaN],
      ["median", layer.median[index] ?? NaN],
      ["first quartile", layer.q1[index] ?? NaN],
      ["lower whisker", layer.low[index] ?? NaN],
    ];
    const say = () => [named(places, at), ...five.map(([name, value]) => named(values, value, name))];
    return lying(layer.along, frame, near[index] ?? at, far[index] ?? at, layer.low[index] ?? NaN, layer.high[index] ?? NaN, say);
  });
}

function ofDots(layer: Dots, frame: Frame): Hit[] {
  return layer.x.map((x, index) => {
    const y = layer.y[index] ?? NaN;
    return point(frame.x.pixel(x), frame.y.pixel(y), () => [layer.tips[index] ?? "", named(frame.x.axis, x), named(frame.y.axis, y)]);
  });
}

function ofIntervals(layer: Intervals, frame: Frame): Hit[] {
  const [values, places] = axes(layer.along, frame);
  return layer.at.map((at, index) => {
    const estimate = layer.estimate[index] ?? NaN;
    const say = () => [
      named(places, at),
      layer.tips[index] ?? "",
      named(values, estimate, "estimate"),
      `interval: ${end(values, layer.low[index])} to ${end(values, layer.high[index])}`,
    ];
    const [value, place] = layer.along === "x" ? [frame.x.pixel(estimate), frame.y.pixel(at)] : [frame.y.pixel(estimate), frame.x.pixel(at)];
    return layer.along === "x" ? point(value, place, say) : point(place, value, say);
  });
}

function end(axis: Axis, value: number | null | undefined): string {
  return value === null || value === undefined ? "no bound" : human(value, axis);
}

function ofLine(layer: Line, frame: Frame): Hit[] {
  return layer.x.flatMap((x, index) => {
    const y = layer.y[index] ?? null;
    return y === null ? [] : [point(frame.x.pixel(x), frame.y.pixel(y), () => [named(frame.x.axis, x), named(frame.y.axis, y)])];
  });
}

function ofBand(layer: Band, frame: Frame): Hit[] {
  return layer.x.map((x, index) => {
    const [low, high] = [layer.low[index] ?? NaN, layer.high[index] ?? NaN];
    const say = () => [named(frame.x.axis, x), `${human(low, frame.y.axis)} to ${human(high, frame.y.axis)}`];
    return box(frame.x.pixel(x), frame.x.pixel(x), frame.y.pixel(low), frame.y.pixel(high), say);
  });
}

function ofBars(layer: Bars, frame: Frame): Hit[] {
  const [values, places] = axes(layer.along, frame);
  const [near, far] = reach(places, layer.at);
  return layer.at.map((at, index) => {
    const [from, to] = [layer.from[index] ?? NaN, layer.to[index] ?? NaN];
    const say = () => [named(places, at), named(values, to - from), ...(from === 0 ? [] : [`from ${human(from, values)} to ${human(to, values)}`])];
    return lying(layer.along, frame, near[index] ?? at, far[index] ?? at, from, to, say);
  });
}

function ofCells(layer: Cells, frame: Frame, colour: Axis | null): Hit[] {
  const [x1, x2] = reach(frame.x.axis, layer.x, 0.5);
  const [y1, y2] = reach(frame.y.axis, layer.y, 0.5);
  return layer.x.map((x, index) => {
    const value = layer.value[index] ?? NaN;
    const say = () => [
      `${frame.x.axis.label} ${human(x, frame.x.axis)}`.trim(),
      `${frame.y.axis.label} ${human(layer.y[index] ?? NaN, frame.y.axis)}`.trim(),
      colour ? named(colour, value) : String(value),
    ];
    const [left, right] = [frame.x.pixel(x1[index] ?? x), frame.x.pixel(x2[index] ?? x)];
    return box(left, right, frame.y.pixel(y1[index] ?? 0), frame.y.pixel(y2[index] ?? 0), say);
  });
}

function ofRules(layer: Rules, frame: Frame): Hit[] {
  const [right, bottom] = [frame.width - frame.right, frame.height - frame.bottom];
  return layer.at.map((at, index) => {
    const axis = layer.along === "x" ? frame.x : frame.y;
    const [say, place] = [() => [layer.tips[index] ?? "", named(axis.axis, at)], axis.pixel(at)];
    return layer.along === "x" ? box(place, place, frame.top, bottom, say) : box(frame.left, right, place, place, say);
  });
}

function ofSpans(layer: Spans, frame: Frame): Hit[] {
  const [right, bottom] = [frame.width - frame.right, frame.height - frame.bottom];
  const axis = layer.along === "x" ? frame.x : frame.y;
  return layer.from.map((from, index) => {
    const to = layer.to[index] ?? from;
    const say = () => [layer.tips[index] ?? "", `${human(from, axis.axis)} to ${human(to, axis.axis)}`];
    const [near, far] = [axis.pixel(from), axis.pixel(to)];
    const share = layer.share[index] ?? 1;
    const [top, side] = [bottom - share * (bottom - frame.top), frame.left + share * (right - frame.left)];
    return layer.along === "x" ? box(near, far, top, bottom, say) : box(frame.left, side, near, far, say);
  });
}

const REACH = 28;

/** The mark that is pointed at: the nearest, where a point beats the area that it lies in. */
export function nearest(all: Hit[], x: number, y: number): number {
  let [best, least] = [-1, REACH];
  all.forEach((hit, index) => {
    const dx = Math.max(hit.x1 - x, 0, x - hit.x2);
    const dy = Math.max(hit.y1 - y, 0, y - hit.y2);
    const area = (hit.x2 - hit.x1) * (hit.y2 - hit.y1);
    const distance = Math.hypot(dx, dy) + (area > 0 ? 8 + Math.min(8, area / 40_000) : hit.x1 !== hit.x2 || hit.y1 !== hit.y2 ? 4 : 0);
    if (distance <= least) [best, least] = [index, distance];
  });
  return best;
}
