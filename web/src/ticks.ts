// Where ticks stand and what is written at them, in the units that people read.
import type { Axis } from "./chart";
import { plain } from "./units";

export interface Ticks {
  at: number[];
  text: (value: number) => string;
  /** Whether the texts have units of their own. */
  units?: boolean;
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];

/** About `count` ticks between two values in units that people read; of what is counted, none between two counts. */
export function ticks(axis: Axis, low: number, high: number, count: number, counted = false): Ticks {
  if (axis.scale === "band") return bandTicks(axis, low, high);
  if (axis.scale === "log" && BINARY.includes(axis.unit)) return binaryTicks(axis, low, high, count);
  if (axis.scale === "log") return logTicks(low, high, count, 10);
  return linearTicks(low, high, counted ? Math.min(count, high - low) : count);
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** What is written at a date: as much as tells it from its neighbours, and below it what changed since the one before. */
export function dateText(at: Date, index: number, all: Date[]): string {
  const span = (all.at(-1)?.getTime() ?? 0) - (all[0]?.getTime() ?? 0);
  const iso = at.toISOString();
  const month = at.toLocaleString("en", { month: "short", timeZone: "UTC" });
  const day = `${at.getUTCDate()} ${month}`;
  const [fine, coarse] =
    span < 3 * MINUTE ? [iso.slice(11, 19), day]
    : span < 2 * DAY ? [iso.slice(11, 16), day]
    : span < 400 * DAY ? [day, iso.slice(0, 4)]
    : [month, iso.slice(0, 4)];
  const before = all[index - 1]?.toISOString();
  const same = before?.slice(0, span < 2 * DAY ? 10 : 4) === iso.slice(0, span < 2 * DAY ? 10 : 4);
  return same ? fine : `${fine}\n${coarse}`;
}

function bandTicks(axis: Axis, low: number, high: number): Ticks {
  const [from, to] = [Math.min(low, high), Math.max(low, high)];
  const at = axis.categories.map((_, index) => index).filter((index) => index >= from && index <= to);
  return { at, text: (value) => axis.categories[value] ?? "" };
}

function linearTicks(low: number, high: number, count: number): Ticks {
  if (!(high > low)) return { at: [low], text: (value) => plain(value) };
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const at = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) at.push(index * step);
  return { at, text: (value) => plain(Math.abs(value) < step / 2 ? 0 : value, step) };
}

/** Powers of two of bytes, each in the unit that suits it: 4 KiB, 1 MiB. */
function binaryTicks(axis: Axis, low: number, high: number, count: number): Ticks {
  const { at } = logTicks(low, high, count, 2);
  const text = (value: number) => {
    const bytes = value * axis.per;
    const power = Math.max(0, Math.min(BINARY.length - 1, Math.floor(Math.log2(bytes) / 10 + 1e-9)));
    return `${plain(bytes / 1024 ** power)} ${BINARY[power] ?? ""}`;
  };
  return { at, text, units: true };
}

/** Powers of the base; between them 2 and 5 where there is room; evenly where less than a power is seen. */
function logTicks(low: number, high: number, count: number, base: number): Ticks {
  const powers = Math.log(high / low) / Math.log(base);
  if (!(low > 0) || powers < 1) return linearTicks(low, high, count);
  const every = Math.max(1, Math.ceil(powers / count));
  const factors = base === 10 && powers * 3 <= count ? [1, 2, 5] : [1];
  const at = [];
  const first = Math.floor(Math.log(low) / Math.log(base));
  for (let power = first; power <= first + powers + 2; power += 1) {
    if (((power % every) + every) % every !== 0) continue;
    for (const factor of factors) {
      const value = factor * base ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) at.push(value);
    }
  }
  return at.length > 1 ? { at, text: (value) => plain(value) } : linearTicks(low, high, count);
}
