//! How rare wrong answers of the CPUs are at most, in one sentence.

use plumb_analysis::RunFinding;
use plumb_text::counted;
use plumb_units::rounded_down;

/// `2.4e6 answers on 2 CPUs, none wrong: per CPU below 3 in 1.2e6 to these inputs (95 %).` None if the run checked no answers, or one was wrong.
#[must_use]
pub fn right_answers_text(finding: &RunFinding) -> Option<String> {
    let right = finding.right_answers?;
    let answers = rounded_down(right.answers);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of CPUs that was reported as a number"
    )]
    let cpus = counted(right.cpus as usize, "CPU", "CPUs");
    let each = rounded_down(right.answers_per_cpu());
    Some(format!(
        "{answers} answers on {cpus}, none wrong: per CPU below 3 in {each} to these inputs (95 %)."
    ))
}
