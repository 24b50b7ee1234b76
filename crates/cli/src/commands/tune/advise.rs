//! `plumb tune --advise`: which settings would make a workload or a command faster.

use std::path::Path;

use plumb_analysis::{CandidateExperiment, CandidateFinding, WhyFinding};
use plumb_causes::Removal;
use plumb_machine::Root;
use plumb_model::{PlannedPoint, Preparation};

use crate::error::Result;
use crate::locate;
use crate::measuring::search::{
    self, ChangeSearch, ChangedPoint, SearchArgs, SearchCandidate, TrialStage,
};
use crate::measuring::setup::Setup;
use crate::planning::knobs;
use crate::planning::setting_commands::SettingCommands;
use crate::ui::Ui;

/// What is tried if the user allows nothing else: it takes nothing from other programs, and is restored at once.
const USUAL: [&str; 7] = [
    "governor=performance",
    "turbo=on",
    "thp=always",
    "thp=never",
    "cpu-latency=10",
    "nice=-10",
    "sched=batch",
];

/// Tries settings next to the present ones, and keeps none.
///
/// # Errors
/// When the work is neither a workload nor a command, or fails; or when a setting that the user allows means nothing.
pub fn advise(
    subject: &str,
    allowed: &[String],
    args: &SearchArgs,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<WhyFinding> {
    let root = locate::root();
    let mut setup = Setup::start()?;
    setup.keep_to(&args.execution.prepare);
    let subject = search::subject(&mut setup, subject, args)?;
    let mut candidates = Vec::new();
    for text in allowed {
        match candidate(&mut setup, &root, &subject, text, knobs::knob(text)?)? {
            Some(candidate) => candidates.push(candidate),
            None => ui.say(&format!("{text} is set already")),
        }
    }
    if allowed.is_empty() {
        for text in USUAL {
            // What this machine does not have is no news.
            let Ok(preparation) = knobs::knob(text) else { continue };
            candidates.extend(candidate(&mut setup, &root, &subject, text, preparation)?);
        }
    }
    drop(setup);
    let mut search = ChangeSearch::new(args, subject, candidates, store, ui)?;
    search.run()?;
    Ok(search.finding())
}

/// A setting that may help; None if the machine has it already.
fn candidate(
    setup: &mut Setup,
    root: &Root,
    subject: &PlannedPoint,
    text: &str,
    preparation: Preparation,
) -> Result<Option<SearchCandidate>> {
    let commands = SettingCommands::of(root, &preparation);
    if commands.is_set {
        return Ok(None);
    }
    let way = Removal::Knobs(vec![text.to_owned()]);
    let (changed, why) = match search::changed(setup, subject, &way)? {
        Ok(point) => {
            let point = PlannedPoint { title: Some(text.to_owned()), ..point };
            (Some(ChangedPoint { way, point }), String::new())
        }
        Err(why) => (None, why),
    };
    let finding = CandidateFinding {
        cause: text.to_owned(),
        summary: text.to_owned(),
        evidence: commands.now,
        way: vec![text.to_owned()],
        remedy: commands.undo,
        command: commands.set,
        experiment: CandidateExperiment::NotTried(why),
        after_causes: None,
    };
    Ok(Some(SearchCandidate { finding, stage: TrialStage::First, changed }))
}
