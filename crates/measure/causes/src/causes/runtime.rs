//! Settings of language runtimes.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables of Python, Java, Node.js, Perl, Ruby, Go, .NET and shells, and of libraries for parallel work.
pub const CAUSE: Cause = Cause {
    name: "runtime",
    summary: "environment variables of its language runtime",
    manual: include_str!("runtime.md"),
    suspect,
};

/// Checks and traces, a file that is read at each start, limits of threads and memory.
pub(super) const VARIABLES: [&str; 22] = [
    "BASH_ENV",
    "DOTNET_TieredCompilation",
    "DOTNET_gcServer",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "JAVA_TOOL_OPTIONS",
    "MKL_NUM_THREADS",
    "NODE_OPTIONS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PERL5OPT",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONMALLOC",
    "PYTHONPROFILEIMPORTTIME",
    "PYTHONTRACEMALLOC",
    "RAYON_NUM_THREADS",
    "RUBYOPT",
    "UV_THREADPOOL_SIZE",
    "_JAVA_OPTIONS",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    without_variables(suspect, &VARIABLES)
}
