// Scripts with data, added when they are needed: a page from disk may not fetch anything.
import { element } from "./dom";

/** Adds a script; it hands its data to one of plumb's hooks. */
export function load(source: string, failed: () => void): void {
  document.head.append(element("script", { src: source, onerror: failed }));
}
