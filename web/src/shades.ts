// The colours of a heat map's cells: from pale to strong in one hue, readable in both themes; each cell also
// has its value written in it where there is room, and in the table.
import type { Axis } from "./chart";

const STOPS: [number, number, number][] = [
  [239, 243, 222],
  [168, 215, 184],
  [77, 171, 184],
  [40, 110, 165],
  [42, 45, 110],
];

function position(axis: Axis, value: number): number {
  const place =
    axis.scale === "log" ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
  return Number.isFinite(place) ? Math.max(0, Math.min(1, place)) : 0.5;
}

function mixed(place: number): [number, number, number] {
  const scaled = place * (STOPS.length - 1);
  const index = Math.min(STOPS.length - 2, Math.floor(scaled));
  const [from, to] = [STOPS[index] ?? [0, 0, 0], STOPS[index + 1] ?? [0, 0, 0]];
  const share = scaled - index;
  return [0, 1, 2].map((part) => Math.round((from[part] ?? 0) + ((to[part] ?? 0) - (from[part] ?? 0)) * share)) as [number, number, number];
}

/** The colour of a value. */
export function shade(axis: Axis, value: number): string {
  return `rgb(${mixed(position(axis, value)).join(",")})`;
}

/** What is written on it. */
export function ink(axis: Axis, value: number): string {
  const [red, green, blue] = mixed(position(axis, value));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 105 ? "#111" : "#fff";
}
