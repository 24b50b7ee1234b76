// The figures of a page: their data are loaded when one comes near the window.
import type { Chart } from "./chart";
import { all, element } from "./dom";
import { figure, say } from "./figure";
import { load } from "./load";
import { metricSwitch } from "./metrics";
import { onChosen, wanted } from "./state";

const NEAR = "600px";
let charts: Map<string, Chart> | null = null;
let asked = false;
const near = new Set<HTMLElement>();

function page(): string {
  return document.documentElement.dataset.page ?? "";
}

/** What `data/PAGE.js` calls: JSON, deflated and in base64. */
export function takeCharts(of: string, packed: string): void {
  if (of !== page()) return;
  unpacked(packed).then((given) => {
    charts = new Map(given.map((chart) => [chart.id, chart]));
    for (const place of all<HTMLElement>("figure.chart")) {
      const [chart] = chartsOf(place);
      if (chart) say(place, chart);
    }
    near.forEach(drawOnce);
  }, missing);
}

async function unpacked(packed: string): Promise<Chart[]> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text()) as Chart[];
}

function missing(): void {
  for (const place of all<HTMLElement>("figure.chart .plot")) {
    place.replaceChildren(element("p", { class: "missing" }, `data/${page()}.js could not be loaded; the tables on this page have the results.`));
  }
}

function ask(): void {
  if (asked) return;
  asked = true;
  load(`data/${encodeURIComponent(page())}.js`, missing);
}

/** The chart of a place, and those that are shown in its figure when the reader switches. */
function chartsOf(place: HTMLElement): Chart[] {
  const own = charts?.get(place.dataset.chart ?? "");
  return own ? [own, ...[...(charts ?? new Map<string, Chart>()).values()].filter((it) => it.instead_of === own.id)] : [];
}

function drawOnce(place: HTMLElement): void {
  const own = chartsOf(place);
  const box = place.querySelector<HTMLElement>(".plot");
  const [chart] = own;
  if (!chart || !box || place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  if (own.length === 1) {
    figure(box, chart, nameOf(place));
    return;
  }
  const show = (next: Chart) => {
    say(place, next);
    drawn.update(next);
  };
  const { list, first } = metricSwitch(own, nameOf(place), show);
  say(place, first);
  box.before(list);
  const drawn = figure(box, first, nameOf(place));
}

function nameOf(place: HTMLElement): string {
  return place.id.replace(/^chart-/, "");
}

/** Watches the page's figures, and goes to the one that a link names. */
export function startFigures(): void {
  // The charts of a run under way come with its messages.
  if (document.querySelector("main[data-live]")) return;
  const figures = all<HTMLElement>("figure.chart[data-chart]");
  if (figures.length === 0) return;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !(target instanceof HTMLElement)) continue;
        observer.unobserve(target);
        near.add(target);
        if (charts) drawOnce(target);
        else ask();
      }
    },
    { rootMargin: NEAR },
  );
  for (const place of figures) observer.observe(place);
  addEventListener("beforeprint", () => figures.forEach(drawOnce));
  onChosen(go);
  go();
}

function go(): void {
  const name = wanted();
  if (name) document.getElementById(`chart-${name}`)?.scrollIntoView();
}
