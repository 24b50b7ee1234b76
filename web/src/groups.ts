// How a group looks: a colour, and a symbol, dash and hatching of its own, so that colour is never alone.
import type { Chart, Tone } from "./chart";
import { shape } from "./dom";

export interface Appearance {
  colour: string;
  symbol: Symbol;
  hollow: boolean;
  dash: string;
  hatch: number;
}

export type Symbol = "circle" | "square" | "triangle" | "diamond" | "times" | "plus" | "star" | "wye";

const SYMBOLS: Symbol[] = ["circle", "square", "triangle", "diamond", "plus", "star", "wye", "times"];
const DASHES = ["", "7 3", "2 3", "10 3 2 3", "5 5", "1 4", "12 4", "8 2 2 2 2 2"];
export const COLOURS = 8;

/** What tones mean looks the same in every chart. */
const TONES: Record<Exclude<Tone, "plain">, Omit<Appearance, "colour">> = {
  steady: { symbol: "circle", hollow: false, dash: "", hatch: 0 },
  warmup: { symbol: "circle", hollow: true, dash: "2 3", hatch: 1 },
  excluded: { symbol: "times", hollow: true, dash: "1 4", hatch: 2 },
  faster: { symbol: "triangle", hollow: false, dash: "", hatch: 0 },
  slower: { symbol: "wye", hollow: false, dash: "7 3", hatch: 1 },
  equivalent: { symbol: "square", hollow: false, dash: "", hatch: 0 },
  inconclusive: { symbol: "circle", hollow: true, dash: "2 3", hatch: 2 },
  baseline: { symbol: "diamond", hollow: true, dash: "6 4", hatch: 3 },
  interference: { symbol: "plus", hollow: true, dash: "2 3", hatch: 2 },
};

const NONE: Appearance = { colour: "var(--ink-soft)", symbol: "circle", hollow: false, dash: "", hatch: 0 };

/** The appearance of every group of a chart; plain ones of equal rank take the next colour, symbol and dash. */
export function appearances(chart: Chart): Appearance[] {
  let rank = 0;
  return chart.groups.map(({ tone }) => {
    if (tone !== "plain") return { colour: `var(--tone-${tone})`, ...TONES[tone] };
    const place = rank % COLOURS;
    const turn = Math.floor(rank / COLOURS);
    rank += 1;
    return {
      colour: `var(--c${place + 1})`,
      symbol: SYMBOLS[place] ?? "circle",
      hollow: turn > 0,
      // The ninth has the colour of the first, not its dash.
      dash: DASHES[(place + turn) % DASHES.length] ?? "",
      hatch: place,
    };
  });
}

export function appearanceOf(all: Appearance[], group: number | null): Appearance {
  return (group === null ? undefined : all[group]) ?? NONE;
}

/** The hatchings: lines at another angle each; the first is solid. */
const HATCHES = ["", "M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 8L8 0M0 0L8 8", "M0 4H8M4 0V8", "M2 2h1M6 6h1"];

/** A pattern that fills with a colour and a hatching. */
export function pattern(id: string, appearance: Appearance, opacity: number): SVGElement {
  return shape(
    "pattern",
    { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
    shape("rect", { width: 8, height: 8, fill: appearance.colour, "fill-opacity": opacity }),
    shape("path", { d: HATCHES[appearance.hatch % HATCHES.length] ?? "", stroke: "var(--paper)", "stroke-width": 1.2, fill: "none" }),
  );
}
