// The licences of what is bundled, as a comment at the head of the script: reports are copied to people who get
// nothing else. THIRD-PARTY.md at the root repeats it.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The folder of the package that a module is of; null for our own. */
function packageOf(id) {
  const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replace(/^\0/, "").replace(/\?.*$/, ""));
  return found?.[0] ?? null;
}

/** A package's name, version, licence and its text. */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((it) => /^(licen[cs]e|copying)/i.test(it));
  if (!license || !file) throw new Error(`${name} has no licence text: find its licence and add it here`);
  return { name: `${name} ${version}`, license, text: readFileSync(join(folder, file), "utf8").trim() };
}

/** What is said of some packages: each with its copyright, each text once. */
export function notices(folders) {
  const texts = new Map();
  for (const { name, license, text } of folders.map(noticeOf)) {
    const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
    const copyrights = lines.filter((line) => /^Copyright/.test(line));
    // One text with several of them is several licences, each with its own.
    const shared = copyrights.length === 1;
    const rest = lines.filter((line) => !shared || line !== copyrights[0]).join("\n").replace(/\n{3,}/g, "\n\n").trim();
    const known = texts.get(rest) ?? { license, packages: [] };
    known.packages.push(shared ? `${name}: ${copyrights[0]}` : name);
    texts.set(rest, known);
  }
  return [...texts].map(([text, { license, packages }]) => `${license}\n${packages.join("\n")}\n\n${text}`).join("\n\n----\n\n");
}

/** Puts the licences at the head of the script. */
export const withLicences = {
  name: "licences",
  enforce: "post",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      const used = Object.entries(chunk.modules).filter(([, module]) => module.renderedLength > 0);
      const folders = new Set(used.map(([id]) => packageOf(id)).filter((it) => it !== null && existsSync(it)));
      const text = notices([...folders].sort());
      if (text.includes("*/")) throw new Error("a licence text contains the end of a comment");
      chunk.code = `/*!\nplumb: MIT OR Apache-2.0. It contains:\n\n${text}\n*/\n${chunk.code}`;
    }
  },
};
