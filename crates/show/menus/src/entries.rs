//! The menus of a suite's entries: families, their workloads, and the parameters of one.

use plumb_model::{CLASSIC_FAMILY, Description, Parameter, Role};
use plumb_suite::{Suite, SuiteEntry, values_of};

use crate::fields::{RulesOwner, rules, rules_line};
use crate::form::{Form, line};
use crate::planner::Planner;

/// An entry in a line of a menu.
pub fn entry_line(entry: &SuiteEntry) -> String {
    let set = entry.set.keys().map(|name| format!(" {name}={}", typed(entry, name)));
    let values: String = set.collect();
    match rules_line(&entry.rules()) {
        rules if rules.is_empty() => format!("{}{values}", entry.workload),
        rules => format!("{}{values}  ({rules})", entry.workload),
    }
}

/// Lets the user choose a family and a workload of it, which becomes an entry.
pub fn add<P: Planner>(form: &mut Form<'_, P>) -> Result<(), P::Error> {
    let mut all = form.planner.workloads();
    all.retain(|description| description.family() != CLASSIC_FAMILY);
    all.retain(|description| description.can_be(Role::Workload));
    let mut families: Vec<&str> = Vec::new();
    for description in &all {
        if !families.contains(&description.family()) {
            families.push(description.family());
        }
    }
    let items: Vec<String> = families.iter().map(|family| family_line(&all, family)).collect();
    let mut at = 0;
    loop {
        let Some(chosen) = form.choose("Family", "", &items, at)? else { return Ok(()) };
        at = chosen;
        if workload(form, &of_family(&all, families[chosen]))? {
            return Ok(());
        }
    }
}

/// A family with the names of its workloads, in a line of a menu.
fn family_line(all: &[Description], family: &str) -> String {
    let mut names = Vec::new();
    for description in of_family(all, family) {
        names.push(description.id.split_once('.').map_or("", |(_, name)| name));
    }
    line(family, &names.join(", "))
}

fn of_family<'d>(all: &'d [Description], family: &str) -> Vec<&'d Description> {
    all.iter().filter(|description| description.family() == family).collect()
}

/// Lets the user choose a workload; whether one became an entry.
fn workload<P: Planner>(form: &mut Form<'_, P>, all: &[&Description]) -> Result<bool, P::Error> {
    let items: Vec<String> =
        all.iter().map(|description| line(&description.id, &description.summary)).collect();
    let mut at = 0;
    let mut wrong = String::new();
    loop {
        let Some(chosen) = form.choose("Workload", &wrong, &items, at)? else { return Ok(false) };
        at = chosen;
        let entry = SuiteEntry { workload: all[chosen].id.clone(), ..SuiteEntry::default() };
        let pushed = form.accept(|draft| {
            draft.entries.push(entry);
            Ok(())
        });
        match pushed {
            Ok(()) => return edit(form, form.draft.entries.len() - 1).map(|()| true),
            Err(error) => wrong = form.planner.told(error)?,
        }
    }
}

/// The menu of an entry: its parameters, its rules, its end.
pub fn edit<P: Planner>(form: &mut Form<'_, P>, index: usize) -> Result<(), P::Error> {
    let description = form.planner.describe(&form.draft.entries[index].workload)?;
    let parameters = &description.parameters;
    let mut at = 0;
    loop {
        let entry = &form.draft.entries[index];
        let mut items: Vec<String> =
            parameters.iter().map(|parameter| parameter_line(entry, parameter)).collect();
        items.push(line("Stopping rules", &or_dash(rules_line(&entry.rules()))));
        items.push("Remove from the suite".into());
        let title = entry.workload.clone();
        let Some(chosen) = form.choose(&title, &description.summary, &items, at)? else {
            return Ok(());
        };
        at = chosen;
        match chosen.checked_sub(parameters.len()) {
            None => parameter(form, index, &parameters[chosen])?,
            Some(0) => rules(form, &title, RulesOwner::Entry(index))?,
            Some(_) => {
                form.draft.entries.remove(index);
                return Ok(());
            }
        }
    }
}

fn parameter_line(entry: &SuiteEntry, parameter: &Parameter) -> String {
    let value = match entry.set.contains_key(&parameter.name) {
        true => typed(entry, &parameter.name),
        false => format!("{} (default)", parameter.show(&parameter.default)),
    };
    let summary = &parameter.summary;
    line(&parameter.name, &if summary.is_empty() { value } else { format!("{value}  {summary}") })
}

fn parameter<P: Planner>(
    form: &mut Form<'_, P>,
    index: usize,
    parameter: &Parameter,
) -> Result<(), P::Error> {
    let name = &parameter.name;
    let allowed: Vec<String> =
        parameter.allowed.iter().map(|value| parameter.show(value)).collect();
    let values = match allowed.is_empty() {
        true => {
            "A value, several separated by commas, or a range: 1..64 doubles, 4KiB..1MiB/4 takes \
                 four steps per doubling, 1..9+2 adds 2; all is the number of CPUs."
                .to_owned()
        }
        false => format!("One of these, or several separated by commas: {}.", allowed.join(", ")),
    };
    let summary = &parameter.summary;
    let default = parameter.show(&parameter.default);
    let help = format!("{name}: {summary}\n{values}\nThe default is {default}.");
    let text = typed(&form.draft.entries[index], name);
    form.change(name, &help, &text, |draft: &mut Suite, text: &str| {
        let values = &mut draft.entries[index].set;
        // Without its own value, the parameter has its default.
        if text.is_empty() {
            values.remove(name);
        } else {
            values.insert(name.clone(), values_of(text));
        }
        Ok(())
    })
}

/// The values of a parameter as they were typed; empty for the default.
fn typed(entry: &SuiteEntry, name: &str) -> String {
    let values = entry.set.get(name).into_iter().flatten();
    values.map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".into() } else { text }
}
