//! The suites that take a classic tool's own arguments: `plumb run bonnie -- -s 2048 -d /srv`.

use crate::arguments::Arguments;
use crate::bonnie::command_line;

/// The suites that take a tool's own arguments.
pub const SUITES: [&str; 1] = ["bonnie"];

/// The request of a tool's arguments, in plumb's terms; None if the suite is not named after a tool.
///
/// # Errors
/// The error for arguments that plumb does not support.
#[must_use]
pub fn arguments(suite: &str, given: &[String]) -> Option<Result<Arguments, String>> {
    (suite == SUITES[0]).then(|| command_line::read(given))
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn only_suites_named_after_a_tool_take_its_arguments() {
        assert_eq!(arguments("first-look", &[]), None);
        assert!(arguments("bonnie", &[]).is_some());
    }
}
