// Layers of very many dots or lines, on a canvas under the drawing: 100,000 samples follow a drag. Every
// sample is drawn; those that fall on one pixel are one dot, and of the part of a line that falls into one
// column of pixels the lowest and highest are kept, which no eye can tell from all of them.
import { type Dots, type Layer, type Line, size } from "./chart";
import { type Frame, whole } from "./frame";
import type { Appearance } from "./groups";

/** More marks than this in a layer are drawn on a canvas. */
export const DENSE = 2_000;

export function isDense(layer: Layer): layer is (Dots | Line) & { group: number | null } {
  return (layer.mark === "dots" || layer.mark === "line") && size(layer) > DENSE;
}

type Drawn = [Layer, Appearance];

/** Draws dense layers; `colour` resolves what an appearance says, to `rgb(…)`. */
export function drawDense(canvas: HTMLCanvasElement, layers: Drawn[], frame: Frame, colour: (of: string) => string): void {
  const ratio = Math.min(2, devicePixelRatio || 1);
  canvas.width = Math.round(frame.width * ratio);
  canvas.height = Math.round(frame.height * ratio);
  canvas.style.width = `${frame.width}px`;
  canvas.style.height = `${frame.height}px`;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  // Dots are written into pixels: as many rectangles would take ten times as long.
  const image = pen.createImageData(canvas.width, canvas.height);
  for (const [layer, appearance] of layers) {
    if (layer.mark === "dots") drawDots(image, layer, frame, ratio, channels(colour(appearance.colour)));
  }
  pen.putImageData(image, 0, 0);
  pen.scale(ratio, ratio);
  pen.beginPath();
  pen.rect(frame.left, frame.top, frame.width - frame.left - frame.right, frame.height - frame.top - frame.bottom);
  pen.clip();
  for (const [layer, appearance] of layers) {
    if (layer.mark !== "line") continue;
    pen.strokeStyle = colour(appearance.colour);
    drawLine(pen, layer, frame, appearance);
  }
}

/** A colour as a pixel. */
function channels(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A value's pixel, by sums alone: a scale's own function costs ten times as much. */
export function quick(placed: Frame["x"]): (value: number) => number {
  const { axis } = placed;
  const way = axis.scale === "log" ? Math.log : (value: number) => value;
  const { low, high } = whole(axis);
  const [from, to] = [placed.pixel(low), placed.pixel(high)];
  const slope = (to - from) / (way(high) - way(low));
  return (value) => from + (way(value) - way(low)) * slope;
}

/** Squares of two pixels of the page's. */
function drawDots(image: ImageData, layer: Dots, frame: Frame, ratio: number, colour: number): void {
  const [px, py] = [quick(frame.x), quick(frame.y)];
  const pixels = new Uint32Array(image.data.buffer);
  const side = Math.round(2 * ratio);
  const [left, right] = [frame.left * ratio, (frame.width - frame.right) * ratio - side];
  const [top, bottom] = [frame.top * ratio, (frame.height - frame.bottom) * ratio - side];
  for (let index = 0; index < layer.x.length; index += 1) {
    const x = (px(layer.x[index] ?? NaN) * ratio - side / 2) | 0;
    const y = (py(layer.y[index] ?? NaN) * ratio - side / 2) | 0;
    if (x < left || x > right || y < top || y > bottom) continue;
    for (let row = y * image.width + x, end = row + side * image.width; row < end; row += image.width) pixels.fill(colour, row, row + side);
  }
}

function drawLine(pen: CanvasRenderingContext2D, layer: Line, frame: Frame, appearance: Appearance): void {
  const [px, py] = [quick(frame.x), quick(frame.y)];
  pen.lineWidth = 1.2;
  pen.setLineDash(appearance.dash ? appearance.dash.split(" ").map(Number) : []);
  pen.beginPath();
  let [column, low, high, last, open] = [NaN, 0, 0, 0, false];
  const flush = () => {
    if (high !== low) { pen.lineTo(column, low); pen.lineTo(column, high); }
    pen.lineTo(column, last);
  };
  for (let index = 0; index < layer.x.length; index += 1) {
    const value = layer.y[index] ?? null;
    const x = Math.round(px(layer.x[index] ?? NaN));
    if (value === null) {
      if (open) flush();
      open = false;
      continue;
    }
    if (x < frame.left - 2 || x > frame.width + 2) { if (open) flush(); open = false; continue; }
    const y = py(value);
    if (!open) {
      pen.moveTo(x, y);
      [column, low, high, last, open] = [x, y, y, y, true];
    } else if (x === column) {
      [low, high, last] = [Math.min(low, y), Math.max(high, y), y];
    } else {
      flush();
      if (layer.steps) pen.lineTo(x, last);
      [column, low, high, last] = [x, y, y, y];
    }
  }
  if (open) flush();
  pen.stroke();
}
