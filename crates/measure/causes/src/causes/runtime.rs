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

/// Checks and traces; folders that are searched first; files that are read at each start; numbers of threads.
const VARIABLES: [&str; 28] = [
    "BASH_ENV",
    "CLASSPATH",
    "DOTNET_TieredCompilation",
    "DOTNET_gcServer",
    "ENV",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "JAVA_TOOL_OPTIONS",
    "MKL_NUM_THREADS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PERL5LIB",
    "PERL5OPT",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONMALLOC",
    "PYTHONPATH",
    "PYTHONPROFILEIMPORTTIME",
    "PYTHONTRACEMALLOC",
    "RAYON_NUM_THREADS",
    "RUBYLIB",
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
