//! How good a machine is for measuring, and what is wrong with it.

/// The effect of a symptom on measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; it costs no precision by itself.
    Note,
    /// Intervals are wider than they could be.
    Minor,
    /// Intervals that are wider by far, or results that hold for a moment.
    Major,
    /// Results that say more of the disturbance than of the workload.
    Grave,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Self; 4] = [Self::Grave, Self::Major, Self::Minor, Self::Note];

    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Grave => "grave",
        }
    }

    /// Its points in the grade.
    #[must_use]
    pub fn points(self) -> u32 {
        match self {
            Self::Note => 0,
            Self::Minor => 1,
            Self::Major => 3,
            Self::Grave => 6,
        }
    }
}

/// Something about a machine that costs precision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symptom {
    /// Name of the symptom, one word.
    pub name: &'static str,
    /// How bad it is here.
    pub severity: Severity,
    /// The evidence, and its place.
    pub evidence: String,
    /// What it does to measurements.
    pub why: &'static str,
    /// The kinds of work whose results it moves.
    pub disturbs: &'static [&'static str],
    /// The fix of the problem.
    pub fix: String,
}

/// The symptoms of a machine, the worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The symptoms, the worst first.
    pub symptoms: Vec<Symptom>,
}

/// The fewest points of each grade but the first.
const GRADES: [(u32, char); 5] = [(12, 'F'), (9, 'E'), (6, 'D'), (3, 'C'), (1, 'B')];

impl Diagnosis {
    /// The symptoms in order.
    #[must_use]
    pub fn new(mut symptoms: Vec<Symptom>) -> Self {
        symptoms.sort_by_key(|symptom| std::cmp::Reverse(symptom.severity));
        Self { symptoms }
    }

    /// All points: 0 for a note, 1 for a minor symptom, 3 for a major one, 6 for a grave one.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.symptoms.iter().map(|symptom| symptom.severity.points()).sum()
    }

    /// The grade: A without points, B to 2, C to 5, D to 8, E to 11, F from 12 on. So one minor symptom
    /// keeps a machine from A, one major from B, one grave from C, two grave make F.
    #[must_use]
    pub fn grade(&self) -> char {
        let points = self.points();
        GRADES.iter().find(|(fewest, _)| points >= *fewest).map_or('A', |(_, grade)| *grade)
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnosis, Severity, Symptom};

    fn grade(effects: &[Severity]) -> char {
        let symptom = |effect: &Severity| Symptom {
            name: "",
            severity: *effect,
            evidence: String::new(),
            why: "",
            disturbs: &[],
            fix: String::new(),
        };
        Diagnosis::new(effects.iter().map(symptom).collect()).grade()
    }

    #[test]
    fn marks_follow_the_rule() {
        use Severity::{Grave, Major, Minor, Note};
        let grades = [&[][..], &[Note, Note], &[Minor], &[Major], &[Grave], &[Grave, Grave]];
        assert_eq!(grades.map(grade).iter().collect::<String>(), "AABCDF");
        assert_eq!((grade(&[Minor; 2]), grade(&[Minor; 3]), grade(&[Major; 3])), ('B', 'C', 'E'));
    }
}
