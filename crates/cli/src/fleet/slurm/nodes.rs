//! The nodes that `--every` measures.

use std::collections::BTreeSet;

use crate::error::{CommandError, Result};
use crate::fleet::slurm::answers::{NodeLine, SINFO_FORMAT, sinfo_nodes};
use crate::fleet::slurm::client;
use crate::fleet::slurm::options::SbatchOptions;

/// The nodes that the options select, each once, idle ones first: those of --nodelist, or all of the partition. Those out of service
/// are among them.
///
/// # Errors
/// When Slurm does not answer, or there is no such node.
pub fn selected(options: &SbatchOptions) -> Result<Vec<NodeLine>> {
    let mut arguments = vec!["--noheader".to_owned(), "--Node".to_owned()];
    arguments.push(format!("--format={SINFO_FORMAT}"));
    let partition = options.value("partition");
    if let Some(partition) = partition {
        arguments.push(format!("--partition={partition}"));
    }
    if let Some(list) = options.value("nodelist") {
        arguments.push(format!("--nodes={list}"));
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut lines = sinfo_nodes(&client::ask("sinfo", &words)?);
    if partition.is_none() && lines.iter().any(|line| line.is_of_default) {
        // As sbatch does, which takes the default partition if none is named.
        lines.retain(|line| line.is_of_default);
    }
    let excluded = match options.value("exclude") {
        Some(list) => host_names(list)?,
        None => BTreeSet::new(),
    };
    let mut seen = BTreeSet::new();
    lines.retain(|line| !excluded.contains(&line.name) && seen.insert(line.name.clone()));
    if let Some(list) = options.value("nodelist") {
        let missing = host_names(list)?.into_iter().find(|name| !seen.contains(name));
        if let Some(missing) = missing.filter(|name| !excluded.contains(name)) {
            return Err(CommandError::usage(format!(
                "--nodelist: Slurm has no node {missing} in this partition"
            ))
            .hint("sinfo --Node    lists all nodes"));
        }
    }
    if lines.is_empty() {
        return Err(CommandError::nothing("the options select no node")
            .hint("sinfo --Node    lists all nodes"));
    }
    lines.sort_by_key(|line| line.state != "idle");
    Ok(lines)
}

/// The state of these nodes.
///
/// # Errors
/// When Slurm does not answer.
pub fn states(names: &[&str]) -> Result<Vec<NodeLine>> {
    // All nodes are asked about: a list of thousands of names does not fit into an argument.
    let wanted: BTreeSet<&str> = names.iter().copied().collect();
    let format = format!("--format={SINFO_FORMAT}");
    let mut lines = sinfo_nodes(&client::ask("sinfo", &["--noheader", "--Node", &format])?);
    lines.retain(|line| wanted.contains(line.name.as_str()));
    Ok(lines)
}

/// The names in a list such as `n[1-3],m5`.
fn host_names(list: &str) -> Result<BTreeSet<String>> {
    let names = client::ask("scontrol", &["show", "hostnames", list])?;
    Ok(names.lines().map(str::to_owned).collect())
}
