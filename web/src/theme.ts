// Dark and light: as the system says until the reader chooses, remembered where the browser keeps things
// (a page from disk may not).
import { element } from "./dom";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "plumb-theme";
const changed: (() => void)[] = [];

function remembered(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === kept) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds for this page only.
  }
}

let current: Theme = "auto";

function apply(theme: Theme): void {
  current = theme;
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const listener of changed) listener();
}

/** Calls when colours change: drawings on a canvas must be drawn again. */
export function onTheme(listener: () => void): void {
  changed.push(listener);
}

/** Takes the next theme; what the button says follows. */
export function nextTheme(): void {
  apply(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length] ?? "auto");
  remember(current);
}

/** Before the first paint, so that a dark page does not flash. */
export function startTheme(): void {
  apply(remembered());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(current));
}

/** The button that changes it. */
export function themeButton(): HTMLButtonElement {
  const button = element("button", { type: "button", class: "theme", onclick: nextTheme });
  const say = () => {
    const sign = { auto: "◐", light: "☀", dark: "☾" }[current];
    button.textContent = `${sign} ${current}`;
    button.setAttribute("aria-label", `Theme: ${current}; click to change`);
    button.title = "Theme (t)";
  };
  onTheme(say);
  say();
  return button;
}
