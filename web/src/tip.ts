// The tip that says what is pointed at. Arrow keys walk from mark to mark as the mouse would.
import { announce, element } from "./dom";
import { type Hit, nearest } from "./hits";

export interface Tip {
  /** Forgets what was drawn before. */
  clear: () => void;
}

/** Adds a tip to a stage; `current` finds what is drawn when it is first pointed at. */
export function tip(stage: HTMLElement, current: () => Hit[]): Tip {
  const bubble = element("div", { class: "tip", hidden: true });
  const ring = element("div", { class: "ring", hidden: true });
  stage.append(ring, bubble);
  let known: Hit[] | null = null;
  let at = -1;
  const all = () => (known ??= current());

  const show = (index: number, aloud: boolean) => {
    at = index;
    const hit = index < 0 ? undefined : all()[index];
    bubble.hidden = ring.hidden = !hit;
    if (!hit) return;
    const lines = hit.say();
    bubble.replaceChildren(...lines.map((line, place) => element(place === 0 ? "b" : "span", {}, line)));
    settle(bubble, ring, hit, stage.clientWidth);
    if (aloud) announce(lines.join(", "));
  };
  const clear = () => {
    known = null;
    show(-1, false);
  };

  stage.addEventListener("pointermove", (event) => {
    // What moves is not pointed at; to look for it would slow the drag.
    if (stage.classList.contains("dragging")) return;
    const place = stage.getBoundingClientRect();
    show(nearest(all(), event.clientX - place.left, event.clientY - place.top), false);
  });
  stage.addEventListener("pointerleave", () => show(-1, false));
  stage.addEventListener("blur", () => show(-1, false));
  stage.addEventListener("keydown", (event) => {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const next = walk(event.key, at, all().length);
    if (next === null) return;
    event.preventDefault();
    show(next, true);
  });
  return { clear };
}

function walk(key: string, at: number, length: number): number | null {
  const far = Math.max(1, Math.round(length / 20));
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, PageDown: far, PageUp: -far };
  const step = steps[key];
  if (key === "Escape") return -1;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  if (step === undefined || length === 0) return null;
  return Math.max(0, Math.min(length - 1, at < 0 ? 0 : at + step));
}

function settle(bubble: HTMLElement, ring: HTMLElement, hit: Hit, width: number): void {
  const [x, y] = [Math.max(0, Math.min(width, (hit.x1 + hit.x2) / 2)), Math.max(0, hit.y1)];
  ring.style.left = `${hit.x1 - 5}px`;
  ring.style.top = `${hit.y1 - 5}px`;
  ring.style.width = `${hit.x2 - hit.x1 + 10}px`;
  ring.style.height = `${hit.y2 - hit.y1 + 10}px`;
  const left = Math.max(0, Math.min(width - bubble.offsetWidth, x - bubble.offsetWidth / 2));
  const above = y - bubble.offsetHeight - 10;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${above >= -40 ? above : hit.y2 + 12}px`;
}
