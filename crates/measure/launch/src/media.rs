//! The media of a run: a process each, which builds it before anything is measured and holds it until the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use plumb_keeper::{Keeper, ON, SpawnOptions, SystemSetting};
use plumb_machine::Root;
use plumb_media::{DIR, INDEX, MEDIUM, Medium, ZRAM};
use plumb_model::{MEDIUM_HOLDER, PlannedPoint, Preparation, Prepared, Settings, Value};
use plumb_protocol::{Request, Start};

use crate::conversation::Conversation;
use crate::progress::ignore_progress;
use crate::refusal::LaunchRefusal;
use crate::slot_report::SlotReport;

/// Filesystems are made in this time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The media of a run, by what was typed.
#[derive(Debug, Default)]
pub struct Media(BTreeMap<String, MountedMedium>);

/// A medium that stands.
#[derive(Debug)]
pub struct MountedMedium {
    /// The process that holds it; None if nothing was mounted.
    holder: Option<Conversation>,
    /// Its folder, as those see it that enter its mounts.
    pub dir: String,
}

impl MountedMedium {
    /// The process whose mounts have it; None if it has no mounts of its own.
    pub fn pid(&self) -> Option<u32> {
        self.holder.as_ref().map(Conversation::pid)
    }
}

/// The medium of a point: its own, or that of all.
pub fn medium_of<'a>(point: &'a PlannedPoint, of_all: &'a [Preparation]) -> Option<&'a str> {
    let own = point.preparation.iter().rev().find_map(Preparation::medium);
    own.or_else(|| of_all.iter().rev().find_map(Preparation::medium))
}

impl Media {
    /// Builds those that stand not yet.
    ///
    /// # Errors
    /// When one can't be had here, or goes wrong.
    pub fn build<'a>(
        &mut self,
        keeper: &mut Keeper,
        wanted: impl Iterator<Item = &'a str>,
        start: impl Fn(Settings) -> Start,
    ) -> Result<SlotReport, LaunchRefusal> {
        let mut done = SlotReport::default();
        for text in wanted {
            if self.0.contains_key(text) {
                continue;
            }
            let (standing, notes) =
                self.stand(keeper, text, &start).map_err(|refusal| named(text, refusal))?;
            self.0.insert(text.to_owned(), standing);
            let became = [text.to_owned()].into_iter().chain(notes).collect::<Vec<_>>().join(", ");
            done.prepared.push(Prepared { setting: "medium".into(), was: String::new(), became });
        }
        Ok(done)
    }

    /// The one of this text, when it stands.
    pub fn at(&self, medium: Option<&str>) -> Option<&MountedMedium> {
        self.0.get(medium?)
    }

    /// Takes all away; what went wrong.
    pub fn end(&mut self, keeper: &mut Keeper) -> Vec<LaunchRefusal> {
        let mut failures = Vec::new();
        for (text, standing) in std::mem::take(&mut self.0) {
            let Some(holder) = standing.holder else { continue };
            let ended = holder.clean_and_stop(keeper);
            failures.extend(ended.err().map(|refusal| refusal.of(&format!("medium={text}"))));
        }
        failures
    }

    fn stand(
        &self,
        keeper: &mut Keeper,
        text: &str,
        start: impl Fn(Settings) -> Start,
    ) -> Result<(MountedMedium, Vec<String>), LaunchRefusal> {
        let medium = Medium::parse(text).map_err(LaunchRefusal::Failed)?;
        if let Some(parent) = medium.folder() {
            let scratch = start(Settings::new()).scratch;
            let name = Path::new(&scratch).file_name().unwrap_or_default().to_string_lossy();
            let fresh = format!("{name}-files-{}", self.0.len());
            let dir = parent.join(fresh).to_string_lossy().into_owned();
            fresh_folder(keeper, &dir)?;
            return Ok((MountedMedium { holder: None, dir }, Vec::new()));
        }
        let mut params: Settings = [
            (MEDIUM.to_owned(), Value::Text(text.to_owned())),
            (INDEX.to_owned(), Value::Integer(self.0.len() as u64)),
        ]
        .into();
        if medium.has("zram") {
            params.insert(ZRAM.to_owned(), Value::Integer(zram(keeper)?.into()));
        }
        let argv = MEDIUM_HOLDER.map(str::to_owned);
        let mut holder = Conversation::open(keeper, &argv, &SpawnOptions::default(), TIMEOUT)?;
        let ready = match holder.ask_ready(Request::Prepare(start(params)), &mut ignore_progress) {
            Ok(ready) => ready,
            Err(refusal) => {
                let refusal = holder.explain(refusal);
                holder.kill(keeper);
                return Err(refusal);
            }
        };
        match ready.endpoints.get(DIR) {
            Some(dir) => {
                let standing = MountedMedium { dir: dir.clone(), holder: Some(holder) };
                Ok((standing, ready.notes))
            }
            None => Err(LaunchRefusal::Failed("it does not report its location".into())),
        }
    }
}

/// Makes a folder that the keeper removes with the run.
fn fresh_folder(keeper: &mut Keeper, dir: &str) -> Result<(), LaunchRefusal> {
    // The keeper learns of it first: a plumb that is killed in between leaves nothing behind.
    keeper.own(Path::new(dir))?;
    let made = fs::DirBuilder::new().mode(0o711).create(dir);
    made.map_err(|error| LaunchRefusal::Failed(format!("can't make the folder {dir}: {error}")))
}

fn named(medium: &str, refusal: LaunchRefusal) -> LaunchRefusal {
    match refusal {
        LaunchRefusal::Unsupported { why, fix } => LaunchRefusal::Unsupported {
            why: format!("--set medium={medium} is unsupported: {why}"),
            fix,
        },
        other => other.of(&format!("--set medium={medium}")),
    }
}

/// Has the journal add a compressed device; its number is the lowest that is free, as the kernel counts.
fn zram(keeper: &mut Keeper) -> Result<u32, LaunchRefusal> {
    let root = Root::default();
    let mut number = 0;
    while root.path(&format!("/sys/block/zram{number}")).exists() {
        number += 1;
    }
    let added = keeper.change(&SystemSetting::Zram(number), ON);
    match added? {
        Ok(_) => Ok(number),
        Err(unchanged) => {
            Err(LaunchRefusal::Unsupported { why: unchanged.why, fix: unchanged.fix })
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::{Description, PlannedPoint, Point, Preparation, PreparationSlot, Program};

    use super::medium_of;

    #[test]
    fn a_points_own_medium_wins() {
        let medium = |value: &str| Preparation {
            knob: "medium".into(),
            value: value.into(),
            slot: PreparationSlot::Run,
            optional: false,
        };
        let description: Description = serde_json::from_str(
            r#"{"id": "a.b", "version": 1, "summary": "", "roles": [], "metrics": []}"#,
        )
        .unwrap();
        let point = Point::new(&description, &[].into(), 1).unwrap();
        let mut planned = PlannedPoint::new(point, description, Program { argv: Vec::new() });
        let of_all = [medium("ram+ext4")];
        assert_eq!(medium_of(&planned, &of_all), Some("ram+ext4"));
        planned.preparation.push(medium("ram+xfs"));
        assert_eq!(medium_of(&planned, &of_all), Some("ram+xfs"));
        assert_eq!(medium_of(&planned, &[]), Some("ram+xfs"));
    }
}
