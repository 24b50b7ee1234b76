//! Everything that can be measured: the built-in workloads and the plug-ins.

use std::path::{Path, PathBuf};

use plumb_keeper::Keeper;
use plumb_launch::{LaunchRefusal, describe};
use plumb_model::{Description, Program};
use plumb_plugins::{cache, manifest, rules};
use plumb_suite::{self as suite, nearest};

use crate::error::{CommandError, Result};
use crate::locate;

/// A workload that can be started.
#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    /// What it says of itself.
    pub description: Description,
    /// How it is started.
    pub program: Program,
}

/// The built-in workload of this id.
pub fn builtin(id: &str) -> Result<Option<CatalogueEntry>> {
    let Some(workload) = plumb_workloads::find(id) else { return Ok(None) };
    let plumb = locate::plumb()?.to_string_lossy().into_owned();
    let program = Program { argv: vec![plumb, "worker".into(), id.into()] };
    Ok(Some(CatalogueEntry { description: workload.describe(), program }))
}

/// The workload that the user names: an id, or a path to a plug-in.
///
/// # Errors
/// When there is none; the nearest name is the hint.
pub fn find(keeper: &mut Keeper, name: &str) -> Result<CatalogueEntry> {
    if name.contains('/') {
        return at_path(keeper, Path::new(name));
    }
    let (id, version) = split_version(name);
    if let Some(entry) = builtin(id)? {
        return of_version(entry, version);
    }
    let (plugins, broken) = all_plugins(keeper);
    let (found, others): (Vec<CatalogueEntry>, Vec<CatalogueEntry>) =
        plugins.into_iter().partition(|entry| entry.description.id == id);
    let mut versions: Vec<u32> = found.iter().map(|entry| entry.description.version).collect();
    versions.sort_unstable();
    let wanted = version.or(versions.last().copied());
    if let Some(entry) = found.into_iter().find(|entry| Some(entry.description.version) == wanted) {
        return Ok(entry);
    }
    if let Some(wanted) = wanted {
        return Err(no_version(id, wanted, &versions));
    }
    let mut known = builtin_names();
    known.extend(others.into_iter().map(|entry| entry.description.id));
    let error = CommandError::usage(format!("no workload, suite or plug-in is called `{name}`"));
    let hint = match nearest(name, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`plumb list` shows all of them".to_owned(),
    };
    // A plug-in that does not start is missing from the catalogue: it may be the one that was meant.
    Err(broken.into_iter().fold(error.hint(hint), CommandError::hint))
}

/// The id and the version of `id@2`.
fn split_version(name: &str) -> (&str, Option<u32>) {
    let parts = name.split_once('@').and_then(|(id, version)| Some((id, version.parse().ok()?)));
    parts.map_or((name, None), |(id, version)| (id, Some(version)))
}

/// A built-in workload, if it has this version.
fn of_version(entry: CatalogueEntry, version: Option<u32>) -> Result<CatalogueEntry> {
    let has = entry.description.version;
    match version.filter(|wanted| *wanted != has) {
        Some(wanted) => Err(no_version(&entry.description.id, wanted, &[has])),
        None => Ok(entry),
    }
}

fn no_version(id: &str, wanted: u32, versions: &[u32]) -> CommandError {
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    CommandError::usage(format!("version {wanted} of `{id}` is not available"))
        .hint(format!("available: version {}", versions.join(", ")))
}

/// The plug-in at a path.
///
/// # Errors
/// When it can't be started, answers wrongly, calls itself like a built-in workload, or says what a
/// workload may not say.
pub fn at_path(keeper: &mut Keeper, path: &Path) -> Result<CatalogueEntry> {
    let program = manifest::program(path)?;
    let cache = kept(&program);
    let cached = cache.as_deref().and_then(cache::read);
    let known = cached.is_some();
    let description = match cached {
        Some(description) => description,
        None => {
            describe(keeper, &program).map_err(|refusal| undescribed(path, &program, &refusal))?
        }
    };
    if plumb_workloads::find(&description.id).is_some() {
        let id = &description.id;
        return Err(CommandError::usage(format!(
            "plug-in {} has the id `{id}` of a built-in workload",
            path.display()
        ))
        .hint("give it its own id: family.name"));
    }
    if let Some(why) =
        rules::judge(&description, false).into_iter().find_map(|rule| rule.verdict.err())
    {
        return Err(CommandError::failed(format!("plug-in {}: {why}", path.display()))
            .hint(format!("plumb plugin check {}", path.display())));
    }
    // Kept only once it was judged: a plug-in that breaks a rule is asked again, as somebody may have mended it.
    if let (false, Some(file)) = (known, cache) {
        cache::write(&file, &description);
    }
    Ok(CatalogueEntry { description, program })
}

/// The file that keeps what this program said of itself.
pub fn kept(program: &Program) -> Option<PathBuf> {
    cache::file(&locate::cache_home()?, program)
}

fn undescribed(path: &Path, program: &Program, refusal: &LaunchRefusal) -> CommandError {
    if matches!(refusal, LaunchRefusal::Interrupted | LaunchRefusal::Fatal(_)) {
        return refusal.clone().into();
    }
    let error = CommandError::failed(format!("plug-in {}: {refusal}", path.display()));
    match plumb_plugins::starting_hint(program) {
        Some(hint) => error.hint(hint),
        None => error.hint(format!("plumb plugin check {}", path.display())),
    }
}

/// All plug-ins on the path that work, and a line for each that does not.
pub fn all_plugins(keeper: &mut Keeper) -> (Vec<CatalogueEntry>, Vec<String>) {
    let mut good: Vec<CatalogueEntry> = Vec::new();
    let mut broken = Vec::new();
    for manifest in manifest::on_path(locate::data_home().as_deref()) {
        match at_path(keeper, &manifest) {
            Ok(entry) if good.iter().any(|earlier| is_namesake(earlier, &entry)) => {
                let Description { id, version, .. } = entry.description;
                broken.push(format!(
                    "ignored {}: another plug-in already provides `{id}` version {version}",
                    manifest.display()
                ));
            }
            Ok(entry) => good.push(entry),
            Err(error) => broken.push(error.to_string()),
        }
    }
    (good, broken)
}

fn is_namesake(one: &CatalogueEntry, other: &CatalogueEntry) -> bool {
    one.description.id == other.description.id
        && one.description.version == other.description.version
}

/// The workloads and suites that are built in.
pub fn builtin_names() -> Vec<String> {
    let workloads = plumb_workloads::builtin().into_iter().map(|workload| workload.describe().id);
    workloads.chain(suite::BUILTIN.iter().map(|(name, _)| (*name).to_owned())).collect()
}
