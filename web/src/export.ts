// Any chart as a file: SVG and PNG that look as the page does and need nothing of it, and CSV with the
// numbers as they are stored.
import { axisOf, type Chart, columns, type Layer, size } from "./chart";
import { element, resolved } from "./dom";

const COPIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
  "stroke-linecap", "stroke-miterlimit", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "opacity",
];
const MARGIN = 16;
const LINE = 18;

/** The drawing with its title, sentence and legend, without any need of the page's styles. */
export function svgText(chart: Chart, stage: HTMLElement): string {
  const drawn = stage.querySelector<SVGSVGElement>("svg.marks");
  if (!drawn) throw new Error(`${chart.id} is not drawn yet`);
  const [width, height] = [Number(drawn.getAttribute("width")), Number(drawn.getAttribute("height"))];
  const head = [chart.title, ...wrapped(chart.says, width / 6.3)];
  const foot = chart.notes.flatMap((note) => wrapped(note, width / 6.3));
  const top = MARGIN + head.length * LINE + 6;
  const legend = [...stage.parentElement?.querySelectorAll<HTMLElement>(".legend li") ?? []];
  const rows = legendRows(legend, width, top + 12);
  const below = (rows.at(-1)?.y ?? top) + (rows.length > 0 ? LINE : 0);
  const total = below + height + foot.length * LINE + MARGIN;
  const text = (lines: string[], from: number, first: boolean) =>
    lines.map((line, index) => label(line, MARGIN, from + index * LINE, first && index === 0)).join("");
  const outer = width + 2 * MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${outer}" height="${total}" viewBox="0 0 ${outer} ${total}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(chart.title)}</title><desc>${escaped(chart.says)}</desc>`,
    `<rect width="100%" height="100%" fill="${resolved("var(--paper)")}"/>`,
    text(head, MARGIN + 12, true),
    ...rows.map(({ item, x, y }) => `<g transform="translate(${x},${y - 12})">${serialized(item.querySelector("svg"))}</g>${label(item.textContent ?? "", x + swatch(item) + 6, y, false)}`),
    `<g transform="translate(${MARGIN},${below})">${canvasImage(stage, width, height)}${serialized(drawn)}</g>`,
    text(foot, below + height + 14, false),
    "</svg>",
  ].join("\n");
}

/** How wide the sign of a legend's item is. */
function swatch(item: HTMLElement): number {
  return Number(item.querySelector("svg")?.getAttribute("width") ?? 0);
}

function legendRows(items: HTMLElement[], width: number, from: number): { item: HTMLElement; x: number; y: number }[] {
  let [x, y] = [MARGIN, from];
  return items.map((item) => {
    const needed = swatch(item) + 22 + (item.textContent ?? "").length * 6.6;
    if (x > MARGIN && x + needed > width) [x, y] = [MARGIN, y + LINE];
    const place = { item, x, y };
    x += needed;
    return place;
  });
}

function label(line: string, x: number, y: number, strong: boolean): string {
  const colour = resolved(strong ? "var(--ink)" : "var(--ink-soft)");
  return `<text x="${x}" y="${y}" fill="${colour}" font-size="${strong ? 15 : 12}"${strong ? ' font-weight="600"' : ""}>${escaped(line)}</text>`;
}

function canvasImage(stage: HTMLElement, width: number, height: number): string {
  const canvas = stage.querySelector("canvas");
  if (!canvas || canvas.hidden) return "";
  return `<image width="${width}" height="${height}" xlink:href="${canvas.toDataURL("image/png")}"/>`;
}

/** A copy in which every element carries its own colours and fonts. */
function serialized(drawn: SVGElement | null): string {
  if (!drawn) return "";
  const copy = drawn.cloneNode(true) as SVGElement;
  const [from, to] = [[drawn, ...drawn.querySelectorAll<SVGElement>("*")], [copy, ...copy.querySelectorAll<SVGElement>("*")]];
  from.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of COPIED) to[index]?.setAttribute(name, style.getPropertyValue(name));
    to[index]?.removeAttribute("style");
    to[index]?.removeAttribute("class");
  });
  return new XMLSerializer().serializeToString(copy);
}

/** What XML does not allow, even escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (letter) => names[letter] ?? "").replace(NO_XML, "");
}

function wrapped(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The same as a picture, twice as fine as the page. */
export async function png(chart: Chart, stage: HTMLElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(chart, stage))}`;
  await image.decode();
  const canvas = element("canvas");
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => {
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error(`${chart.id} could not be rendered`))), "image/png");
  });
}

/** Every number of a chart, in base units: a row a mark. */
export function csvText(chart: Chart): string {
  const rows = [["mark", "group", "column", "index", "value", "tip"]];
  for (const layer of chart.layers) {
    const group = layer.group === null ? "" : chart.groups[layer.group]?.name ?? "";
    const tips = "tips" in layer ? layer.tips : [];
    for (const [column, values] of columns(layer)) {
      for (let index = 0; index < size(layer); index += 1) {
        rows.push([layer.mark, group, column, String(index), written(values[index], column, layer, chart), tips[index] ?? ""]);
      }
    }
  }
  return rows.map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

/** A number as it is, a category by its name. */
function written(value: number | null | undefined, column: string, layer: Layer, chart: Chart): string {
  if (value === null || value === undefined) return "";
  const axis = axisOf(column, layer, chart);
  return axis?.scale === "band" && Number.isInteger(value) ? axis.categories[value] ?? String(value) : String(value);
}

/** Quoted where it must be; a text that a spreadsheet would carry out gets an apostrophe. */
function quoted(field: string): string {
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(field) ? `'${field}` : field;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Hands a file to the reader. */
export function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A chart's name as a file's. */
export function fileName(chart: Chart, ending: string): string {
  return `${chart.id.replace(/[^\w.-]+/g, "-").slice(0, 100)}.${ending}`;
}
