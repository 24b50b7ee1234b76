//! plumb measured: `plumb-benches PLUMB OUTPUT` runs every bench and writes one page;
//! `plumb-benches PLUMB` says what the pages of a large store take; `plumb-benches storage PLUMB` compares with fio, `network` with iperf3, sockperf and ping;
//! `plumb-benches make-store FILE RUNS` makes that store; `plumb-benches fleet PLUMB MACHINES` merges the stores of many machines.
//!
//! Each bench is a comparison within one run: its two sides alternate, so that drift hits both.
#![expect(clippy::print_stderr, reason = "a bench says what it is doing")]

mod blocked;
mod commands;
mod distribution;
mod fleet;
mod memory;
mod network;
mod page;
mod pages;
mod pairs;
mod shares;
mod start;
mod storage;
mod store;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Anything that goes wrong ends the bench with its reason.
type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

/// A bench: from the path of plumb to a paragraph.
type BenchFunction = fn(&Path) -> BenchResult<String>;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let outcome = match arguments.as_slice() {
        [storage, plumb] if storage.as_os_str() == "storage" => alone(storage::bench, plumb),
        [network, plumb] if network.as_os_str() == "network" => alone(network::bench, plumb),
        [plumb, output] => measure(plumb, output),
        [plumb] => large_store(plumb),
        [fleet, plumb, machines] if fleet.as_os_str() == "fleet" => machines
            .to_string_lossy()
            .parse()
            .map_err(Into::into)
            .and_then(|machines| fleet::bench(&std::fs::canonicalize(plumb)?, machines))
            .map(|text| eprintln!("{text}")),
        [make, file, runs] if make.as_os_str() == "make-store" => runs
            .to_string_lossy()
            .parse()
            .map_err(Into::into)
            .and_then(|runs| pages::make(file, runs)),
        _ => {
            eprintln!(
                "usage: plumb-benches PLUMB OUTPUT, plumb-benches storage|network PLUMB, plumb-benches fleet PLUMB MACHINES, or plumb-benches make-store FILE RUNS"
            );
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The one bench that takes no quiet machine to say something.
fn large_store(plumb: &Path) -> BenchResult<()> {
    alone(pages::bench, plumb)
}

/// One bench, to read on the terminal.
fn alone(bench: BenchFunction, plumb: &Path) -> BenchResult<()> {
    eprintln!("{}", bench(&std::fs::canonicalize(plumb)?)?);
    Ok(())
}

fn measure(plumb: &Path, output: &Path) -> BenchResult<()> {
    let plumb = std::fs::canonicalize(plumb)?;
    let benches: [(&str, BenchFunction); 10] = [
        ("The effect of blocking between samples", blocked::bench),
        ("CPU time of the engine and the keeper", shares::bench),
        ("Recording a value of a distribution", distribution::bench),
        ("Start-up", start::bench),
        ("Commands, against hyperfine and a bare loop", commands::bench),
        ("Peak memory of a small command", memory::bench),
        ("Storage, against fio and bonnie++", storage::bench),
        ("The network, against iperf3, sockperf and ping", network::bench),
        ("The store", store::bench),
        ("The pages of a large store", pages::bench),
    ];
    let by_hand = page::by_hand(output);
    let mut page = page::head();
    for (title, bench) in benches {
        eprintln!("{title} …");
        page.push_str(&format!("\n## {title}\n\n{}\n", bench(&plumb)?.trim_end()));
    }
    page.push_str(&by_hand);
    std::fs::write(output, page)?;
    eprintln!("wrote {}", output.display());
    Ok(())
}
