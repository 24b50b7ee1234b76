//! What is wrong with a machine for measuring: a page for people, a document to keep.

use plumb_model::{Diagnosis, Severity, Symptom};
use plumb_text::time::{date, rfc3339};
use plumb_text::units::percent;
use plumb_text::{Column, Line, Style, Table, Terminal, counted};
use serde::Serialize;

/// Name of the document's form.
pub const DOCTOR_SCHEMA: &str = "plumb.doctor/1";

/// What the last audit of a machine left.
#[derive(Debug, Clone, PartialEq)]
pub struct LastAudit {
    /// When it was made, in nanoseconds since 1970.
    pub at_unix_ns: i64,
    /// The noise floor of each kind of work: by how much equals differed.
    pub floors: Vec<(String, f64)>,
}

/// A diagnosis as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.doctor/1"))]
pub struct DoctorDocument {
    /// `plumb.doctor/1`.
    #[cfg_attr(test, schemars(extend("const" = DOCTOR_SCHEMA)))]
    pub schema: &'static str,
    /// The machine's fingerprint.
    pub machine: String,
    /// The environment's fingerprint.
    pub environment: String,
    /// A to F.
    pub mark: char,
    /// 0 for a note, 1 for a minor symptom, 3 for a major one, 6 for a grave one.
    pub points: u32,
    /// What is wrong, the worst first.
    pub symptoms: Vec<SymptomPart>,
    /// What the last audit left; null without one.
    pub audit: Option<LastAuditPart>,
}

/// Something that costs precision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SymptomPart {
    /// Its name.
    pub name: &'static str,
    /// How bad it is here.
    #[cfg_attr(test, schemars(extend("enum" = ["note", "minor", "major", "grave"])))]
    pub effect: &'static str,
    /// What was seen, and where.
    pub evidence: String,
    /// What it does to measurements.
    pub why: &'static str,
    /// The kinds of work whose results it moves.
    pub disturbs: Vec<&'static str>,
    /// What mends it.
    pub fix: String,
}

/// What the last audit left.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastAuditPart {
    /// When it was made.
    pub at: String,
    /// By how much equals differed.
    pub noise_floors: Vec<NoiseFloorPart>,
}

/// How small a change a kind of work shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NoiseFloorPart {
    /// The kind of work.
    pub class: String,
    /// The largest relative difference between equals, at 95 %.
    pub noise_floor: f64,
}

/// The diagnosis of a machine as a document.
#[must_use]
pub fn doctor_document(
    machine: &str,
    environment: &str,
    diagnosis: &Diagnosis,
    audit: Option<&LastAudit>,
) -> DoctorDocument {
    DoctorDocument {
        schema: DOCTOR_SCHEMA,
        machine: machine.to_owned(),
        environment: environment.to_owned(),
        mark: diagnosis.grade(),
        points: diagnosis.points(),
        symptoms: diagnosis.symptoms.iter().map(symptom).collect(),
        audit: audit.map(last_audit),
    }
}

fn symptom(it: &Symptom) -> SymptomPart {
    SymptomPart {
        name: it.name,
        effect: it.severity.word(),
        evidence: it.evidence.clone(),
        why: it.why,
        disturbs: it.disturbs.to_vec(),
        fix: it.fix.clone(),
    }
}

fn last_audit(audit: &LastAudit) -> LastAuditPart {
    let floor = |(class, floor): &(String, f64)| NoiseFloorPart {
        class: class.clone(),
        noise_floor: *floor,
    };
    LastAuditPart {
        at: rfc3339(audit.at_unix_ns),
        noise_floors: audit.floors.iter().map(floor).collect(),
    }
}

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
    let grade = Line::new(style, &diagnosis.grade().to_string()).and(Style::Plain, "  ");
    let summary = Line::new(Style::Title, &summary(diagnosis));
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

/// `for measuring: 1 major, 3 minor symptoms and 2 notes; 6 points of 12 that make F`.
fn summary(diagnosis: &Diagnosis) -> String {
    let count = |severity: Severity| {
        let count = diagnosis.symptoms.iter().filter(|it| it.severity == severity).count();
        (count > 0).then(|| match severity {
            Severity::Note => counted(count, "note", "notes"),
            _ => format!("{count} {}", severity.word()),
        })
    };
    let counts: Vec<String> = Severity::ALL.into_iter().filter_map(count).collect();
    match (counts.as_slice(), diagnosis.points()) {
        ([], _) => "for measuring: nothing is wrong".to_owned(),
        (_, 0) => format!("for measuring: nothing is wrong ({})", counts.join(", ")),
        (_, 1) => format!("for measuring: {}: 1 point", counts.join(", ")),
        (_, points) => format!("for measuring: {}: {points} points", counts.join(", ")),
    }
}

/// Columns before what is said of a symptom.
const INDENT: usize = 7;

fn symptoms(diagnosis: &Diagnosis, terminal: &Terminal) -> String {
    diagnosis.symptoms.iter().map(|it| lines(it, terminal)).collect()
}

fn lines(it: &Symptom, terminal: &Terminal) -> String {
    let style = match it.severity {
        Severity::Note => Style::Muted,
        Severity::Minor => Style::Flag,
        Severity::Major | Severity::Grave => Style::Bad,
    };
    let word = Line::new(style, &format!("{:INDENT$}", it.severity.word()));
    let seen = Line::new(Style::Heading, it.name).and(Style::Plain, &format!(": {}", it.evidence));
    let arrow = Line::new(Style::Command, "→ ");
    let line = |indent, lead: &Line, text: &Line| terminal.hanging(indent, lead, text);
    line(0, &word, &seen)
        + &line(INDENT, &Line::default(), &Line::new(Style::Muted, it.why))
        + &line(INDENT, &arrow, &Line::new(Style::Command, &it.fix))
}

/// How small a change each kind of work shows, and which symptoms may be why.
fn floors(diagnosis: &Diagnosis, audit: &LastAudit, terminal: &Terminal) -> String {
    let title = Line::new(Style::Heading, &format!("audit of {}", date(audit.at_unix_ns)));
    let mut out = terminal.lines(0, &title);
    if audit.floors.is_empty() {
        let few =
            Line::new(Style::Plain, "its comparisons were too few to say how small a change shows");
        out.push_str(&terminal.lines(2, &few));
    }
    let columns = vec![Column::left(""), Column::left(""), Column::left("").wrapping()];
    let mut table = Table::new(columns).indented(2);
    for (class, floor) in &audit.floors {
        let disturbs =
            |it: &&Symptom| it.severity > Severity::Note && it.disturbs.contains(&class.as_str());
        let symptoms: Vec<&str> =
            diagnosis.symptoms.iter().filter(disturbs).map(|it| it.name).collect();
        let with = if symptoms.is_empty() {
            String::new()
        } else {
            format!("disturbed by {}", symptoms.join(", "))
        };
        table.row(vec![
            Line::new(Style::Name, class),
            Line::new(Style::Plain, &format!("this machine sees ≥ {}", percent(*floor))),
            Line::new(Style::Muted, &with),
        ]);
    }
    out.push_str(&terminal.table(&table));
    out
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plumb_model::{Diagnosis, Severity, Symptom};

    use super::{LastAudit, doctor_card, doctor_document};
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
          cpu      this machine sees ≥ 0.4 %  disturbed by turbo
          process  this machine sees ≥ 25 %
        ");
        let well = doctor_card(&Diagnosis::new(Vec::new()), None, &Terminal::plain(80));
        assert_snapshot!(well, @"A  for measuring: nothing is wrong");
    }

    #[test]
    fn the_document_says_the_same() {
        let document = doctor_document("fp1:a", "env1:b", &diagnosis(), None);
        assert_eq!((document.mark, document.points, document.symptoms.len()), ('B', 1, 2));
        assert_eq!(document.symptoms[0].fix, "plumb run --set turbo=off");
        assert_eq!(document.audit, None);
    }
}
