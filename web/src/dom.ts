// Elements are made here and nowhere else: text becomes text, never markup.

type Attributes = Record<string, string | boolean | EventListener>;
type Child = Node | string;

/** An element with attributes (`onclick` and the like are listeners) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for a part of a drawing. */
export function shape(name: string, attributes: Record<string, string | number> = {}, ...children: Node[]): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

export function all<T extends Element>(selector: string, within: ParentNode = document): T[] {
  return [...within.querySelectorAll<T>(selector)];
}

/** Tells those who can't see what has changed. */
export function announce(text: string): void {
  let region = document.getElementById("announcer");
  if (!region) {
    region = element("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" });
    document.body.append(region);
  }
  region.textContent = text;
}

/** Whether what is typed goes into a field. */
export function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** What a colour is now in this theme; canvases and files do not know variables. */
export function resolved(colour: string): string {
  const probe = element("span", { hidden: true });
  probe.style.color = colour;
  document.body.append(probe);
  const computed = getComputedStyle(probe).color;
  probe.remove();
  return computed;
}
