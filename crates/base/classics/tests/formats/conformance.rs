//! What every reader does with every fixture. A new format needs a fixture whose name begins with its word, and nothing more.

use plumb_classics::{Format, ImportError, ResultFile, decode, read};

use crate::{fixtures, numbers};

/// A figure: its point, its metric, and its value as text.
type Figures = Vec<(String, String, f64)>;

/// The format of a fixture, by its name.
pub(crate) fn format_of(name: &str) -> Format {
    Format::ALL.into_iter().find(|format| name.starts_with(format.word())).unwrap()
}

/// All figures of a file, in order of their points.
pub(crate) fn figures(file: &ResultFile) -> Figures {
    let mut all = Vec::new();
    for import in &file.imports {
        for series in &import.series {
            let point = format!(
                "{:?} {:?} {:?} {} {:?}",
                import.version,
                import.started_unix_ns,
                import.machine,
                series.workload,
                series.settings
            );
            for invocation in &series.invocations {
                for (metric, values) in &invocation.values {
                    all.extend(values.iter().map(|value| (point.clone(), metric.clone(), *value)));
                }
                if let Some(why) = &invocation.failed {
                    all.push((point.clone(), format!("failed: {why}"), 0.0));
                }
            }
        }
    }
    all.sort_by(|one, other| {
        (&one.0, &one.1).cmp(&(&other.0, &other.1)).then(one.2.total_cmp(&other.2))
    });
    all
}

/// The number of figures of the file, without failures, and without what plumb computes from others: it is absent if one of them
/// is 0. A status is a figure only if it is not 0.
fn measured(file: &ResultFile) -> usize {
    let figures = figures(file);
    let own = figures.iter().filter(|(point, metric, _)| {
        let is_computed =
            point.contains("ping.echo") && ["rate", "loss"].contains(&metric.as_str());
        !is_computed && metric != "status" && !metric.starts_with("failed")
    });
    own.count()
}

fn invocations(file: &ResultFile) -> usize {
    let series = file.imports.iter().flat_map(|import| &import.series);
    series.map(|series| series.invocations.len()).sum()
}

/// What is named as not read, or as not measured by the tool.
fn unread(file: &ResultFile) -> usize {
    let missing: usize = file.imports.iter().map(|import| import.missing.len()).sum();
    missing + file.not_read.iter().map(|part| part.count).sum::<usize>()
}

/// Fails with all faults of a test.
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_format_has_a_fixture() {
    for format in Format::ALL {
        assert!(fixtures().iter().any(|(name, _)| format_of(name) == format), "{}", format.word());
    }
}

#[test]
fn a_file_that_is_there_twice_gives_each_result_twice() {
    let mut faults = Vec::new();
    for (name, text) in fixtures() {
        let once = read(&text, None, None).unwrap();
        let twice = match read(&format!("{text}{text}"), None, None) {
            Ok(twice) => twice,
            Err(error) => {
                faults.push(format!("{name}: {error}"));
                continue;
            }
        };
        let count: fn(&ResultFile) -> usize =
            |file| file.not_read.iter().map(|part| part.count).sum();
        if count(&twice) != 2 * count(&once) {
            faults.push(format!("{name}: {:?}", twice.not_read));
        }
        let doubled: Figures =
            figures(&once).into_iter().flat_map(|figure| [figure.clone(), figure]).collect();
        if figures(&twice) != doubled || invocations(&twice) != 2 * invocations(&once) {
            faults.push(format!("{name}: {:?}", figures(&twice)));
        }
    }
    assert_none(&faults);
}

#[test]
fn two_files_in_one_give_the_results_of_both() {
    let fixtures = fixtures();
    let mut faults = Vec::new();
    for (name, text) in &fixtures {
        for (other, added) in &fixtures {
            if name == other || format_of(name) != format_of(other) {
                continue;
            }
            let both = match read(&format!("{text}{added}"), None, None) {
                Ok(both) => both,
                // A file has one unit: openssl 1.0 prints seconds, later versions rates.
                Err(error) if error.to_string().contains("are mixed") => continue,
                Err(error) => {
                    faults.push(format!("{name} and {other}: {error}"));
                    continue;
                }
            };
            let mut apart = figures(&read(text, None, None).unwrap());
            apart.extend(figures(&read(added, None, None).unwrap()));
            apart.sort_by(|one, other| {
                (&one.0, &one.1).cmp(&(&other.0, &other.1)).then(one.2.total_cmp(&other.2))
            });
            if figures(&both) != apart {
                faults.push(format!("{name} and {other}: {:?} for {apart:?}", figures(&both)));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn marks_and_line_ends_of_windows_change_nothing() {
    for (name, text) in fixtures() {
        let plain = read(&text, None, None).unwrap();
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(read(&windows, None, None).unwrap(), plain, "{name}");
        let utf16: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&decode(&utf16), None, None).unwrap(), plain, "{name} as UTF-16");
        let appended = format!("{windows}{windows}");
        assert_eq!(invocations(&read(&appended, None, None).unwrap()), 2 * invocations(&plain));
    }
}

#[test]
fn what_a_format_reads_is_recognised_without_it() {
    let mut faults = Vec::new();
    for (name, text) in fixtures() {
        let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
        for text in [&text, &indented] {
            let told = read(text, Some(format_of(&name)), None);
            if read(text, None, None) != told {
                faults.push(format!("{name}: {:?} for {told:?}", read(text, None, None)));
            }
        }
    }
    assert_none(&faults);
}

/// Whether each figure of one list is in the other.
fn are_among(few: &Figures, all: &Figures) -> bool {
    // The message of a failure may be cut off as well.
    let values = few.iter().filter(|(_, metric, _)| !metric.starts_with("failed"));
    values.into_iter().all(|(_, metric, value)| {
        all.iter().any(|(_, known, other)| {
            metric == known && (value - other).abs() <= 1e-12 * value.abs()
        })
    })
}

#[test]
fn a_file_that_ends_early_gives_no_wrong_figure() {
    let mut faults = Vec::new();
    for (name, text) in fixtures() {
        let whole = figures(&read(&text, None, None).unwrap());
        let end = text.trim_end().len();
        let quarters = [end / 4, end / 2, 3 * end / 4];
        for cut in (0..end).step_by(7).chain(quarters) {
            let Some(part) = text.get(..cut) else { continue };
            let Ok(file) = read(part, None, None) else { continue };
            let left = figures(&file);
            let tail = &part[part.floor_char_boundary(cut.saturating_sub(60))..];
            if !are_among(&left, &whole) {
                faults.push(format!("{name} cut after {tail:?}: {left:?}"));
            }
            // What is lost is named, unless the file ends between two lines.
            let last = part.rsplit('\n').next().unwrap_or(part);
            let is_between = !last.contains(char::is_alphanumeric) || text[cut..].starts_with('\n');
            if left.len() < whole.len() && unread(&file) == 0 && !is_between {
                faults.push(format!(
                    "{name} cut after {tail:?}: {} of {}",
                    left.len(),
                    whole.len()
                ));
            }
        }
    }
    assert_none(&faults);
}

/// A number of a text, as wide as it was, that is 0.
fn zero(number: &str) -> String {
    if number.contains('.') {
        number.chars().map(|c| if c == '.' { c } else { '0' }).collect()
    } else {
        "0".to_owned()
    }
}

#[test]
fn zero_is_a_finding_or_named() {
    let mut faults = Vec::new();
    for (name, text) in fixtures() {
        let before = read(&text, None, None).unwrap();
        for (begin, end) in numbers(&text) {
            let changed = format!("{}{}{}", &text[..begin], zero(&text[begin..end]), &text[end..]);
            let line = text[..begin].split('\n').count();
            let what = format!("{name}, line {line}, `{}`", &text[begin..end]);
            match read(&changed, None, None) {
                Ok(file) => {
                    let is_named = unread(&file) > unread(&before)
                        || file.not_read.len() > before.not_read.len()
                        || figures(&file)
                            .iter()
                            .any(|(_, metric, value)| metric == "loss" && *value >= 1.0);
                    if measured(&file) < measured(&before) && !is_named {
                        faults.push(what);
                    }
                }
                // The form of a line of bonnie++ is the number that it begins with.
                Err(ImportError::Unknown) if text[..begin].is_empty() => {}
                Err(error @ (ImportError::Damaged { .. } | ImportError::Unknown)) => {
                    faults.push(format!("{what}: {error}"));
                }
                // Of no size, no version, no time: the reason is named.
                Err(_) => {}
            }
        }
    }
    assert_none(&faults);
}
