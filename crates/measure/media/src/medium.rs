//! Which stacks of layers can be.

use std::fmt;
use std::path::Path;

use plumb_machine::Root;
use rustix::fs::{Access, access};

use crate::layer::{AesKey, LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::layers::LAYERS;
use crate::needs::MissingNeed;

/// A stack of layers, from below, each with its option; the last one gives a folder.
#[derive(Debug)]
pub struct Medium(Vec<(&'static MediumLayer, String)>);

/// The layer of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static MediumLayer> {
    LAYERS.iter().copied().find(|layer| layer.name == name)
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (layer, option)) in self.0.iter().enumerate() {
            let plus = if place > 0 { "+" } else { "" };
            write!(f, "{plus}{}", layer.name)?;
            if !option.is_empty() {
                write!(f, ":{option}")?;
            }
        }
        Ok(())
    }
}

impl Medium {
    /// Reads `LAYER[:OPTION]+…`.
    ///
    /// # Errors
    /// The error, and a stack that works.
    pub fn parse(text: &str) -> Result<Self, String> {
        let medium = Self(text.split('+').map(parse_layer).collect::<Result<_, _>>()?);
        match medium.wrong() {
            None => Ok(medium),
            Some(why) => Err(format!("{why}; try medium={}", medium.mended())),
        }
    }

    /// The layers, from below, with their options.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = (&'static MediumLayer, &str)> {
        self.0.iter().map(|(layer, option)| (*layer, option.as_str()))
    }

    /// Whether it has this layer.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(layer, _)| layer.name == name)
    }

    /// The folder that it is, if it is no more than a folder elsewhere.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.0
            .iter()
            .find(|(layer, _)| layer.takes == LayerOption::Path)
            .map(|(_, path)| Path::new(path))
    }

    /// What this machine, or this user, lacks for it; nothing is tried.
    #[must_use]
    pub fn missing(&self, root: &Root) -> Option<MissingNeed> {
        if let Some(folder) = self.folder() {
            return not_writable(root, folder);
        }
        if !rustix::process::geteuid().is_root() {
            return Some(MissingNeed::new("a medium needs root", "start plumb as root"));
        }
        self.0.iter().find_map(|(layer, _)| (layer.missing)(root))
    }

    /// Why these can't lie on each other.
    fn wrong(&self) -> Option<String> {
        let mut below: Option<&MediumLayer> = None;
        for (layer, _) in &self.0 {
            let name = layer.name;
            let gives = below.map_or(LayerSurface::Folder, |below| below.gives);
            let fits = match layer.on {
                LayerBase::Nothing => below.is_none(),
                LayerBase::Folder => gives == LayerSurface::Folder,
                LayerBase::Device => gives == LayerSurface::Device,
                LayerBase::Filesystem(wanted) => below.is_some_and(|below| below.name == wanted),
            };
            if !fits {
                return Some(match layer.on {
                    LayerBase::Nothing => {
                        format!("`{name}` needs no layer below it and must come first")
                    }
                    LayerBase::Folder => format!("`{name}` needs a folder below it, not a device"),
                    LayerBase::Device => format!("`{name}` needs a device below it"),
                    LayerBase::Filesystem(wanted) => format!("`{name}` needs {wanted} below it"),
                });
            }
            below = Some(layer);
        }
        let last = below.filter(|last| last.gives == LayerSurface::Device)?;
        Some(format!("`{}` is a device without a filesystem", last.name))
    }

    /// The nearest stack that can be: the layers in their usual order, with what they lack.
    fn mended(&self) -> String {
        let overlays_need = self.of_rank(3).find_map(|(layer, _)| match layer.on {
            LayerBase::Filesystem(name) => named(name),
            _ => None,
        });
        let needs_device = self.0.iter().any(|(layer, _)| rank(layer) < 3);
        let mut mended = Self(Vec::new());
        // One base, the first that was typed; all that needs a device gets one.
        mended.extend(self.of_rank(0).take(1));
        if mended.0.is_empty() && (needs_device || overlays_need.is_some()) {
            mended.extend(named("ram").map(|layer| (layer, "")));
        }
        mended.extend(self.of_rank(1));
        // One filesystem: the one that an overlay needs, or the first that was typed.
        if let Some(layer) = overlays_need {
            mended.extend([(layer, "")]);
        } else if self.of_rank(2).next().is_some() {
            mended.extend(self.of_rank(2).take(1));
        } else if needs_device {
            mended.extend(named("ext4").map(|layer| (layer, "")));
        }
        mended.extend(self.of_rank(3));
        if mended.wrong().is_none() { mended.to_string() } else { "ram+ext4".into() }
    }

    /// The layers of this rank, in the order in which they were typed.
    fn of_rank(&self, wanted: usize) -> impl Iterator<Item = (&'static MediumLayer, &str)> {
        self.layers().filter(move |(layer, _)| rank(layer) == wanted)
    }

    /// Lays more layers on top; one that is there already is left out.
    fn extend<'o>(&mut self, layers: impl IntoIterator<Item = (&'static MediumLayer, &'o str)>) {
        for (layer, option) in layers {
            if !self.has(layer.name) {
                self.0.push((layer, option.to_owned()));
            }
        }
    }
}

/// One layer, as `LAYER` or `LAYER:OPTION`.
fn parse_layer(part: &str) -> Result<(&'static MediumLayer, String), String> {
    let (name, option) = part.split_once(':').unwrap_or((part, ""));
    let layer = named(name).ok_or_else(|| unknown(name))?;
    match (layer.takes, option) {
        (LayerOption::Path, "") => return Err(format!("`{name}` needs {}", layer.takes.words())),
        (_, "") if !part.contains(':') => {}
        (LayerOption::Nothing, _) => return Err(format!("`{name}` takes no option")),
        (takes, "") => return Err(format!("`{name}:` takes {}", takes.words())),
        (LayerOption::Size, size) => {
            plumb_units::parse_bytes(size).map_err(|error| error.to_string())?;
        }
        (LayerOption::KeySize, size) => {
            AesKey::of_option(size)
                .ok_or_else(|| format!("`{name}:{size}`: {name} takes {}", layer.takes.words()))?;
        }
        // What a filesystem takes is known to its mount only.
        (LayerOption::MountOptions, _) => {}
        (LayerOption::Path, path) if path.starts_with('/') => {}
        (LayerOption::Path, path) => {
            return Err(format!("`{name}:{path}`: {name} takes {}", layer.takes.words()));
        }
    }
    Ok((layer, option.to_owned()))
}

/// Why files can't be made in a folder; None if they can.
fn not_writable(root: &Root, folder: &Path) -> Option<MissingNeed> {
    let shown = folder.display();
    let place = root.path(&folder.to_string_lossy());
    if !place.is_dir() {
        return Some(MissingNeed::new(format!("{shown} is not a folder"), "name an existing one"));
    }
    let may = access(place, Access::WRITE_OK | Access::EXEC_OK);
    may.err().map(|error| {
        MissingNeed::new(format!("{shown} can't be written to: {error}"), "name another folder")
    })
}

/// Where layers usually lie: devices, what maps them, filesystems, and what lies on these.
fn rank(layer: &MediumLayer) -> usize {
    match (layer.on, layer.gives) {
        (LayerBase::Nothing | LayerBase::Folder, LayerSurface::Device) => 0,
        (LayerBase::Device, LayerSurface::Device) => 1,
        (LayerBase::Device, LayerSurface::Folder | LayerSurface::Target) => 2,
        _ => 3,
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name).collect();
    format!("no layer is called `{name}`; use {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::Medium;
    use crate::layers::LAYERS;

    #[test]
    fn stacks_that_can_be_are_read_and_written_the_same() {
        for text in [
            "ram+ext4",
            "loop:2GiB+dm-crypt+ext4:data=journal,nobarrier",
            "zram+btrfs:compress=zstd",
            "ram+ext4+fscrypt",
            "ram+ext4+fscrypt:aes-128",
            "ram+luks:aes-128+ext4",
            "gocryptfs",
            "ram+xfs+gocryptfs",
            "ram+ext4+loop+ext2",
            "ram+dm-crypt+raw",
            "folder:/var/tmp",
        ] {
            assert_eq!(Medium::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_lie_on_each_other_is_refused_with_one_that_can() {
        for (text, why, instead) in [
            ("ext4", "`ext4` needs a device below it", "ram+ext4"),
            ("ram", "`ram` is a device without a filesystem", "ram+ext4"),
            ("ext4+ram", "`ext4` needs a device below it", "ram+ext4"),
            ("loop:1GiB", "`loop` is a device without a filesystem", "loop:1GiB+ext4"),
            ("ram+fscrypt", "`fscrypt` needs ext4 below it", "ram+ext4+fscrypt"),
            ("ram+xfs+fscrypt", "`fscrypt` needs ext4 below it", "ram+ext4+fscrypt"),
            ("fscrypt", "`fscrypt` needs ext4 below it", "ram+ext4+fscrypt"),
            ("ram+ext4+dm-crypt", "`dm-crypt` needs a device below it", "ram+dm-crypt+ext4"),
            ("loop+ram+ext4", "`ram` needs no layer below it", "loop+ext4"),
            ("ram+raw+gocryptfs", "`gocryptfs` needs a folder below it", "ram+ext4"),
            ("ram+raw+ext4", "`ext4` needs a device below it", "ram+raw"),
            ("ram+gocryptfs", "`gocryptfs` needs a folder below it", "ram+ext4+gocryptfs"),
        ] {
            let refused = Medium::parse(text).unwrap_err();
            assert!(refused.starts_with(why), "{text}: {refused}");
            assert!(refused.ends_with(&format!("; try medium={instead}")), "{text}: {refused}");
        }
        for (text, why) in [
            ("ram+ext5", "no layer is called `ext5`; use folder, "),
            ("", "no layer is called ``"),
            ("ram:+ext4", "`ram:` takes a size"),
            ("folder", "`folder` needs an absolute path"),
            ("folder:tmp", "`folder:tmp`: folder takes an absolute path"),
            ("folder:/tmp+gocryptfs", "`gocryptfs` needs a folder below it"),
            ("ram:much+ext4", "`much` is not a size"),
            ("ram+ext4+gocryptfs:x", "`gocryptfs` takes no option"),
            ("ram+ext4+fscrypt:aes-192", "`fscrypt:aes-192`: fscrypt takes aes-256 or aes-128"),
            ("ram+luks:+ext4", "`luks:` takes aes-256 or aes-128"),
        ] {
            assert!(Medium::parse(text).unwrap_err().starts_with(why), "{text}");
        }
    }

    #[test]
    fn every_layer_has_a_manual_that_says_what_people_need() {
        for layer in LAYERS {
            assert!(
                layer.manual.starts_with(&format!("# medium.{}\n", layer.name)),
                "{}",
                layer.name
            );
            for part in ["Is", "Needs", "Afterwards", "Pitfalls"] {
                assert!(layer.manual.contains(&format!("\n**{part}** ")), "{}: {part}", layer.name);
            }
            let examples = layer.manual.split("--set medium=").skip(1);
            let examples = examples.filter_map(|rest| rest.split_whitespace().next());
            let media: Vec<Medium> = examples.map(|text| Medium::parse(text).unwrap()).collect();
            assert!(media.iter().any(|medium| medium.has(layer.name)), "{}", layer.name);
        }
    }
}
