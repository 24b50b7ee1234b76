// The numbers of a chart as tables, made when somebody opens them.
import { type Axis, axisOf, type Chart, columns, type Layer, size } from "./chart";
import { element } from "./dom";
import { date, heading, plain } from "./units";

const WORDS: Record<string, string> = { q1: "first quartile", q3: "third quartile", at: "", x: "", y: "", value: "" };

/** The numbers of a chart: a table for each kind of mark. */
export function numbers(chart: () => Chart): HTMLElement {
  const made = element("details", { class: "data" }, element("summary", {}, "Table"));
  const fill = () => {
    if (!made.open) return;
    made.querySelectorAll(".scroll").forEach((old) => void old.remove());
    made.append(...tables(chart()));
  };
  made.addEventListener("toggle", fill);
  made.addEventListener("changed", fill);
  return made;
}

function tables(chart: Chart): HTMLElement[] {
  const found = new Map<string, { titles: string[]; rows: HTMLElement[] }>();
  for (const layer of chart.layers) {
    const titles = ["group", ...columns(layer).map(([name]) => title(name, layer, chart)), ...(told(layer) ? ["label"] : [])];
    const table = found.get(titles.join("\t")) ?? { titles, rows: [] };
    found.set(titles.join("\t"), table);
    for (let index = 0; index < size(layer); index += 1) table.rows.push(row(chart, layer, index));
  }
  return [...found.values()].map(({ titles, rows }) => {
    const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
    const table = element("table", { class: "data" }, element("thead", {}, head), element("tbody", {}, ...rows));
    return element("div", { class: "scroll", tabindex: "0" }, table);
  });
}

function told(layer: Layer): boolean {
  return "tips" in layer && layer.tips.some(Boolean);
}

/** `first quartile, bandwidth (GB/s)`. */
function title(column: string, layer: Layer, chart: Chart): string {
  const axis = axisOf(column, layer, chart);
  const what = axis ? heading(axis) : "";
  return [WORDS[column] ?? column, what].filter(Boolean).join(", ") || "name";
}

function row(chart: Chart, layer: Layer, index: number): HTMLElement {
  const group = layer.group === null ? "" : chart.groups[layer.group]?.name ?? "";
  const cells = columns(layer).map(([column, values]) => cell(values[index] ?? null, axisOf(column, layer, chart)));
  const tip = "tips" in layer && told(layer) ? [element("td", {}, layer.tips[index] ?? "")] : [];
  return element("tr", {}, element("th", { scope: "row" }, group), ...cells, ...tip);
}

function cell(value: number | null, axis: Axis | null): HTMLElement {
  if (value === null) return element("td", {}, "none");
  if (axis?.scale === "band") return element("td", {}, axis.categories[Math.round(value)] ?? "");
  if (axis?.scale === "date") return element("td", { class: "when" }, date(value));
  const per = axis?.per ?? 1;
  return element("td", { class: "num" }, plain(value / per, stepOf(value / per)));
}

/** What tells five digits apart. */
function stepOf(value: number): number {
  return value === 0 ? 1 : 10 ** (Math.floor(Math.log10(Math.abs(value))) - 4);
}
