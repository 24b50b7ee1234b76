//! What differs between the arms of a comparison besides what is compared, and how bad that is.

use plumb_model::{
    Environment, FactKind, Host, Impact, Machine, OF_FAR_END, RunOfSeries, Target, Theme,
};

/// A field that is not the same in all arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field: a fact of machine or environment, or of how the run was carried out.
    pub field: String,
    /// Its value in every arm, `none` where it has none; several values of one arm are joined by ` / `.
    pub values: Vec<String>,
    /// How bad that is.
    pub impact: Impact,
}

/// The field that names hosts.
const HOST: &str = "host";

/// What differs between the arms, worst first.
pub(crate) fn differences(arms: &[Vec<&RunOfSeries>]) -> Vec<Difference> {
    let mut all = Vec::new();
    for runs in arms {
        all.push(runs.iter().flat_map(|run| facts(run)).collect());
    }
    between(all, arms.iter().flatten().any(|run| run.sends_to_named_host))
}

/// What differs between two or more targets, worst first.
#[must_use]
pub fn target_diff(targets: &[&Target]) -> Vec<Difference> {
    let mut all = Vec::new();
    for target in targets {
        all.push(of_place(&target.machine, &target.host, &target.environment));
    }
    between(all, false)
}

/// `leaves` says whether packets left the machine, which facts of another one also say.
fn between(mut all: Vec<Vec<(String, String)>>, leaves: bool) -> Vec<Difference> {
    for facts in &mut all {
        facts.sort();
        facts.dedup();
    }
    let mut fields: Vec<&String> = all.iter().flatten().map(|(field, _)| field).collect();
    fields.sort();
    fields.dedup();
    let leaves = leaves || fields.iter().any(|field| field.starts_with(OF_FAR_END));
    let mut found: Vec<Difference> = fields
        .into_iter()
        .filter_map(|field| {
            let values: Vec<Option<String>> = all.iter().map(|facts| value(facts, field)).collect();
            let may_lack = field == HOST || is_of_environment(field);
            let unread = may_lack && values.contains(&None);
            let differs = !unread && values.windows(2).any(|two| two[0] != two[1]);
            let named = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
            let values = values.into_iter().map(named).collect();
            differs.then(|| Difference {
                field: field.clone(),
                values,
                impact: impact(field, leaves),
            })
        })
        .collect();
    found.sort_by(|one, other| other.impact.cmp(&one.impact).then(one.field.cmp(&other.field)));
    found
}

/// How bad a difference is; what leaves the machine passes its network devices.
fn impact(field: &str, leaves: bool) -> Impact {
    let is_of_network = || FactKind::named(field).is_some_and(|kind| kind.theme == Theme::Network);
    if leaves && is_of_network() { Impact::Relevant } else { Impact::of(field) }
}

/// Whether a fact that is missing was not read, which is no difference.
pub(crate) fn is_of_environment(field: &str) -> bool {
    FactKind::named(field).is_some_and(FactKind::is_of_environment)
}

fn value(facts: &[(String, String)], field: &str) -> Option<String> {
    let values: Vec<&str> =
        facts.iter().filter(|(name, _)| name == field).map(|(_, value)| value.as_str()).collect();
    (!values.is_empty()).then(|| values.join(" / "))
}

fn of_place(machine: &Machine, host: &Host, environment: &Environment) -> Vec<(String, String)> {
    let both = machine.facts.iter().chain(&environment.facts);
    let host = host.known().map(|host| (HOST.to_owned(), host.to_owned()));
    both.map(|(field, value)| (field.clone(), value.clone())).chain(host).collect()
}

/// Everything about a run that could make its numbers other than another's.
fn facts(run: &RunOfSeries) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    if let Some(place) = &run.place {
        facts.extend(of_place(&place.machine, &place.host, &place.environment));
    }
    facts.push(("plumb".to_owned(), run.plumb.clone()));
    facts.push(("status".to_owned(), run.status.word().to_owned()));
    let companions = run.companions.iter();
    facts.extend(companions.map(|companion| ("load".to_owned(), companion.name.clone())));
    for (component, versions) in &run.versions {
        let field = format!("{component} version");
        facts.extend(versions.iter().map(|version| (field.clone(), version.clone())));
    }
    facts
}

#[cfg(test)]
mod tests {
    use plumb_model::Impact;

    use super::between;

    #[test]
    fn network_devices_matter_where_packets_leave_the_machine() {
        let arm = |device: &str, more: &[(&str, &str)]| -> Vec<(String, String)> {
            let facts = [("network_devices", device)].into_iter().chain(more.iter().copied());
            facts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let here = between(vec![arm("eth0", &[]), arm("eth1", &[])], false);
        assert_eq!(here[0].impact, Impact::Harmless);
        let named = between(vec![arm("eth0", &[]), arm("eth1", &[])], true);
        assert_eq!(named[0].impact, Impact::Relevant);
        let far = [("far.kernel", "6.1")];
        let apart = between(vec![arm("eth0", &far), arm("eth1", &far)], false);
        assert_eq!(
            (apart[0].field.as_str(), apart[0].impact),
            ("network_devices", Impact::Relevant)
        );
    }
}
