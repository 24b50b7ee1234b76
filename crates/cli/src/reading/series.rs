//! Series by what people call them.

use std::collections::BTreeSet;

use plumb_model::{By, Host, Id, SeriesInRun, SeriesName, is_same_name};
use plumb_query::Selection;
use plumb_store::Store;
use plumb_suite::nearest;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::ui::Ui;

/// Series that are listed where several are meant.
const MOST_LISTED: usize = 20;
/// What `--machine` takes for every machine.
const ALL: &str = "all";

/// The one series that is meant: by its own name, or by that of its point or workload, of which it is
/// the first metric.
///
/// # Errors
/// When none is, or several are.
pub fn meant(known: &[SeriesName], name: &str) -> Result<String> {
    // The exact name first: two values of a text can look like one quantity.
    let found = known
        .iter()
        .find(|series| series.name == name)
        .or_else(|| known.iter().find(|series| is_same_name(&series.name, name)));
    if let Some(series) = found {
        return Ok(series.name.clone());
    }
    let firsts = || known.iter().filter(|series| series.primary);
    let by_point: Vec<&SeriesName> =
        firsts().filter(|series| is_same_name(&point(series), name)).collect();
    let by_title = firsts().filter(|series| series.title.as_deref() == Some(name)).collect();
    let by_workload = firsts().filter(|series| series.workload == name).collect();
    // The most exact name wins: the default point of a workload is called like the workload.
    let found: [Vec<&SeriesName>; 3] = [by_point, by_title, by_workload];
    match found.iter().find(|candidates| !candidates.is_empty()).map(Vec::as_slice) {
        Some([one]) => Ok(one.name.clone()),
        Some(several) => Err(ambiguous(several, name)),
        None => Err(unknown(known, name)),
    }
}

/// The comparable name of the series that the ratios of the others are divided by (`--normalise-by`).
///
/// # Errors
/// If no series or several have this name.
pub fn divisor(store: &Store, ids: &[Id], name: &str) -> Result<String> {
    let name = meant(&store.series_names()?, name)?;
    let all = plumb_query::read(store, Selection::Runs(ids))?;
    let found = all.iter().find(|series| series.name == name);
    Ok(found.map_or(name, SeriesInRun::comparable_name))
}

/// The error if the series of `--normalise-by` has no ratio.
pub fn not_in_common(name: &str) -> CommandError {
    CommandError::usage(format!("`{name}` was not measured by the first side and another one"))
        .hint("plumb compare without --normalise-by lists the series that they have in common")
}

fn point(series: &SeriesName) -> String {
    let workload = &series.workload;
    let key = &series.point;
    if key.is_empty() { workload.clone() } else { format!("{workload}:{key}") }
}

fn ambiguous(several: &[&SeriesName], name: &str) -> CommandError {
    let error = CommandError::usage(format!("`{name}` matches {} series", several.len()));
    let listed = several.iter().take(MOST_LISTED);
    let error = listed.fold(error, |error, series| {
        error.hint(format!("plumb history '{}'", series.title.as_ref().unwrap_or(&series.name)))
    });
    match several.len().saturating_sub(MOST_LISTED) {
        0 => error,
        more => error.hint(format!("and {more} more")),
    }
}

fn unknown(known: &[SeriesName], name: &str) -> CommandError {
    let error = CommandError::usage(format!("no run measured a series called `{name}`"));
    let mut names: Vec<String> = known.iter().map(|series| series.name.clone()).collect();
    names.extend(known.iter().filter(|series| series.primary).map(point));
    names.extend(known.iter().map(|series| series.workload.clone()));
    match nearest(name, &names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("plumb show shows what the last run measured"),
    }
}

/// Whose runs of a series are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whose<'a> {
    /// The beginning of a machine's fingerprint, or `all`.
    pub machine: Option<&'a str>,
    /// A host by its name.
    pub host: Option<&'a Host>,
    /// Whether hosts of a kind are mixed.
    pub by: By,
}

/// The runs on one kind of machine, and the host that a history of them is of: what is wanted, else this host;
/// where no run is of this host, that of the newest run, and that is said.
///
/// # Errors
/// When no machine or several could be meant, or no run is of the host that is named.
pub fn on_machine(
    series: &str,
    runs: Vec<SeriesInRun>,
    wanted: &Whose<'_>,
    ui: &Ui,
) -> Result<(Vec<SeriesInRun>, Host)> {
    let here = locate::host(wanted.host)?;
    let runs = match wanted.machine {
        Some(ALL) => return Ok((runs, Host::UNKNOWN)),
        Some(machine) => of_kind(runs, machine)?,
        None => runs,
    };
    if wanted.host.is_some() && !runs.iter().any(|run| *run.run.host() == here) {
        return Err(not_measured_on(&here, series, &runs));
    }
    let (runs, host) = plumb_query::on_host(runs, &here);
    if wanted.by == By::Kind {
        return Ok((runs, Host::UNKNOWN));
    }
    if host.known().is_some() && here.known().is_some() && host != here {
        ui.say(&format!(
            "no stored run of {series} is from this host ({here}); showing those from {host}, the host of the newest run"
        ));
        ui.say(&format!(
            "plumb history '{series}' --by kind shows all hosts of this kind; if this host replaces \
             {host}: plumb run --host {host}"
        ));
    }
    Ok((runs, host))
}

fn not_measured_on(host: &Host, series: &str, runs: &[SeriesInRun]) -> CommandError {
    let error = CommandError::usage(format!("no stored run of {series} is from host {host}"));
    let hosts: BTreeSet<&str> = runs.iter().filter_map(|run| run.run.host().known()).collect();
    let listed = hosts.iter().take(MOST_LISTED);
    let error = listed
        .fold(error, |error, host| error.hint(format!("plumb history '{series}' --host {host}")));
    error
        .hint(format!("plumb history '{series}' --by kind    shows all hosts of a kind of machine"))
}

/// The runs on the kind of machine with this beginning of a fingerprint.
fn of_kind(mut runs: Vec<SeriesInRun>, wanted: &str) -> Result<Vec<SeriesInRun>> {
    runs.retain(|run| {
        let fingerprint = run.run.machine();
        let bare = fingerprint.split_once(':').map_or(fingerprint, |(_, bare)| bare);
        fingerprint.starts_with(wanted) || bare.starts_with(wanted)
    });
    let found: BTreeSet<&str> = runs.iter().map(|run| run.run.machine()).collect();
    if found.len() > 1 {
        let error = CommandError::usage(format!("`{wanted}` matches several machines"));
        return Err(found
            .iter()
            .fold(error, |error, machine| error.hint(format!("--machine {machine}"))));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use plumb_model::SeriesName;

    use super::meant;

    fn series(workload: &str, point: &str, metric: &str, primary: bool) -> SeriesName {
        let key = if point.is_empty() { String::new() } else { format!(":{point}") };
        let name = format!("{workload}{key}/{metric}");
        let title = (workload == "process.command").then(|| "sleep 1".to_owned());
        let workload = workload.to_owned();
        let point = point.to_owned();
        SeriesName { name, workload, point, primary, title }
    }

    #[test]
    fn a_series_goes_by_several_names() {
        let known = [
            series("cpu.sieve", "", "rate", true),
            series("cpu.sieve", "", "time", false),
            series("memory.copy", "method=nt", "bandwidth", true),
            series("process.command", "command=x", "wall", true),
            series("storage.random", "", "rate", true),
            series("storage.random", "depth=8", "rate", true),
            series("network.tcp", "path=veth,down=125kB/s,rtt=37500us", "throughput", true),
        ];
        let found = |name| meant(&known, name).map_err(|error| error.to_string());
        assert_eq!(found("cpu.sieve/time").unwrap(), "cpu.sieve/time");
        assert_eq!(found("cpu.sieve").unwrap(), "cpu.sieve/rate");
        assert_eq!(found("memory.copy:method=nt").unwrap(), "memory.copy:method=nt/bandwidth");
        assert_eq!(found("memory.copy").unwrap(), "memory.copy:method=nt/bandwidth");
        assert_eq!(found("sleep 1").unwrap(), "process.command:command=x/wall");
        assert_eq!(found("storage.random").unwrap(), "storage.random/rate", "the default point");
        let path = "network.tcp:path=veth,down=125kB/s,rtt=37500us/throughput";
        for typed in [
            "network.tcp:path=veth,down=1Mbit/s,rtt=37.5ms",
            "network.tcp:path=veth,down=1Mbit/s,rtt=37.5ms/throughput",
            path,
        ] {
            assert_eq!(found(typed).unwrap(), path);
        }
        assert!(found("network.tcp:path=veth,down=1Mbit/s,rtt=37.5us").is_err());
        assert!(found("cpu.seive").is_err());
        let two = [known[2].clone(), series("memory.copy", "method=libc", "bandwidth", true)];
        let error = meant(&two, "memory.copy").unwrap_err().to_string();
        assert_eq!(error, "`memory.copy` matches 2 series");
    }
}
