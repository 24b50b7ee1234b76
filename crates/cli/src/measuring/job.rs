//! What is to be done with a plan, and what its verdicts mean for the exit code.

use std::path::Path;

use plumb_analysis::{Comparison, Estimate, NoVerdict, PointComparison, SessionsFinding};
use plumb_model::{Host, KnownSecrets, Plan, RunRecord, Verdict};

use crate::error::Exit;
use crate::measuring::target::Folders;

/// What is to be done with a plan.
pub struct MeasuringJob<'j> {
    /// The plan, complete.
    pub plan: Plan,
    /// The record of the interrupted run that is to be completed.
    pub before: Option<RunRecord>,
    /// The folders of the run; the plan's target directory is one of them.
    pub folders: Folders,
    /// The name of this host, if one is given.
    pub host: Option<Host>,
    /// The secrets for which the plan has placeholders already.
    pub secrets: KnownSecrets,
    /// The command line for the record; None: that of this process.
    pub command: Option<Vec<String>>,
    /// The file of the store; None: the usual one.
    pub store: Option<&'j Path>,
    /// Whether to wait for other plumbs.
    pub lock: bool,
    /// Whether a point that the user named must be supported.
    pub explicit: bool,
    /// What verdicts mean for the exit code.
    pub fail_on: FailPolicy,
    /// The only point beside which monitors read; None: all.
    pub watched: Option<usize>,
    /// Whether a page shows it while it goes on.
    pub live: bool,
    /// Whether the whole scorecard is shown, and not only what fits one screen.
    pub full: bool,
}

impl<'j> MeasuringJob<'j> {
    /// A new run of what the user named.
    pub fn new(plan: Plan, folders: Folders, store: Option<&'j Path>) -> Self {
        Self {
            plan,
            before: None,
            folders,
            host: None,
            secrets: KnownSecrets::default(),
            command: None,
            store,
            lock: true,
            explicit: true,
            fail_on: FailPolicy::default(),
            watched: None,
            live: false,
            full: true,
        }
    }
}

/// When `ab` ends with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// When the verdict is slower and the ratio is beyond the margin
    Slower,
    /// When the whole interval is beyond the margin
    Certain,
}

/// What the strategy's verdicts mean for the exit code.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailPolicy {
    /// When a side that is slower is a failure.
    pub fail_on: Option<FailOn>,
    /// Whether no verdict is one, too.
    pub strict: bool,
}

impl FailPolicy {
    /// Whether a verdict, or none, can change the exit code.
    pub fn can_fail(self) -> bool {
        self.fail_on.is_some() || self.strict
    }

    /// The exit codes that these comparisons ask for.
    pub fn exits(self, comparisons: &[PointComparison]) -> Vec<Exit> {
        let exit = |comparison: &PointComparison| {
            let Comparison { verdict, ratio, .. } = &comparison.found;
            match verdict {
                // A side that crashes is no faster side, even if failures are accepted.
                Err(
                    NoVerdict::EndedDifferently { .. } | NoVerdict::Failures { differ: true, .. },
                ) if self.fail_on.is_some() => Exit::Failed,
                // A gate must not pass because nothing was compared.
                Err(NoVerdict::MetricMissing) => Exit::Nothing,
                _ => self.exit(verdict.ok(), ratio.as_ref(), comparison.margin),
            }
        };
        comparisons.iter().map(exit).collect()
    }

    /// The same of a comparison that was repeated in sessions.
    pub fn exits_of_sessions(self, finding: &SessionsFinding) -> Vec<Exit> {
        let comparisons = finding.comparisons.iter();
        comparisons
            .map(|side| self.exit(side.verdict, side.ratio.as_ref(), finding.margin))
            .collect()
    }

    fn exit(self, verdict: Option<Verdict>, ratio: Option<&Estimate>, margin: f64) -> Exit {
        match verdict {
            Some(Verdict::Slower) if self.fails(ratio, margin) => Exit::Regression,
            Some(Verdict::Inconclusive) | None if self.strict => Exit::Inconclusive,
            _ => Exit::Fine,
        }
    }

    fn fails(self, ratio: Option<&Estimate>, margin: f64) -> bool {
        let most = 1.0 + margin;
        match self.fail_on {
            None => false,
            Some(FailOn::Slower) => ratio.is_some_and(|ratio| ratio.value >= most),
            Some(FailOn::Certain) => ratio.and_then(Estimate::low).is_some_and(|low| low > most),
        }
    }
}
