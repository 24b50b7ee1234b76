//! What verdicts mean for the exit code.

use plumb_analysis::PointComparison;
use plumb_model::Verdict;

use crate::error::Exit;

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
    /// The exit codes that these comparisons ask for.
    pub fn exits(self, comparisons: &[PointComparison]) -> Vec<Exit> {
        let one = |it: &PointComparison| match it.found.verdict {
            Ok(Verdict::Slower) if self.fails(it) => Exit::Regression,
            Ok(Verdict::Inconclusive) | Err(_) if self.strict => Exit::Inconclusive,
            _ => Exit::Fine,
        };
        comparisons.iter().map(one).collect()
    }

    fn fails(self, it: &PointComparison) -> bool {
        let most = 1.0 + it.margin;
        let ratio = it.found.ratio.as_ref();
        match self.fail_on {
            None => false,
            Some(FailOn::Slower) => ratio.is_some_and(|ratio| ratio.value >= most),
            Some(FailOn::Certain) => {
                ratio.and_then(plumb_analysis::Estimate::low).is_some_and(|low| low > most)
            }
        }
    }
}
