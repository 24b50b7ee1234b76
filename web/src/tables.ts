// Tables that sort and filter, with what the reader chose in the link.
import { all, announce, element } from "./dom";
import { choose, chosen, onChosen } from "./state";

const collator = new Intl.Collator("en", { numeric: true });
/** Below so many rows a filter would be in the way. */
const FEW = 8;
type Way = "ascending" | "descending";

/** Makes the page's tables work. */
export function startTables(): void {
  all<HTMLTableElement>("table[data-sort], table[data-filter]").forEach((table, index) => {
    const name = table.id || slugged(table.caption?.textContent ?? "") || `table-${index + 1}`;
    const rows = [...table.tBodies].reduce((sum, body) => sum + body.rows.length, 0);
    if (table.hasAttribute("data-sort") && rows > 1) sortable(table, name);
    if (table.hasAttribute("data-filter") && (rows >= FEW || chosen("filter", name) !== null)) filterable(table, name);
  });
}

function headings(table: HTMLTableElement): HTMLTableCellElement[] {
  return [...(table.tHead?.rows[table.tHead.rows.length - 1]?.cells ?? [])];
}

/** A text as a name in a link. */
function slugged(text: string): string {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{N}±×%]+/gu, "-");
}

function slug(heading: HTMLTableCellElement): string {
  return slugged(heading.textContent ?? "") || `column-${heading.cellIndex + 1}`;
}

function sortable(table: HTMLTableElement, name: string): void {
  const original = [...table.tBodies].map((body) => [...body.rows]);
  const columns = headings(table);
  const slugs = columns.map(slug);
  columns.forEach((heading, index) => {
    if (!heading.textContent?.trim()) return;
    const title = heading.textContent.trim();
    const sort = () => {
      choose("sort", name, next(heading.getAttribute("aria-sort"), slugs[index] ?? "", numeric(table, index)));
      restore();
      announce(`sorted by ${title}: ${heading.getAttribute("aria-sort") ?? "original order"}`);
    };
    // A title may be a link to what it means: beside that stands the button, and the rest of the cell acts too.
    heading.append(" ", element("button", { type: "button", class: "sort", "aria-label": `Sort by ${title}`, title: "Sort" }));
    heading.addEventListener("click", (event) => {
      if (!(event.target instanceof Element && event.target.closest("a"))) sort();
    });
  });
  const restore = () => {
    const [column, way] = (chosen("sort", name) ?? "").split(/,(?=[^,]*$)/);
    const index = slugs.indexOf(column ?? "");
    for (const heading of columns) heading.removeAttribute("aria-sort");
    for (const [place, body] of [...table.tBodies].entries()) body.append(...(original[place] ?? []));
    if (index < 0) return;
    const direction: Way = way === "descending" ? "descending" : "ascending";
    columns[index]?.setAttribute("aria-sort", direction);
    for (const body of table.tBodies) body.append(...sorted([...body.rows], index, direction));
  };
  onChosen(restore);
  restore();
}

/** Numbers begin with the greatest; the third click gives the first order back. */
function next(now: string | null, column: string, numbers: boolean): string | null {
  const ways: Way[] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
  if (now === ways[1]) return null;
  return `${column},${now === ways[0] ? ways[1] : ways[0]}`;
}

function numeric(table: HTMLTableElement, index: number): boolean {
  return [...table.tBodies].some((body) => [...body.rows].some((row) => typeof value(row.cells[index]) === "number"));
}

/** Rows of class `group` head those below them, and rows of class `more` belong to the one above. */
function sorted(rows: HTMLTableRowElement[], index: number, way: Way): HTMLTableRowElement[] {
  const blocks: HTMLTableRowElement[][][] = [[]];
  for (const row of rows) {
    if (row.classList.contains("group")) blocks.push([[row]], []);
    else if (row.classList.contains("more")) (blocks.at(-1)?.at(-1) ?? []).push(row);
    else blocks.at(-1)?.push([row]);
  }
  for (const block of blocks) block.sort((a, b) => compared(a[0]?.cells[index], b[0]?.cells[index], way));
  return blocks.flat(2);
}

/** What has no value comes last, whichever way. */
function compared(a: HTMLTableCellElement | undefined, b: HTMLTableCellElement | undefined, way: Way): number {
  const [left, right] = [value(a), value(b)];
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  const order = typeof left === "number" && typeof right === "number" ? left - right : collator.compare(String(left), String(right));
  return way === "ascending" ? order : -order;
}

/** What a cell says in `data-value`; of a number what its title begins with, or its text where that is all of it. */
function value(cell: HTMLTableCellElement | undefined): number | string | null {
  const text = cell?.textContent?.trim() || null;
  const number = cell?.classList.contains("num") ? cell.title.split(" ", 1)[0] || text : null;
  const given = cell?.dataset.value ?? number;
  return given === null || given === "" || Number.isNaN(Number(given)) ? text : Number(given);
}

function filterable(table: HTMLTableElement, name: string): void {
  const caption = table.caption?.textContent?.trim() || table.getAttribute("aria-label") || "this table";
  const count = element("span", { class: "count", "aria-live": "polite" });
  const field = element("input", { type: "search", placeholder: "Filter rows", "aria-label": `Filter ${caption}`, autocomplete: "off", spellcheck: "false" });
  const place = table.closest(".scroll") ?? table;
  place.before(element("div", { class: "filter" }, field, count));
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.classList.contains("group"));
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = true;
    for (const row of rows) {
      const text = row.textContent?.toLowerCase() ?? "";
      if (!row.classList.contains("more")) shown = words.every((word) => text.includes(word));
      row.hidden = !shown;
    }
    for (const head of all<HTMLTableRowElement>("tr.group", table)) head.hidden = words.length > 0 && !followed(head);
    const whole = rows.filter((row) => !row.classList.contains("more"));
    const left = whole.filter((row) => !row.hidden).length;
    count.textContent = words.length > 0 ? `${left} of ${whole.length}` : "";
  };
  field.addEventListener("input", () => {
    choose("filter", name, field.value.trim());
    apply();
  });
  const restore = () => {
    field.value = chosen("filter", name) ?? "";
    apply();
  };
  onChosen(restore);
  restore();
}

/** Whether a row is shown below a heading row. */
function followed(head: HTMLTableRowElement): boolean {
  for (let row = head.nextElementSibling; row && !row.classList.contains("group"); row = row.nextElementSibling) {
    if (!(row as HTMLTableRowElement).hidden) return true;
  }
  return false;
}
