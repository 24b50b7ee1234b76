//! The binary `plumb`.

use std::process::ExitCode;

fn main() -> ExitCode {
    plumb_cli::main()
}
