// Keyboard shortcuts, and the dialog that lists them.
import { all, element, typing } from "./dom";
import { focusSearch } from "./search";
import { nextTheme } from "./theme";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["t", "next theme"],
  ["j, k", "next and previous chart"],
  ["f", "filter the first table"],
  ["← →", "in a chart: previous and next value"],
  ["+ − 0", "in a chart: zoom in, out, all"],
  ["Shift ← →", "in a zoomed chart: pan"],
  ["Ctrl wheel", "over a chart: zoom"],
  ["?", "these keys"],
];

let dialog: HTMLDialogElement | null = null;

/** Opens or closes the dialog. */
export function help(): void {
  if (!dialog) {
    const rows = KEYS.flatMap(([key, does]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, does)]);
    const close = element("button", { type: "button", onclick: () => dialog?.close() }, "Close");
    dialog = element("dialog", { class: "help", "aria-labelledby": "help-title" }, element("h2", { id: "help-title" }, "Keys"), element("dl", {}, ...rows), close);
    document.body.append(dialog);
  }
  if (dialog.open) dialog.close();
  else dialog.showModal();
}

function step(by: number): void {
  const stages = all<HTMLElement>("figure.chart");
  const now = stages.findIndex((stage) => stage.contains(document.activeElement));
  const first = by > 0 ? 0 : stages.length - 1;
  const next = stages[now < 0 ? first : Math.max(0, Math.min(stages.length - 1, now + by))];
  next?.scrollIntoView({ block: "center" });
  // It is drawn when it comes near.
  requestAnimationFrame(() => next?.querySelector<HTMLElement>(".stage")?.focus());
}

const ACTS: Record<string, () => void> = {
  "/": focusSearch,
  "?": help,
  t: nextTheme,
  j: () => step(1),
  k: () => step(-1),
  f: () => document.querySelector<HTMLElement>(".filter input")?.focus(),
};

/** Listens to the keys. */
export function startKeys(): void {
  addEventListener("keydown", (event) => {
    const act = ACTS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (dialog?.open && event.key !== "?") return;
    event.preventDefault();
    act();
  });
}

/** The button for those who do not guess the key. */
export function helpButton(): HTMLButtonElement {
  return element("button", { type: "button", title: "Keys (?)", "aria-label": "Keys", onclick: help }, "?");
}
