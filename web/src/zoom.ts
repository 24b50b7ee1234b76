// Zoom and pan along the horizontal axis: buttons, keys (+ − 0, Shift with an arrow), Ctrl with the wheel,
// and a drag where it is zoomed. The wheel alone scrolls the page.
import type { Axis } from "./chart";
import { type Frame, type Range, whole } from "./frame";

/** Places between 0 and 1 along an axis, so that a logarithm zooms as it is drawn. */
function way(axis: Axis): [(value: number) => number, (place: number) => number] {
  return axis.scale === "log" ? [Math.log, Math.exp] : [(value) => value, (place) => place];
}

/** The part that is seen after zooming by `factor` around a share of it; null when that is all. */
export function zoomed(axis: Axis, seen: Range | null, factor: number, around = 0.5): Range | null {
  const [to, from] = way(axis);
  const all = whole(axis);
  const now = seen ?? all;
  const [low, high] = [to(now.low), to(now.high)];
  const length = (high - low) * factor;
  if (length >= to(all.high) - to(all.low)) return null;
  if (length < (to(all.high) - to(all.low)) * 1e-5) return seen;
  return within(axis, low + (high - low - length) * around, length, from);
}

/** The part that is seen after moving by a share of it. */
export function panned(axis: Axis, seen: Range | null, share: number): Range | null {
  if (!seen) return null;
  const [to, from] = way(axis);
  const length = to(seen.high) - to(seen.low);
  return within(axis, to(seen.low) + length * share, length, from);
}

function within(axis: Axis, start: number, length: number, from: (place: number) => number): Range {
  const [to] = way(axis);
  const all = whole(axis);
  const low = Math.max(to(all.low), Math.min(to(all.high) - length, start));
  return { low: from(low), high: from(low + length) };
}

/** Lets a stage be zoomed; `seen` is what is seen now, `see` shows another part. */
export function zooming(stage: HTMLElement, axis: () => Axis, frame: () => Frame | null, seen: () => Range | null, see: (range: Range | null) => void): void {
  const across = () => {
    const now = frame();
    return now ? now.width - now.left - now.right : 1;
  };
  stage.addEventListener("wheel", (event) => {
    const now = frame();
    if (!event.ctrlKey || !now) return;
    event.preventDefault();
    const around = (event.clientX - stage.getBoundingClientRect().left - now.left) / across();
    see(zoomed(axis(), seen(), event.deltaY < 0 ? 0.8 : 1.25, Math.max(0, Math.min(1, around))));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => {
    const key = event.shiftKey && event.key.startsWith("Arrow") ? `Shift${event.key}` : event.key;
    const acts: Record<string, () => void> = {
      "+": () => see(zoomed(axis(), seen(), 0.5)),
      "=": () => see(zoomed(axis(), seen(), 0.5)),
      "-": () => see(zoomed(axis(), seen(), 2)),
      "0": () => see(null),
      ShiftArrowLeft: () => see(panned(axis(), seen(), -0.2)),
      ShiftArrowRight: () => see(panned(axis(), seen(), 0.2)),
    };
    const act = acts[key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  dragging(stage, (pixels, from) => see(panned(axis(), from, -pixels / across())), seen);
}

function dragging(stage: HTMLElement, drag: (pixels: number, from: Range | null) => void, seen: () => Range | null): void {
  let start: { x: number; from: Range | null } | null = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !seen()) return;
    start = { x: event.clientX, from: seen() };
    stage.classList.add("dragging");
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (start) drag(event.clientX - start.x, start.from);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    stage.addEventListener(name, () => {
      start = null;
      stage.classList.remove("dragging");
    });
  }
}
