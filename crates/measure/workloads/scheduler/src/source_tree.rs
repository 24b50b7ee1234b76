//! Trees of source files: read and distinguished by a digest, copied with their times, or made from a seed.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use plumb_protocol::{Failure, SplitMix64};

/// The files of a tree, by name; without git's folder, which no build needs.
pub(crate) struct SourceTree {
    root: PathBuf,
    /// Folders before what is in them.
    entries: Vec<(PathBuf, EntryKind)>,
}

/// The kind of an entry of a tree; its number goes into the digest.
#[derive(Clone, Copy, PartialEq)]
enum EntryKind {
    Folder,
    File,
    Link,
}

impl SourceTree {
    /// Lists a tree.
    ///
    /// # Errors
    /// When a folder can't be read.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self { root: root.into(), entries: Vec::new() };
        tree.list(Path::new(""))
            .map_err(|error| Failure::io(root.display().to_string(), &error))?;
        Ok(tree)
    }

    fn list(&mut self, inner: &Path) -> io::Result<()> {
        let mut entries: Vec<_> =
            fs::read_dir(self.root.join(inner))?.collect::<Result<_, io::Error>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = inner.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && path != Path::new(".git") {
                self.entries.push((path.clone(), EntryKind::Folder));
                self.list(&path)?;
            } else if kind.is_file() {
                self.entries.push((path, EntryKind::File));
            } else if kind.is_symlink() {
                self.entries.push((path, EntryKind::Link));
            }
        }
        Ok(())
    }

    /// FNV-1a over names, contents, targets of links, and whether files are executable.
    ///
    /// # Errors
    /// When a file can't be read.
    pub(crate) fn digest(&self) -> Result<String, Failure> {
        let mut hash = Fnv::new();
        let mut buffer = vec![0; 1 << 16];
        for (path, kind) in &self.entries {
            let whole = self.root.join(path);
            hash.add(path.as_os_str().as_bytes());
            hash.add(&[0, *kind as u8]);
            let added = match kind {
                EntryKind::Folder => Ok(()),
                EntryKind::Link => {
                    fs::read_link(&whole).map(|target| hash.add(target.as_os_str().as_bytes()))
                }
                EntryKind::File => hash.add_file(&whole, &mut buffer),
            };
            added.map_err(|error| Failure::io(whole.display().to_string(), &error))?;
        }
        Ok(format!("{:016x}", hash.0))
    }

    /// A copy at `target`, which must not exist: contents, modes and times of modification, by which make goes.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn copy_to(&self, target: &Path) -> Result<(), Failure> {
        let copied = fs::create_dir(target).and_then(|()| {
            self.entries
                .iter()
                .try_for_each(|(path, kind)| copy(&self.root.join(path), &target.join(path), *kind))
        });
        copied.map_err(|error| {
            Failure::io(format!("copying {} to {}", self.root.display(), target.display()), &error)
        })
    }
}

fn copy(from: &Path, to: &Path, kind: EntryKind) -> io::Result<()> {
    match kind {
        EntryKind::Folder => fs::create_dir(to),
        EntryKind::Link => symlink(fs::read_link(from)?, to),
        EntryKind::File => {
            let changed = fs::metadata(from)?.modified()?;
            fs::copy(from, to)?;
            // A file that is not to be written is written to by nobody, but may be opened to read.
            File::open(to)?.set_modified(changed)
        }
    }
}

/// FNV-1a of 64 bits: tells trees apart that differ by chance, not by malice.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_file(&mut self, path: &Path, buffer: &mut [u8]) -> io::Result<()> {
        let mut file = File::open(path)?;
        let mode = file.metadata()?.permissions().mode();
        self.add(&[u8::from(mode & 0o111 != 0)]);
        loop {
            match file.read(buffer)? {
                0 => return Ok(()),
                length => self.add(&buffer[..length]),
            }
        }
    }
}

/// The seed of the tree that is the same everywhere.
const SEED: u64 = 0x706c_756d_6200_0001;
/// Functions of a file, and steps of a function.
const SHAPE: (u64, u64) = (6, 8);

const MAKEFILE: &str = "\
CFLAGS = -O2
OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))

program: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)

%.o: %.c tree.h
\t$(CC) $(CFLAGS) -c -o $@ $<
";

/// Writes a tree of so many C files with a Makefile into a folder that exists, and gives what the program that is
/// built of them prints: each file is a chain of arithmetic that is done here, too.
///
/// # Errors
/// When it can't be written.
pub(crate) fn generate(folder: &Path, files: usize) -> Result<u32, Failure> {
    let mut random = SplitMix64::new(SEED);
    let mut header = String::new();
    let mut calls = String::new();
    let mut value = 1_u32;
    for file in 0..files {
        let mut text = String::from("#include \"tree.h\"\n");
        let mut body = String::new();
        for function in 0..SHAPE.0 {
            let name = format!("part_{file}_{function}");
            let (steps, after) = steps(&mut random, value);
            value = after;
            let _ = write!(
                text,
                "\nunsigned {name}(unsigned x)\n{{\n    unsigned i;\n{steps}    return x;\n}}\n"
            );
            body.push_str(&format!("    x = {name}(x);\n"));
            header.push_str(&format!("unsigned {name}(unsigned x);\n"));
        }
        let _ = write!(text, "\nunsigned file_{file}(unsigned x)\n{{\n{body}    return x;\n}}\n");
        header.push_str(&format!("unsigned file_{file}(unsigned x);\n"));
        calls.push_str(&format!("    x = file_{file}(x);\n"));
        write(folder, &format!("file_{file}.c"), &text)?;
    }
    write(folder, "tree.h", &format!("int printf(const char *, ...);\n{header}"))?;
    let main = format!(
        "#include \"tree.h\"\n\nint main(int argc, char **argv)\n{{\n    unsigned x = (unsigned)argc;\n    (void)argv;\n{calls}    printf(\"%u\\n\", x);\n    return 0;\n}}\n"
    );
    write(folder, "main.c", &main)?;
    write(folder, "Makefile", MAKEFILE)?;
    Ok(value)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| Failure::io(format!("writing {}", path.display()), &e))
}

fn below(random: &mut SplitMix64, limit: u64) -> u32 {
    u32::try_from(random.below(limit)).unwrap_or(0)
}

/// The steps of a function in C, and what they make of a value. C's `unsigned` has 32 bits wherever plumb runs.
fn steps(random: &mut SplitMix64, mut x: u32) -> (String, u32) {
    let mut text = String::new();
    for _ in 0..SHAPE.1 {
        // All four are drawn for every step, in this order: the tree is part of what is measured.
        let a = below(random, 1 << 31) | 1;
        let b = below(random, 1 << 31);
        let shift = 1 + below(random, 30);
        let times = 2 + below(random, 6);
        match random.below(4) {
            0 => {
                let _ = writeln!(text, "    x = x * {a}u + {b}u;");
                x = x.wrapping_mul(a).wrapping_add(b);
            }
            1 => {
                let _ = writeln!(text, "    if (x & {a}u) x ^= x >> {shift}; else x += {b}u;");
                x = if x & a == 0 { x.wrapping_add(b) } else { x ^ (x >> shift) };
            }
            2 => {
                let _ = writeln!(
                    text,
                    "    for (i = 0; i < {times}; i++) x = (x << {shift}) ^ (x >> 3) ^ (i + {b}u);"
                );
                for i in 0..times {
                    x = (x << shift) ^ (x >> 3) ^ i.wrapping_add(b);
                }
            }
            _ => {
                let _ = writeln!(
                    text,
                    "    switch (x % 4) {{ case 0: x += {a}u; break; case 1: x ^= {b}u; break; case 2: x *= {a}u; break; default: x -= {b}u; }}"
                );
                x = match x % 4 {
                    0 => x.wrapping_add(a),
                    1 => x ^ b,
                    2 => x.wrapping_mul(a),
                    _ => x.wrapping_sub(b),
                };
            }
        }
    }
    (text, x)
}

#[cfg(test)]
mod tests {
    use super::{SourceTree, generate};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_generated_tree_is_the_same_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        let printed = generate(folder.path(), 2).unwrap();
        let digest = SourceTree::read(folder.path()).unwrap().digest().unwrap();
        assert_eq!((printed, digest.as_str()), (181_900_139, "2c75619f90893729"));
    }

    #[test]
    fn a_copy_is_alike_and_a_changed_tree_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        let to = folder.path().join("to");
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::create_dir_all(from.join(".git/objects")).unwrap();
        fs::write(from.join("inner/file"), "text").unwrap();
        symlink("inner/file", from.join("link")).unwrap();
        let tree = SourceTree::read(&from).unwrap();
        tree.copy_to(&to).unwrap();
        assert!(!to.join(".git").exists());
        let of = |path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(of(from.join("inner/file")), of(to.join("inner/file")));
        let digest = || SourceTree::read(&to).unwrap().digest().unwrap();
        let before = digest();
        assert_eq!(before, tree.digest().unwrap());
        fs::write(to.join("inner/file"), "texT").unwrap();
        assert_ne!(before, digest());
    }
}
