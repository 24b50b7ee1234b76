//! The modules of a crate, and which file uses what of which other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tokens::{SourceToken, tokens, without_tests};

/// Longest chain of re-exports that is followed.
const LONGEST_CHAIN: usize = 20;

/// A crate's files, as their modules tell.
#[derive(Default)]
pub struct Crate {
    pub files: Vec<File>,
    modules: Vec<Module>,
}

/// A file of a crate.
pub struct File {
    /// The path below `src/`.
    pub path: PathBuf,
    /// Its lines without those for tests.
    pub lines: usize,
}

#[derive(Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What it defines.
    items: BTreeSet<String>,
    /// Imports and re-exports: name → path.
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Every path that is used in it.
    paths: Vec<Vec<String>>,
}

/// The target of a path.
#[derive(Clone, Copy)]
enum ImportTarget {
    Module(usize),
    Item(usize),
}

impl Crate {
    /// Of the folder `src` of a crate, from its `lib.rs`, or its `main.rs` if it has no other.
    pub fn read(src: &Path) -> Self {
        let mut found = Self::default();
        let root =
            ["lib.rs", "main.rs"].iter().map(|name| src.join(name)).find(|path| path.exists());
        if let Some(root) = root {
            found.add_file(src, &root, src, None);
        }
        found
    }

    fn add_file(&mut self, src: &Path, path: &Path, folder: &Path, parent: Option<usize>) -> usize {
        let source = fs::read_to_string(path).unwrap();
        let all = tokens(&source);
        let (kept, for_tests, test_lines) = without_tests(&all);
        let lines = source.lines().count() - test_lines;
        let file = self.files.len();
        self.files.push(File { path: path.strip_prefix(src).unwrap().to_owned(), lines });
        let module = self.add_module(file, parent);
        let mut reader = ModuleReader { of: self, src, for_tests, tokens: &kept };
        reader.module(0, module, folder);
        module
    }

    fn add_module(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Which file uses which others of the crate: by a path, an import, or an import of what another file
    /// re-exports, which is of the file that defines it.
    pub fn uses(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut uses: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            for path in &module.paths {
                let file = match self.resolve(index, path, 0) {
                    Some(ImportTarget::Item(file)) => file,
                    // A module's name alone uses nothing: what follows it does.
                    Some(ImportTarget::Module(_)) | None => continue,
                };
                if file != module.file {
                    uses.entry(module.file).or_default().insert(file);
                }
            }
            for path in &module.globs {
                if let Some(ImportTarget::Module(other)) = self.resolve(index, path, 0)
                    && self.modules[other].file != module.file
                {
                    uses.entry(module.file).or_default().insert(self.modules[other].file);
                }
            }
        }
        uses
    }

    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<ImportTarget> {
        if depth > LONGEST_CHAIN {
            return None;
        }
        let mut at = ImportTarget::Module(from);
        for (i, name) in path.iter().enumerate() {
            let ImportTarget::Module(module) = at else { return Some(at) };
            at = match name.as_str() {
                "crate" => ImportTarget::Module(0),
                "self" => at,
                "super" => ImportTarget::Module(self.modules[module].parent?),
                _ => self.member(module, name, i + 1 == path.len(), depth)?,
            };
        }
        Some(at)
    }

    /// A name in a module: the last of a path is an item sooner than a module.
    fn member(&self, module: usize, name: &str, last: bool, depth: usize) -> Option<ImportTarget> {
        let of = &self.modules[module];
        let child = of.children.get(name).map(|&child| ImportTarget::Module(child));
        let item = of.items.contains(name).then_some(ImportTarget::Item(of.file));
        let alias = || {
            let path = of.aliases.get(name)?;
            let is_itself = path.len() == 1 && path[0] == name;
            if is_itself { None } else { self.resolve(module, path, depth + 1) }
        };
        let glob = || {
            of.globs.iter().find_map(|path| match self.resolve(module, path, depth + 1)? {
                ImportTarget::Module(other) if other != module => {
                    self.member(other, name, last, depth + 1)
                }
                _ => None,
            })
        };
        if last {
            item.or_else(alias).or(child).or_else(glob)
        } else {
            child.or_else(alias).or(item).or_else(glob)
        }
    }
}

/// Reads the tokens of one file into modules.
struct ModuleReader<'a> {
    of: &'a mut Crate,
    src: &'a Path,
    for_tests: Vec<String>,
    tokens: &'a [SourceToken],
}

impl ModuleReader<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// Reads a module from `at` to the brace that closes it; past that.
    fn module(&mut self, mut at: usize, module: usize, folder: &Path) -> usize {
        let mut depth = 0;
        while at < self.tokens.len() {
            match self.text(at) {
                "{" => depth += 1,
                "}" if depth == 0 => return at + 1,
                "}" => depth -= 1,
                "mod" if depth == 0 && is_word(self.text(at + 1)) => {
                    at = self.child(at + 1, module, folder);
                    continue;
                }
                "use" if self.text(at + 1) != "<" => {
                    at = self.import(at + 1, module, &[]);
                    continue;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                    if depth == 0 =>
                {
                    let mut name = self.text(at + 1).to_owned();
                    if name == "mut" {
                        name = self.text(at + 2).to_owned();
                    }
                    self.of.modules[module].items.insert(name);
                }
                "macro_rules" => {
                    let name = self.text(at + 2).to_owned();
                    self.of.modules[module].items.insert(name);
                }
                word if is_word(word) && self.text(at + 1) == "::" => {
                    let (path, end) = self.path(at);
                    let follows = at > 0 && matches!(self.text(at - 1), "::" | ".");
                    if !follows {
                        self.of.modules[module].paths.push(path);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// `name;` or `name { … }`.
    fn child(&mut self, at: usize, module: usize, folder: &Path) -> usize {
        let name = self.text(at).to_owned();
        let below = folder.join(&name);
        if self.text(at + 1) == "{" {
            let child = self.of.add_module(self.of.modules[module].file, Some(module));
            self.of.modules[module].children.insert(name, child);
            return self.module(at + 2, child, &below);
        }
        let places = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
        let is_for_tests = self.for_tests.contains(&name);
        if let Some(path) = places.iter().find(|place| place.exists() && !is_for_tests) {
            let child = self.of.add_file(self.src, path, &below, Some(module));
            self.of.modules[module].children.insert(name, child);
        }
        at + 2
    }

    /// A tree of `use` under a prefix; past it, and past the `;` of the whole.
    fn import(&mut self, mut at: usize, module: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        loop {
            match self.text(at) {
                "::" => at += 1,
                "{" => {
                    at += 1;
                    while !matches!(self.text(at), "}" | "") {
                        at = self.import(at, module, &path);
                        at += usize::from(self.text(at) == ",");
                    }
                    return at + 1;
                }
                "*" => {
                    self.of.modules[module].globs.push(path);
                    return at + 1;
                }
                word if is_word(word) => {
                    // `a::{self}` is `a`.
                    if word != "self" || path.is_empty() {
                        path.push(word.to_owned());
                    }
                    at += 1;
                    if self.text(at) != "::" {
                        return self.leaf(at, module, path);
                    }
                }
                _ => return at + 1,
            }
        }
    }

    /// The local name of a path of `use`.
    fn leaf(&mut self, mut at: usize, module: usize, path: Vec<String>) -> usize {
        let mut name = path.last().cloned().unwrap_or_default();
        if self.text(at) == "as" {
            name = self.text(at + 1).to_owned();
            at += 2;
        }
        let of = &mut self.of.modules[module];
        of.paths.push(path.clone());
        of.aliases.entry(name).or_insert(path);
        at
    }

    /// A path in an expression or a type, and its end.
    fn path(&self, mut at: usize) -> (Vec<String>, usize) {
        let mut path = vec![self.text(at).to_owned()];
        while self.text(at + 1) == "::" && is_word(self.text(at + 2)) {
            at += 2;
            path.push(self.text(at).to_owned());
        }
        (path, at + 1)
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
