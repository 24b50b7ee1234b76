//! References by name: those that plumb ships and those that the user added.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_model::{Expectation, PlannedPoint, Point, Settings};
use plumb_reference::{Reference, ReferenceFigure, SHIPPED, is_reference_name, shipped};
use plumb_report::KnownReference;
use plumb_suite::nearest;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::ui::Ui;

/// How a reference is named where a run or an expectation could stand.
const PREFIX: &str = "reference:";

/// The name in `reference:NAME`; None if it is something else.
pub fn named(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)
}

/// The folder of the references that the user added; None if neither XDG_DATA_HOME nor HOME is set.
fn folder() -> Option<PathBuf> {
    Some(locate::data_home()?.join("plumb/references"))
}

/// Where a reference that the user adds is kept.
///
/// # Errors
/// When the name cannot be one of a file, or there is no folder for it.
pub fn file_of(name: &str) -> Result<PathBuf> {
    if !is_reference_name(name) {
        return Err(CommandError::usage(format!("`{name}` is not a name of a reference"))
            .hint("use lower-case letters, digits, `-` and `.`"));
    }
    let folder = folder().ok_or_else(|| {
        CommandError::usage("can't locate the references: neither XDG_DATA_HOME nor HOME is set")
    })?;
    Ok(folder.join(format!("{name}.toml")))
}

/// A reference from a file.
///
/// # Errors
/// When it can't be read or is not a reference.
pub fn read(file: &Path) -> Result<Reference> {
    let text = fs::read_to_string(file)
        .map_err(|error| CommandError::file(format!("can't read {}: {error}", file.display())))?;
    parse(&text, &file.display().to_string())
}

fn parse(text: &str, origin: &str) -> Result<Reference> {
    Reference::parse(text)
        .map_err(|error| CommandError::file(format!("{origin} is not a reference: {error}")))
}

/// All references by name. Of an added one that can't be read there is only the reason.
pub fn all() -> (Vec<KnownReference>, Vec<CommandError>) {
    let mut known = Vec::new();
    let mut broken = Vec::new();
    for (name, text) in SHIPPED {
        match parse(text, name) {
            Ok(reference) => {
                known.push(KnownReference { reference, file: None, is_of_this_kind: false });
            }
            Err(error) => broken.push(error),
        }
    }
    // The kind of this machine is read only if there is something to compare it with.
    let mut kind = None;
    for file in added_files() {
        match read_added(&file) {
            Ok(reference) => {
                let here =
                    kind.get_or_insert_with(|| plumb_machine::machine(&locate::root()).fingerprint);
                let is_of_this_kind = reference.kind.as_ref() == Some(&*here);
                let file = Some(file.display().to_string());
                known.push(KnownReference { reference, file, is_of_this_kind });
            }
            Err(error) => broken.push(error),
        }
    }
    known.sort_by(|one, other| one.reference.name.cmp(&other.reference.name));
    (known, broken)
}

/// Reports added references that cannot be read, and what to do about each.
pub fn warn_of(broken: &[CommandError], ui: &Ui) {
    for error in broken {
        let lines: Vec<String> = std::iter::once(error.to_string())
            .chain(error.hints().iter().map(|hint| format!("  hint: {hint}")))
            .collect();
        ui.warn(&lines.join("\n"));
    }
}

/// An added reference, whose name is that of its file.
fn read_added(file: &Path) -> Result<Reference> {
    let named = file.file_stem().unwrap_or_default().to_string_lossy();
    let remove = format!("plumb reference remove {named}    removes it");
    let reference = read(file).map_err(|error| error.hint(remove.clone()))?;
    if reference.name != named {
        let name = &reference.name;
        let message = format!("{} has the reference `{name}`", file.display());
        return Err(CommandError::file(message)
            .hint(remove)
            .hint(format!("rename it to {name}.toml")));
    }
    Ok(reference)
}

/// The files that the user added, by name.
fn added_files() -> Vec<PathBuf> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

/// The reference of this name; an added one before one that plumb ships.
///
/// # Errors
/// When there is none; the nearest name is the hint.
pub fn find(name: &str) -> Result<Reference> {
    if is_reference_name(name) {
        let file = file_of(name)?;
        if file.exists() {
            return read_added(&file);
        }
        if let Some(reference) = shipped(name) {
            return reference.map_err(|error| CommandError::bug(format!("{name}: {error}")));
        }
    }
    let names: Vec<String> = all().0.into_iter().map(|known| known.reference.name).collect();
    let error = CommandError::usage(format!("no reference is called `{name}`"));
    Err(match nearest(name, &names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("plumb reference list    lists all of them"),
    })
}

/// The settings of a figure as points of its workload have them. Those of plug-ins stay as they are.
pub fn settings(figure: &ReferenceFigure) -> Settings {
    let Some(workload) = plumb_workloads::find(&figure.workload) else {
        return figure.settings.clone();
    };
    match Point::new(&workload.describe(), &figure.settings, 1) {
        Ok(point) => figure
            .settings
            .keys()
            .filter_map(|name| Some((name.clone(), point.settings.get(name)?.clone())))
            .collect(),
        Err(_) => figure.settings.clone(),
    }
}

/// What the points of a run should reach by a reference.
pub fn expectations(reference: &Reference, points: &[PlannedPoint]) -> Vec<Expectation> {
    let mut all = Vec::new();
    for figure in reference.figures.iter().filter(|figure| figure.not_comparable.is_empty()) {
        let wanted = settings(figure);
        for planned in points {
            let metric = planned
                .description
                .metrics
                .iter()
                .find(|metric| metric.name == figure.metric && metric.unit == figure.unit);
            let version = planned.description.version;
            let point = &planned.point;
            if let Some(metric) = metric
                && figure.is_of(&point.workload, version, &wanted, &point.settings)
                && point.conditions.is_empty()
            {
                all.push(Expectation {
                    of: point.series(&metric.name),
                    value: figure.value,
                    range: figure.range(),
                    reference: Some(reference.name.clone()),
                    in_cycles: false,
                    limit: None,
                });
            }
        }
    }
    all
}

/// The same by the references that the user added for this kind of machine, and
/// whose machines were prepared alike. Of several references, the last by name wins.
pub fn expectations_of_this_kind(
    points: &[PlannedPoint],
    prepared: &str,
) -> (Vec<Expectation>, Vec<CommandError>) {
    let (known, broken) = all();
    let of_kind = known.iter().filter(|known| {
        known.is_of_this_kind && known.reference.prepared.as_deref() == Some(prepared)
    });
    (of_kind.flat_map(|known| expectations(&known.reference, points)).collect(), broken)
}

#[cfg(test)]
mod tests {
    use plumb_model::Point;
    use plumb_reference::{Reference, ReferenceFigure, SHIPPED};

    /// Every figure that names a workload can be compared with a point of that workload.
    #[test]
    fn shipped_references_are_of_workloads_and_metrics_that_exist() {
        for (name, text) in SHIPPED {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference.name, *name);
            let comparable =
                reference.figures.iter().filter(|figure| figure.not_comparable.is_empty());
            for figure in comparable {
                let workload = plumb_workloads::find(&figure.workload);
                let description =
                    workload.unwrap_or_else(|| panic!("{name}: {figure:?}")).describe();
                let metric = description
                    .metrics
                    .iter()
                    .find(|metric| metric.name == figure.metric)
                    .unwrap_or_else(|| panic!("{name}: {figure:?}"));
                assert_eq!(metric.unit, figure.unit, "{name}: {}", figure.name);
                Point::new(&description, &figure.settings, 1)
                    .unwrap_or_else(|error| panic!("{name}: {}: {error}", figure.name));
                assert!(!figure.printed.is_empty() && !figure.differs.is_empty(), "{figure:?}");
            }
        }
    }

    /// A figure may be typed as on the command line; points have it as a number.
    #[test]
    fn settings_of_figures_are_those_of_points() {
        let reference = super::find("iscsi-1mbit").unwrap();
        let of_name = |figure: &&ReferenceFigure| figure.name == "copy to the mounted disk";
        let figure = reference.figures.iter().find(of_name).unwrap();
        let shown: Vec<String> =
            super::settings(figure).iter().map(|(name, value)| format!("{name}={value}")).collect();
        // `scale` is among them: a point with scale=100 takes a hundredth of the time.
        let wanted = [
            "encryption=none",
            "jitter=0",
            "method=file",
            "rtt=75000000",
            "scale=1",
            "size=11000000",
            "tunnel=ssh",
            "up=125000",
        ];
        assert_eq!(shown, wanted);
    }
}
