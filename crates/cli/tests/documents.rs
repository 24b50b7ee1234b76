//! What documents and comments cite exists: files that a clone has, sections of the method, and figures of the validation.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below `folder` with one of these endings; what builds leave behind is left out.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules", ".git", "corpus"].contains(&name.as_str()) {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found
}

/// The words of a text that begin with one of these, up to their `.md`.
fn cited(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || "()[]`\"'*,;:<>|\\{}".contains(c));
    let documents = words.filter_map(|word| {
        let begins = word.starts_with("docs/") || word.starts_with("crates/");
        begins.then(|| word.split('#').next()).flatten()
    });
    documents.filter_map(|word| Some(format!("{}.md", word.split_once(".md")?.0))).collect()
}

#[test]
fn cited_documents_exist() {
    let root = root();
    for file in files(&root, &[".md", ".rs", ".toml", ".ts"]) {
        let text = fs::read_to_string(&file).unwrap();
        for name in cited(&text) {
            let placeholder = name.chars().any(|c| c.is_ascii_uppercase());
            let exists = placeholder || root.join(&name).exists();
            assert!(exists, "{} cites {name}, which does not exist", file.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for file in files(&root(), &[".md"]) {
        // Quoted texts, such as the licences of other projects, link within those projects.
        let text = fs::read_to_string(&file).unwrap();
        let outside_fences: Vec<&str> = text.split("\n```").step_by(2).collect();
        for link in
            outside_fences.concat().split("](").skip(1).filter_map(|rest| rest.split(')').next())
        {
            let path = link.split('#').next().unwrap();
            let outside = path.is_empty() || path.contains("://") || path.contains(' ');
            let exists = outside || file.parent().unwrap().join(path).exists();
            assert!(exists, "{} links to {link}, which does not exist", file.display());
        }
    }
}

#[test]
fn cited_sections_of_the_method_exist() {
    let root = root();
    let method = fs::read_to_string(root.join("docs/method.md")).unwrap();
    let sections: BTreeSet<&str> =
        method.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let citation = format!("{}, *", "docs/method.md");
    for file in files(&root.join("crates"), &[".rs"]) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            for rest in line.split(&citation).skip(1) {
                let section = rest.split('*').next().unwrap();
                let exists = sections.contains(section);
                assert!(exists, "{}: docs/method.md has no section {section}", file.display());
            }
        }
    }
}

/// A figure in a document, and the rows of docs/validation.tsv that it sums up.
struct ClaimedFigure {
    document: &'static str,
    /// The sentence, with `LOW` and `HIGH` for the least and the largest of the rows in percent.
    sentence: &'static str,
    /// How the question begins.
    question: &'static str,
    /// What a row has, and what it has not.
    with: &'static str,
    without: &'static str,
}

const CLAIMS: [ClaimedFigure; 8] = [
    ClaimedFigure {
        document: "README.md",
        sentence: "they cover the true median in at least LOW % of runs",
        question: "Stopped 95 % interval of the median",
        with: "\t>= ",
        without: "\tnone",
    },
    ClaimedFigure {
        document: "README.md",
        sentence: "bursts longer than a command (LOW to HIGH %)",
        question: "Stopped 95 % interval of the median: a sample is a process",
        with: "\tnone: bursts outlast a command",
        without: "\t>= ",
    },
    ClaimedFigure {
        document: "README.md",
        sentence: "a single process that stays in one regime (LOW to HIGH %)",
        question: "Stopped 95 % interval of the median: one long process",
        with: "\tnone",
        without: "\t>= ",
    },
    ClaimedFigure {
        document: "README.md",
        sentence: "contained the median of the surrounding ten minutes in LOW to HIGH % of the sessions that got one",
        question: "Recorded traces: the machine's interval contains the median",
        with: "",
        without: "\tnone",
    },
    ClaimedFigure {
        document: "README.md",
        sentence: "as hyperfine prints it, contained it in LOW to HIGH %.",
        question: "Recorded traces: values printed by other tools",
        with: "mean ± σ (hyperfine)",
        without: "1.96",
    },
    ClaimedFigure {
        document: "docs/method.md",
        sentence: "Without it, LOW to HIGH % of simulated comparisons of equal programs report a difference",
        question: "Stored runs of a program called different if the noise between times did not count",
        with: "apart",
        without: "independent runs",
    },
    ClaimedFigure {
        document: "docs/method.md",
        sentence: "a check one week after daily runs finds LOW %",
        question: "A slow-down of one series, found by a check that allows for slow noise",
        with: "5 %, one run per day, checked a week later\t",
        without: "runs in 20 min",
    },
    ClaimedFigure {
        document: "docs/method.md",
        sentence: "and LOW % with `--sessions 3`",
        question: "A slow-down of one series, found by a check that allows for slow noise",
        with: "one run per day, checked a week later, confirmed by 3 sessions",
        without: "runs in 20 min",
    },
];

/// The shares that the table has in these rows.
fn shares(table: &str, claim: &ClaimedFigure) -> Vec<f64> {
    let of_question = table.lines().filter(|line| line.starts_with(claim.question));
    let meant =
        of_question.filter(|line| line.contains(claim.with) && !line.contains(claim.without));
    meant.filter_map(|line| line.split('\t').nth(3)?.parse().ok()).collect()
}

#[test]
fn figures_are_those_of_the_validation() {
    let root = root();
    let table = fs::read_to_string(root.join("docs/validation.tsv")).unwrap();
    for claim in CLAIMS {
        let shares = shares(&table, &claim);
        assert!(!shares.is_empty(), "{}: no row", claim.sentence);
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        // What is said of all must hold of the least before rounding.
        let low = if claim.sentence.contains("at least LOW") {
            (100.0 * least).floor() / 100.0
        } else {
            least
        };
        let high = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sentence = claim.sentence.replace("LOW", &percent(low)).replace("HIGH", &percent(high));
        let text = fs::read_to_string(root.join(claim.document)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{} does not say: {sentence}", claim.document);
    }
}
