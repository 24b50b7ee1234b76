// Search over all pages. The index is loaded at the first use.
import { announce, element } from "./dom";
import { load } from "./load";

/** Title, page, kind. */
export type Entry = [string, string, string];

const MOST = 12;
let index: Entry[] | null = null;
let asked = false;
let field: HTMLInputElement | null = null;
let list: HTMLElement | null = null;
let at = -1;

/** What `data/search.js` calls. */
export function takeIndex(entries: Entry[]): void {
  index = entries;
  show();
}

/** The entries that have all words, those that begin with them first. */
export function found(entries: Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const fitting = entries.flatMap((entry) => {
    const [title, , kind] = entry;
    const full = `${title} ${kind}`.toLowerCase();
    if (!words.every((word) => full.includes(word))) return [];
    return [{ entry, rank: words.reduce((sum, word) => sum + (full.startsWith(word) ? 0 : full.includes(` ${word}`) ? 1 : 2), 0) }];
  });
  return fitting.sort((a, b) => a.rank - b.rank).slice(0, MOST).map(({ entry }) => entry);
}

function ask(): void {
  if (asked) return;
  asked = true;
  load("data/search.js", () => announce("data/search.js could not be loaded; search is unavailable."));
}

function show(): void {
  if (!field || !list) return;
  const entries = found(index ?? [], field.value);
  const typed = field.value.trim() !== "";
  at = -1;
  const none = typed && index !== null && entries.length === 0;
  list.replaceChildren(
    ...entries.map(([title, page, kind], place) =>
      element("a", { role: "option", id: `found-${place}`, "aria-selected": "false", href: page, tabindex: "-1" }, title, " ", element("small", {}, kind)),
    ),
    ...(none ? [element("span", { role: "option", "aria-disabled": "true", "aria-selected": "false" }, "nothing found")] : []),
  );
  open(typed && index !== null);
}

function open(wide: boolean): void {
  if (!field || !list) return;
  list.hidden = !wide;
  field.setAttribute("aria-expanded", String(wide));
  if (!wide) field.removeAttribute("aria-activedescendant");
}

function select(step: number): void {
  const options = [...(list?.querySelectorAll("a") ?? [])];
  if (options.length === 0) return;
  options[at]?.setAttribute("aria-selected", "false");
  at = (at + step + options.length) % options.length;
  options[at]?.setAttribute("aria-selected", "true");
  field?.setAttribute("aria-activedescendant", options[at]?.id ?? "");
  options[at]?.scrollIntoView({ block: "nearest" });
}

function onKey(event: KeyboardEvent): void {
  if (event.key === "ArrowDown") select(1);
  else if (event.key === "ArrowUp") select(-1);
  else if (event.key === "Escape") {
    open(false);
    field?.blur();
  } else if (event.key === "Enter") list?.querySelectorAll<HTMLAnchorElement>("a")[Math.max(0, at)]?.click();
  else return;
  event.preventDefault();
}

/** Puts the cursor into the search box. */
export function focusSearch(): void {
  field?.focus();
  field?.select();
}

/** The box. */
export function searchBox(): HTMLElement {
  field = element("input", {
    type: "search", placeholder: "Search  /", "aria-label": "Search runs, workloads, series and words", role: "combobox", autocomplete: "off",
    spellcheck: "false", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", onfocus: ask, oninput: show,
  });
  field.addEventListener("keydown", onKey);
  list = element("div", { id: "found", role: "listbox", "aria-label": "Search results", hidden: true });
  const box = element("div", { class: "search" }, field, list);
  box.addEventListener("focusout", (event) => {
    if (!box.contains(event.relatedTarget as Node | null)) open(false);
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  return box;
}
