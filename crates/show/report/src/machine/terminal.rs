//! A machine and its environment by themes, or what differs between two, on a terminal.

use plumb_model::{FACTS, FOR_ROOT, FactKind, Impact};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};

use crate::machine::view::{MachineSnapshot, differences, shown};

/// The facts of one machine by themes, or what differs between several.
#[must_use]
pub fn machine_card(snapshots: &[MachineSnapshot], terminal: &Terminal) -> String {
    let text = match snapshots {
        [one] => facts(one, terminal),
        several => difference_card(several, terminal),
    };
    terminal.signs(text)
}

fn line(style: Style, text: &str, terminal: &Terminal) -> String {
    terminal.lines(0, &TextLine::new(style, text))
}

/// `run 01a… · host web1 · fp1:… · env1:…`.
pub(crate) fn title(snapshot: &MachineSnapshot) -> String {
    let target = &snapshot.target;
    let machine = &target.machine.fingerprint;
    let environment = &target.environment.fingerprint;
    let when = snapshot.run.as_ref().map_or_else(|| "now".into(), |run| format!("run {run}"));
    let host =
        target.host.known().map_or_else(|| target.host.to_string(), |name| format!("host {name}"));
    format!("{when} · {host} · {machine} · {environment}")
}

fn facts(snapshot: &MachineSnapshot, terminal: &Terminal) -> String {
    let mut out = line(Style::Title, &title(snapshot), terminal);
    let stable = &snapshot.target.machine.facts;
    let changing = &snapshot.target.environment.facts;
    let mut table =
        Table::new(vec![TableColumn::left(""), TableColumn::left("").wrapping()]).indented(2);
    let mut theme = None;
    for fact in FACTS {
        // To leave it out would look as if the machine had no such thing.
        let unread = FOR_ROOT.contains(&fact.name).then_some("not read (needs root and DMI)");
        let value = stable.get(fact.name).or_else(|| changing.get(fact.name));
        let Some(value) = value.map(String::as_str).or(unread) else { continue };
        if theme.replace(fact.theme) != Some(fact.theme) {
            table.heading(TextLine::new(Style::Heading, fact.theme.word()));
        }
        // Facts such as CPU flaws are long lists: a line for each part, with the name at the first.
        for (index, part) in value.split("; ").enumerate() {
            let name = if index == 0 { shown(fact.name) } else { String::new() };
            table.row(vec![TextLine::new(Style::Muted, &name), TextLine::new(Style::Plain, part)]);
        }
    }
    out.push_str(&terminal.table(&table));
    out
}

fn difference_card(snapshots: &[MachineSnapshot], terminal: &Terminal) -> String {
    let mut out: String =
        snapshots.iter().map(|snapshot| line(Style::Title, &title(snapshot), terminal)).collect();
    out.push('\n');
    let differences = differences(snapshots);
    if differences.is_empty() {
        out.push_str(&line(
            Style::Good,
            "no differences in the facts that plumb read on both",
            terminal,
        ));
        return out;
    }
    let columns =
        vec![TableColumn::left(""), TableColumn::left(""), TableColumn::left("").wrapping()];
    let mut table = Table::new(columns).indented(2);
    for difference in &differences {
        let style = match difference.impact {
            Impact::Harmless => Style::Muted,
            Impact::Relevant => Style::Flag,
            Impact::Fatal => Style::Bad,
        };
        // A run of a newer plumb may have facts that this one does not know.
        let why = FactKind::named(&difference.field).map_or("", |fact| fact.why);
        table.row(vec![
            TextLine::new(style, difference.impact.word()),
            TextLine::new(Style::Name, &shown(&difference.field)),
            TextLine::new(Style::Muted, why),
        ]);
        for value in own_parts(&difference.values) {
            let value = TextLine::new(Style::Plain, &value);
            table.row(vec![TextLine::default(), TextLine::default(), value]);
        }
    }
    out.push_str(&terminal.table(&table));
    out
}

/// Each value without the parts that all have.
fn own_parts(values: &[String]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = values.iter().map(|value| value.split("; ").collect()).collect();
    parts
        .iter()
        .map(|of| {
            let alone: Vec<&str> = of
                .iter()
                .filter(|part| !parts.iter().all(|other| other.contains(part)))
                .copied()
                .collect();
            if alone.is_empty() { "nothing else".to_owned() } else { alone.join("; ") }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use insta::assert_snapshot;
    use plumb_model::{Environment, Machine, Target};

    use super::machine_card;
    use crate::machine::json::machine_document;
    use crate::machine::view::MachineSnapshot;
    use plumb_text::Terminal;

    fn snapshot(run: Option<&str>, kernel: &str, mitigations: &str) -> MachineSnapshot {
        let facts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let stable = [("cpu", "Xeon"), ("cpus", "2"), ("memory", "8 GiB")];
        let changing = [("kernel", kernel), ("mitigations", mitigations), ("device", "/dev/sda")];
        MachineSnapshot {
            run: run.map(str::to_owned),
            target: Target {
                name: "local".into(),
                host: plumb_model::Host::UNKNOWN,
                machine: Machine { fingerprint: "fp1:a".into(), facts: facts(&stable) },
                environment: Environment { fingerprint: "env1:b".into(), facts: facts(&changing) },
            },
        }
    }

    #[test]
    fn facts_stand_by_themes() {
        let card =
            machine_card(&[snapshot(None, "6.1", "mds: on; spectre: on")], &Terminal::plain(60));
        assert_snapshot!(card, @"
        now · unknown host · fp1:a · env1:b

        cpu
          cpu             Xeon
          cpus            2
          mitigations     mds: on
                          spectre: on

        memory
          memory          8 GiB
          memory modules  not read (needs root and DMI)

        target directory
          device          /dev/sda

        kernel
          kernel          6.1
        ");
    }

    #[test]
    fn two_machines_show_what_differs_alone() {
        let mut two = [
            snapshot(Some("01a"), "6.1", "mds: on; spectre: on"),
            snapshot(Some("01b"), "6.12", "mds: on; spectre: off"),
        ];
        // What one of them did not read is no difference.
        two[0].target.environment.facts.insert("caches".into(), "L1d 32 KiB".into());
        assert_snapshot!(machine_card(&two, &Terminal::plain(70)), @"
        run 01a · unknown host · fp1:a · env1:b
        run 01b · unknown host · fp1:a · env1:b

          relevant  kernel       affects every system call
                                 6.1
                                 6.12
          relevant  mitigations  each slows kernel entry
                                 spectre: on
                                 spectre: off
        ");
        let document = machine_document(&two);
        let fields: Vec<&str> =
            document.differences.iter().map(|difference| difference.field.as_str()).collect();
        assert_eq!(fields, ["kernel", "mitigations"]);
        assert_eq!(document.targets[1].run.as_deref(), Some("01b"));
        two[0].target.host = "web1".parse().unwrap();
        two[1] = two[0].clone();
        assert_snapshot!(machine_card(&two, &Terminal::plain(70)), @"
        run 01a · host web1 · fp1:a · env1:b
        run 01a · host web1 · fp1:a · env1:b

        no differences in the facts that plumb read on both
        ");
    }
}
