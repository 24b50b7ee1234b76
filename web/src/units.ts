// How numbers are written on axes and tips. Data are in base units; an axis says what people read.
import type { Axis } from "./chart";

/** Digits enough to tell values apart that differ by `step`. */
export function plain(value: number, step = 0): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  const digits = step > 0 ? Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9))) : size >= 100 ? 0 : 3;
  const text = value.toLocaleString("en", {
    minimumFractionDigits: step > 0 ? digits : 0,
    maximumFractionDigits: digits,
  });
  return text === "-0" ? "0" : text;
}

/** Four significant digits in the unit that people read: `12.41 GB/s`. */
export function human(value: number | null, axis: Axis): string {
  if (value === null) return "–";
  if (axis.scale === "date") return date(value);
  if (axis.scale === "band") return axis.categories[Math.round(value)] ?? "";
  const inUnits = value / axis.per;
  const text = inUnits.toLocaleString("en", { maximumSignificantDigits: 4 });
  return axis.unit ? `${text} ${axis.unit}` : text;
}

/** The value as it is stored, for those who want every digit. */
export function exact(value: number | null, axis: Axis): string {
  if (value === null) return "–";
  if (axis.scale === "date") return new Date(value * 1000).toISOString();
  if (axis.scale === "band") return human(value, axis);
  return axis.per === 1 ? String(value) : `${human(value, axis)} = ${value}`;
}

export function date(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

/** What an axis is called: `median (GB/s)`. */
export function heading(axis: Axis): string {
  if (axis.scale === "date") return axis.label.includes("UTC") || !axis.label ? axis.label : `${axis.label} (UTC)`;
  if (!axis.unit) return axis.label;
  return axis.label ? `${axis.label} (${axis.unit})` : axis.unit;
}
