//! The project's own chores: `cargo xtask CHORE`, one file each.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores talk to the developer who started them"
)]

use std::process::ExitCode;

mod all_tests;
mod dependencies;
mod headtohead;
mod host;
mod kernels;
mod lines;
mod mlrsearch;
mod mutations;
mod reruns;
mod skips;
mod soak;
mod stolen;
mod tables;
mod traces;
mod usage;
mod validate;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((chore, rest)) if chore == "validate" => validate::run(rest),
        Some((chore, rest)) if chore == "soak" => soak::run(rest),
        Some((chore, rest)) if chore == "headtohead" => headtohead::run(rest),
        Some((chore, rest)) if chore == "gates" => headtohead::gates::run(rest),
        Some((chore, rest)) if chore == "traces" => traces::run(rest),
        Some((chore, rest)) if chore == "test" => all_tests::run(rest),
        Some((chore, rest)) if chore == "dependencies" => dependencies::run(rest),
        Some((chore, rest)) if chore == "kernels" => kernels::run(rest),
        Some((chore, [])) if chore == "tables" => tables::run(),
        _ => Err(usage::USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
