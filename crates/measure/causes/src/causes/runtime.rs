//! Settings of language runtimes.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables of Python, Java, Node.js, Perl, Ruby and Go.
pub const CAUSE: Cause = Cause {
    name: "runtime",
    summary: "environment variables of its language runtime",
    manual: include_str!("runtime.md"),
    suspect,
};

const VARIABLES: [&str; 14] = [
    "DOTNET_gcServer",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "OMP_NUM_THREADS",
    "PERL5OPT",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONMALLOC",
    "PYTHONTRACEMALLOC",
    "RUBYOPT",
    "_JAVA_OPTIONS",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    without_variables(suspect, &VARIABLES)
}
