// What the reader has chosen (sorting, filters, hidden groups, zoom) stands in the URL's hash, so that every
// view has a link. A hash without `=` is the browser's own link to an element and is left alone.

type Listener = () => void;
const listeners: Listener[] = [];

function read(): URLSearchParams {
  const hash = location.hash.slice(1);
  return new URLSearchParams(hash.includes("=") ? hash : "");
}

/** The value of `key` for the thing named `of`: `#filter=points:aes` is `filter` for `points`. */
export function chosen(key: string, of: string): string | null {
  for (const value of read().getAll(key)) {
    if (value.startsWith(`${of}:`)) return value.slice(of.length + 1);
  }
  return null;
}

/** Sets it, or takes it out with null. The page neither jumps nor gains an entry to go back to. */
export function choose(key: string, of: string, value: string | null): void {
  const parameters = read();
  const others = parameters.getAll(key).filter((other) => !other.startsWith(`${of}:`));
  parameters.delete(key);
  for (const other of others) parameters.append(key, other);
  if (value !== null && value !== "") parameters.append(key, `${of}:${value}`);
  const hash = [...parameters].map(([name, text]) => `${name}=${written(text)}`).join("&");
  try {
    history.replaceState(history.state, "", hash ? `#${hash}` : location.pathname + location.search);
  } catch {
    // A browser may refuse many changes in a short time; the view is right without its link.
  }
}

/** Escaped, but for what people can read in a link and no browser minds. */
function written(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%2C", ",");
}

/** The element that `#chart=…` asks for. */
export function wanted(): string | null {
  return read().get("chart");
}

/** Calls when the reader follows a link or goes back on the same page. */
export function onChosen(listener: Listener): void {
  listeners.push(listener);
}

addEventListener("hashchange", () => {
  for (const listener of listeners) listener();
});
