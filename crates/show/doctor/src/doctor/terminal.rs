//! The symptoms of a machine, on a terminal.

use plumb_model::{Diagnosis, Severity, Symptom};
use plumb_text::time::date;
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::percent;

use crate::doctor::view::{LastAudit, summary};

/// The diagnosis in lines of a terminal's width.
#[must_use]
pub fn doctor_card(
    diagnosis: &Diagnosis,
    audit: Option<&LastAudit>,
    terminal: &Terminal,
) -> String {
    let style = match diagnosis.grade() {
        'A' | 'B' => Style::Good,
        'C' | 'D' => Style::Flag,
        _ => Style::Bad,
    };
    let grade = TextLine::new(style, &diagnosis.grade().to_string()).and(Style::Plain, "  ");
    let summary = TextLine::new(Style::Title, &summary(diagnosis));
    let mut out = terminal.hanging(0, &grade, &summary);
    if !diagnosis.symptoms.is_empty() {
        out.push('\n');
        out.push_str(&symptoms(diagnosis, terminal));
    }
    if let Some(audit) = audit {
        out.push('\n');
        out.push_str(&floors(diagnosis, audit, terminal));
    }
    terminal.signs(out)
}

/// Columns before what is said of a symptom.
const INDENT: usize = 7;

pub(crate) fn symptoms(diagnosis: &Diagnosis, terminal: &Terminal) -> String {
    diagnosis.symptoms.iter().map(|symptom| lines(symptom, terminal)).collect()
}

fn lines(symptom: &Symptom, terminal: &Terminal) -> String {
    let style = match symptom.severity {
        Severity::Note => Style::Muted,
        Severity::Minor => Style::Flag,
        Severity::Major | Severity::Grave => Style::Bad,
    };
    let word = TextLine::new(style, &format!("{:INDENT$}", symptom.severity.word()));
    let seen = TextLine::new(Style::Heading, symptom.name)
        .and(Style::Plain, &format!(": {}", symptom.evidence));
    let arrow = TextLine::new(Style::Command, "→ ");
    let why = TextLine::new(Style::Muted, symptom.why);
    let fix = TextLine::new(Style::Command, &symptom.fix);
    // What was seen, why it matters, what to type: the order in which a reader asks.
    terminal.hanging(0, &word, &seen)
        + &terminal.hanging(INDENT, &TextLine::default(), &why)
        + &terminal.hanging(INDENT, &arrow, &fix)
}

/// How small a change each kind of work shows, and which symptoms may be why.
pub(crate) fn floors(diagnosis: &Diagnosis, audit: &LastAudit, terminal: &Terminal) -> String {
    let title = TextLine::new(Style::Heading, &format!("audit of {}", date(audit.at_unix_ns)));
    let mut out = terminal.lines(0, &title);
    // An audit that was cut short has no floor.
    if audit.floors.is_empty() {
        let few = TextLine::new(
            Style::Plain,
            "too few comparisons to determine how small a change this machine can detect",
        );
        out.push_str(&terminal.lines(2, &few));
    }
    let columns =
        vec![TableColumn::left(""), TableColumn::left(""), TableColumn::left("").wrapping()];
    let mut table = Table::new(columns).indented(2);
    for (class, floor) in &audit.floors {
        // A note does no harm here, so it can't be why.
        let symptoms: Vec<&str> = diagnosis
            .symptoms
            .iter()
            .filter(|symptom| symptom.severity > Severity::Note)
            .filter(|symptom| symptom.disturbs.contains(&class.as_str()))
            .map(|symptom| symptom.name)
            .collect();
        let with = if symptoms.is_empty() {
            String::new()
        } else {
            format!("disturbed by {}", symptoms.join(", "))
        };
        table.row(vec![
            TextLine::new(Style::Name, class),
            TextLine::new(Style::Plain, &format!("detects changes of {} or more", percent(*floor))),
            TextLine::new(Style::Muted, &with),
        ]);
    }
    out.push_str(&terminal.table(&table));
    out
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plumb_model::{Diagnosis, Severity, Symptom};

    use super::doctor_card;
    use crate::doctor::json::doctor_document;
    use crate::doctor::view::LastAudit;
    use plumb_text::Terminal;

    fn diagnosis() -> Diagnosis {
        let note = Symptom {
            name: "not-root",
            severity: Severity::Note,
            evidence: "user 1000, by /proc/self/status".into(),
            why: "most preparations and some monitors need root",
            disturbs: &[],
            fix: "sudo plumb doctor shows what root could do".into(),
        };
        let turbo = Symptom {
            name: "turbo",
            severity: Severity::Minor,
            evidence: "0 in /sys/devices/system/cpu/intel_pstate/no_turbo".into(),
            why: "the clock depends on heat, and on what other cores do",
            disturbs: &["cpu", "memory"],
            fix: "plumb run --set turbo=off".into(),
        };
        Diagnosis::new(vec![note, turbo])
    }

    #[test]
    fn a_diagnosis_fits_a_terminal() {
        let floors = vec![("cpu".to_owned(), 0.004), ("process".to_owned(), 0.25)];
        let audit = LastAudit { at_unix_ns: 1_760_000_000_000_000_000, floors };
        let card = doctor_card(&diagnosis(), Some(&audit), &Terminal::plain(60));
        assert!(card.lines().all(|line| line.chars().count() <= 60), "{card}");
        assert_snapshot!(card, @"
        B  for measuring: 1 minor, 1 note: 1 point

        minor  turbo: 0 in
               /sys/devices/system/cpu/intel_pstate/no_turbo
               the clock depends on heat, and on what other cores do
               → plumb run --set turbo=off
        note   not-root: user 1000, by /proc/self/status
               most preparations and some monitors need root
               → sudo plumb doctor shows what root could do

        audit of 2025-10-09 08:53 UTC
          cpu      detects changes of 0.4 % or more  disturbed by
                                                     turbo
          process  detects changes of 25 % or more
        ");
        let well = doctor_card(&Diagnosis::new(Vec::new()), None, &Terminal::plain(80));
        assert_snapshot!(well, @"A  for measuring: no problems found");
    }

    #[test]
    fn the_document_says_the_same() {
        let document = doctor_document("fp1:a", "env1:b", &diagnosis(), None);
        assert_eq!((document.mark, document.points, document.symptoms.len()), ('B', 1, 2));
        assert_eq!(document.symptoms[0].fix, "plumb run --set turbo=off");
        assert_eq!(document.audit, None);
    }
}
