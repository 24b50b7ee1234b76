// A run under way: messages (plumb.live/1) of the server, each all that changed since the one before. The
// page came with what was known when it was asked for.
import type { Chart } from "./chart";
import { all, element } from "./dom";
import { type Figure, figure, say } from "./figure";

interface Message {
  status: "running" | "complete" | "interrupted";
  says: string;
  whole: boolean;
  current: number | null;
  points: Point[];
  charts: Chart[];
  log: { at: number; text: string }[];
}

interface Point {
  index: number;
  name: string;
  figure: string;
  estimate: number | null;
  precision: string;
  reached: number | null;
  share: number | null;
  invocations: number;
  excluded: number;
  state: string;
  stop: string | null;
  flags: { flag: string; meaning: string; why: string }[];
}

const MOST_LINES = 100;
const figures = new Map<string, Figure>();

/** Follows the run, where the page is of one. */
export function startLive(): void {
  const main = document.querySelector<HTMLElement>("main[data-live]");
  const source = main?.dataset.live;
  if (!main || !source) return;
  const events = new EventSource(source);
  const lost = element("p", { class: "lost", role: "alert", hidden: true });
  main.querySelector(".answer")?.append(lost);
  let heard = new Date();
  events.addEventListener("message", (event: MessageEvent<string>) => {
    heard = new Date();
    lost.hidden = true;
    const message = JSON.parse(event.data) as Message;
    show(message);
    if (message.status === "running") return;
    events.close();
    over(main, message.status);
  });
  events.addEventListener("error", () => {
    const state = events.readyState === EventSource.CLOSED ? "Reload the page to continue." : "Trying again …";
    lost.textContent = `Connection lost; last update at ${heard.toLocaleTimeString("en-GB")}. ${state}`;
    lost.hidden = false;
  });
}

function show(message: Message): void {
  set("live-says", message.says);
  message.points.forEach(showPoint);
  for (const row of all<HTMLElement>("#live-points tr[data-point]")) {
    row.classList.toggle("current", message.status === "running" && row.dataset.point === String(message.current));
  }
  message.charts.forEach(showChart);
  showLog(message);
}

function set(id: string, text: string): void {
  const place = document.getElementById(id);
  if (place && place.textContent !== text) place.textContent = text;
}

function showPoint(point: Point): void {
  const row = document.querySelector(`#live-points tr[data-point="${point.index}"]`);
  const cell = (key: string) => row?.querySelector<HTMLElement>(`[data-cell="${key}"]`);
  const put = (key: string, value: number | null, ...content: (Node | string)[]) => {
    const place = cell(key);
    place?.replaceChildren(...content);
    if (place && value !== null) place.dataset.value = String(value);
  };
  put("figure", point.estimate, point.figure);
  put("precision", point.reached, ...(point.share === null ? [] : [bar(point.share)]), point.precision);
  const excluded = point.excluded > 0 ? ` (${point.excluded} excluded)` : "";
  put("invocations", point.invocations, `${point.invocations}${excluded}`);
  put("state", null, point.state);
  const state = cell("state");
  if (state) state.title = point.stop ?? "";
  const flags = point.flags.flatMap((it) => [element("span", { class: "flag", title: it.meaning || it.why }, it.flag), " "]);
  put("flags", null, ...flags);
}

/** How much of the way to the wanted precision is behind it; the text beside it says it, too. */
function bar(share: number): HTMLElement {
  const done = element("span");
  done.style.width = `${Math.round(Math.max(0, Math.min(1, share)) * 100)}%`;
  return element("span", { class: "share", "aria-hidden": "true" }, done);
}

function showChart(chart: Chart): void {
  const place = placeOf(chart);
  say(place, chart);
  const known = figures.get(chart.id);
  if (known) {
    known.update(chart);
    return;
  }
  const box = place.querySelector<HTMLElement>(".plot");
  if (box) figures.set(chart.id, figure(box, chart, place.id.replace(/^chart-/, "")));
}

/** The figure that the page has for a chart, or a new one. */
function placeOf(chart: Chart): HTMLElement {
  const given = all<HTMLElement>("figure.chart").find((it) => it.dataset.chart === chart.id);
  if (given) return given;
  const id = `chart-${chart.id.replace(/[^\w.]/g, "-")}`;
  const made = element("figure", { class: "chart", id, "data-chart": chart.id }, element("figcaption"), element("div", { class: "plot" }));
  document.getElementById("live-charts")?.append(made);
  return made;
}

function showLog({ log, whole }: Message): void {
  const list = document.getElementById("live-log");
  if (!list) return;
  if (whole) list.replaceChildren();
  list.append(...log.map(({ at, text }) => element("li", {}, `${at.toFixed(1)} s  ${text}`)));
  while (list.children.length > MOST_LINES) list.firstElementChild?.remove();
}

function over(main: HTMLElement, status: string): void {
  main.classList.add("over");
  const link = main.querySelector<HTMLAnchorElement>(".answer a");
  const to = link?.getAttribute("href") ?? "index.html";
  main.querySelector(".answer")?.prepend(element("p", { class: "ended", role: "status" }, `The run is ${status}. `, element("a", { href: to }, "See its scorecard")));
}
