// The switch of a figure whose chart is there in several metrics, each computed of the other: a rate and a time.
import type { Chart } from "./chart";
import { element } from "./dom";
import { choose, chosen, onChosen } from "./state";

/** The name of each chart's metric: that of the axis on which they differ. */
function names(charts: Chart[]): string[] {
  const axes = [(it: Chart) => it.colour, (it: Chart) => it.x, (it: Chart) => it.y];
  const differ = axes.find((axis) => new Set(charts.map((it) => axis(it)?.label)).size === charts.length);
  return charts.map((it) => differ?.(it)?.label ?? it.id);
}

/** Buttons that show one of these charts, and the one that is chosen first. */
export function metricSwitch(charts: Chart[], name: string, show: (chart: Chart) => void): { list: HTMLElement; first: Chart } {
  const all = names(charts);
  const current = () => Math.max(0, all.indexOf(chosen("metric", name) ?? ""));
  const buttons = all.map((text, index) => element("button", { type: "button", onclick: () => pick(index) }, text));
  const press = (at: number) => {
    for (const [index, button] of buttons.entries()) button.setAttribute("aria-pressed", String(index === at));
  };
  const pick = (at: number) => {
    choose("metric", name, at === 0 ? null : (all[at] ?? null));
    turn(at);
  };
  const turn = (at: number) => {
    press(at);
    const chart = charts[at];
    if (chart) show(chart);
  };
  press(current());
  onChosen(() => turn(current()));
  const list = element("div", { class: "metrics", role: "group", "aria-label": "Metric" }, ...buttons);
  return { list, first: charts[current()] ?? (charts[0] as Chart) };
}
