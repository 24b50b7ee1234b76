//! What every reader does with every fixture. A new format needs a fixture whose name begins with its word, and nothing more.

use std::collections::BTreeMap;

use plumb_classics::{Format, ImportError, ImportedSeries, ResultFile, decode, read};

use crate::{fixtures, numbers};

/// A figure: its point, its metric, and its value as text.
type FoundFigures = Vec<(String, String, f64)>;

/// What is tested: [`read`], or one that is broken on purpose.
type TestedReader = dyn Fn(&str, Option<Format>, Option<&str>) -> Result<ResultFile, ImportError>;

/// A check: the faults of a reader with these fixtures.
type FaultsOf = dyn Fn(&NamedTexts, &TestedReader) -> Vec<String>;

/// A name and a text for each fixture.
type NamedTexts = [(String, String)];

/// The format of a fixture, by its name.
pub(crate) fn format_of(name: &str) -> Format {
    Format::ALL.into_iter().find(|format| name.starts_with(format.word())).unwrap()
}

/// All figures of a file, in order of their points.
pub(crate) fn figures(file: &ResultFile) -> FoundFigures {
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

fn faults_of_files_twice(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        let once = read(text, None, None).unwrap();
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
        let doubled: FoundFigures =
            figures(&once).into_iter().flat_map(|figure| [figure.clone(), figure]).collect();
        if figures(&twice) != doubled || invocations(&twice) != 2 * invocations(&once) {
            faults.push(format!("{name}: {:?}", figures(&twice)));
        }
    }
    faults
}

#[test]
fn a_file_that_is_there_twice_gives_each_result_twice() {
    assert_none(&faults_of_files_twice(&fixtures(), &read));
}

fn faults_of_two_files(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        for (other, added) in fixtures {
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
    faults
}

#[test]
fn two_files_in_one_give_the_results_of_both() {
    assert_none(&faults_of_two_files(&fixtures(), &read));
}

fn faults_of_windows(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        let plain = read(text, None, None).unwrap();
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        if read(&windows, None, None).as_ref() != Ok(&plain) {
            faults.push(format!("{name}: with a mark and CRLF"));
        }
        let utf16: Vec<u8> = windows.encode_utf16().flat_map(u16::to_le_bytes).collect();
        if read(&decode(&utf16), None, None).as_ref() != Ok(&plain) {
            faults.push(format!("{name}: as UTF-16"));
        }
        let twice = read(&format!("{windows}{windows}"), None, None);
        if twice.is_ok_and(|twice| invocations(&twice) != 2 * invocations(&plain)) {
            faults.push(format!("{name}: twice"));
        }
    }
    faults
}

#[test]
fn marks_and_line_ends_of_windows_change_nothing() {
    assert_none(&faults_of_windows(&fixtures(), &read));
}

fn faults_of_recognition(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
        for text in [text, &indented] {
            let told = read(text, Some(format_of(name)), None);
            if read(text, None, None) != told {
                faults.push(format!("{name}: {:?} for {told:?}", read(text, None, None)));
            }
        }
    }
    faults
}

#[test]
fn what_a_format_reads_is_recognised_without_it() {
    assert_none(&faults_of_recognition(&fixtures(), &read));
}

/// Whether each figure of one list is in the other.
fn are_among(few: &FoundFigures, all: &FoundFigures) -> bool {
    // The message of a failure may be cut off as well.
    let values = few.iter().filter(|(_, metric, _)| !metric.starts_with("failed"));
    values.into_iter().all(|(_, metric, value)| {
        all.iter().any(|(_, known, other)| {
            metric == known && (value - other).abs() <= 1e-12 * value.abs()
        })
    })
}

fn faults_of_early_ends(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        let whole = figures(&read(text, None, None).unwrap());
        let end = text.trim_end().len();
        let quarters = [end / 4, end / 2, 3 * end / 4];
        for cut in (0..end).step_by(11).chain(quarters) {
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
    faults
}

#[test]
fn a_file_that_ends_early_gives_no_wrong_figure() {
    assert_none(&faults_of_early_ends(&fixtures(), &read));
}

/// A number of a text, as wide as it was, that is 0.
fn zero(number: &str) -> String {
    if number.contains('.') {
        number.chars().map(|c| if c == '.' { c } else { '0' }).collect()
    } else {
        "0".to_owned()
    }
}

fn faults_of_zeroes(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, text) in fixtures {
        let before = read(text, None, None).unwrap();
        let numbers = numbers(text);
        for (begin, end) in numbers.iter().copied().step_by(numbers.len().div_ceil(300)) {
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
    faults
}

#[test]
fn zero_is_a_finding_or_named() {
    assert_none(&faults_of_zeroes(&fixtures(), &read));
}

/// A setting in a fixture, and another value of it.
const SETTINGS: [(&str, &str, &str); 48] = [
    ("bonnie-1.97-concurrency.csv", "web,4,", "web,8,"),
    ("bonnie-1.03.csv", "300M", "301M"),
    ("bonnie-1.03-files.csv", ",16,", ",17,"),
    ("bonnie-2.00.csv", "8192,5", "8192,7"),
    ("cloudwatch-efs.json", "DataWriteIOBytes", "DataReadIOBytes"),
    ("cyclictest-2.40.txt", "# Histogram\n", "T: 0 ( 9) P:80 I:500 C: 9\n# Histogram\n"),
    ("dd-9.1.txt", "1048576 bytes", "1048577 bytes"),
    ("fio-randread.json", "\"bs\" : \"4k\"", "\"bs\" : \"8k\""),
    ("fio-randread.json", "\"direct\" : \"1\"", "\"direct\" : \"0\""),
    ("fio-3.36-failed.json", "libaio", "psync"),
    ("fio-3.36-failed.json", "\"bs\": \"4k\"", "\"bs\": \"4k\", \"norandommap\": \"\""),
    ("fs_mark-3.3.txt", "1 thread(s)", "4 thread(s)"),
    ("fs_mark-3.3.txt", "-n  200", "-n  300"),
    ("fs_mark-3.3.txt", "INBAND FSYNC", "NO SYNC"),
    ("fs_mark-3.3.txt", "size 0 bytes", "size 9 bytes"),
    ("fs_mark-3.3.txt", "IO size of 16384", "IO size of 4096"),
    ("fs_mark-3.3.txt", "Nov 23", "Nov 24"),
    ("hackbench-2.4.txt", "1 groups", "3 groups"),
    ("hackbench-2.4.txt", "100 messages", "200 messages"),
    ("hackbench-2.4.txt", "100 bytes", "200 bytes"),
    ("hyperfine-1.15.json", "\"n\": \"0\"", "\"n\": \"7\""),
    ("iperf3-tcp.json", "\"num_streams\":\t1", "\"num_streams\":\t4"),
    ("iperf3-tcp.json", "\"blksize\":\t131072", "\"blksize\":\t8192"),
    ("iperf3-tcp.json", "\"omit\":\t0", "\"omit\":\t2"),
    ("iperf3-tcp.json", "\"tos\":\t0", "\"tos\":\t16"),
    ("iperf3-tcp.json", "\"reverse\":\t0", "\"reverse\":\t1"),
    ("iperf3-tcp.json", "\"sock_bufsize\":\t0", "\"sock_bufsize\":\t9000"),
    ("iperf3-tcp.json", "\"host\":\t\"127.0.0.1\"", "\"host\":\t\"10.0.0.1\""),
    ("iperf3-udp.json", "\"target_bitrate\":\t50000000", "\"target_bitrate\":\t60000000"),
    ("mbw-1.5.txt", "MiB: 100.00000", "MiB: 200.00000"),
    ("mbw-1.2.2-verbose.txt", "Using 262144", "Using 4096"),
    ("openssl-3.0.txt", "sha256", "sha512"),
    ("openssl-3.0.txt", "+F2:2:2048", "+F2:4:4096"),
    ("perf-bench-6.1.txt", "1 groups ==", "2 groups =="),
    ("perf-bench-6.1.txt", "20 sender", "10 sender"),
    ("perf-bench-6.1.txt", "two processes", "two threads"),
    ("ping-flood.txt", "PING 127.0.0.1", "PING 127.0.0.2"),
    ("ping-flood.txt", "56(84)", "1400(1428)"),
    ("sockperf-3.7.txt", "# UDP", "# TCP"),
    ("sockperf-3.7.txt", "IP = 127.0.0.1", "IP = 10.0.0.1"),
    ("stream-5.10.txt", "Array size = 8388608", "Array size = 9000000"),
    ("stream-5.10.txt", "counted = 2", "counted = 4"),
    ("stream-5.10.txt", "executed 10 times", "executed 20 times"),
    ("stress-ng-0.15.txt", "1 cpu", "2 cpu"),
    ("sysbench-cpu.txt", "Prime numbers limit: 10000", "Prime numbers limit: 20000"),
    ("sysbench-cpu.txt", "Number of threads: 1", "Number of threads: 4"),
    ("sysbench-memory.txt", "operation: write", "operation: read"),
    ("sysbench-1.0-oltp.txt", "rate: 300/sec", "rate: 400/sec"),
];

/// The points of a file, each with its number of invocations.
fn points(file: &ResultFile) -> Vec<(String, usize)> {
    let mut points = Vec::new();
    for import in &file.imports {
        for series in &import.series {
            let name =
                format!("{:?} {} {:?}", import.started_unix_ns, series.workload, series.settings);
            points.push((name, series.invocations.len()));
        }
    }
    points
}

fn faults_of_settings(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, from, to) in SETTINGS {
        let Some((_, text)) = fixtures.iter().find(|(known, _)| known == name) else { continue };
        assert!(text.contains(from), "{name} has no {from}");
        let before = points(&read(text, None, None).unwrap());
        let both = read(&format!("{text}{}", text.replace(from, to)), None, None).unwrap();
        let is_apart = before.iter().any(|point| points(&both).contains(point));
        if !is_apart || points(&both).len() <= before.len() {
            faults.push(format!("{name}: {from}: {:?}", points(&both)));
        }
    }
    faults
}

#[test]
fn two_tests_that_differ_in_a_setting_are_two_points() {
    assert_none(&faults_of_settings(&fixtures(), &read));
}

fn faults_of_several_tools(fixtures: &NamedTexts, read: &TestedReader) -> Vec<String> {
    // The last fixture of each format: pairs of all take half a minute.
    let by_format: BTreeMap<&str, (String, String)> =
        fixtures.iter().cloned().map(|fixture| (format_of(&fixture.0).word(), fixture)).collect();
    let mut faults = Vec::new();
    for (format, (name, text)) in &by_format {
        for (_, (other, added)) in by_format.iter().filter(|(known, _)| *known != format) {
            let mut apart = figures(&read(text, None, None).unwrap());
            apart.extend(figures(&read(added, None, None).unwrap()));
            apart.sort_by(|one, other| {
                (&one.0, &one.1).cmp(&(&other.0, &other.1)).then(one.2.total_cmp(&other.2))
            });
            match read(&format!("{text}{added}"), None, None) {
                Ok(both) if figures(&both) == apart => {}
                both => faults.push(format!("{name} and {other}: {both:?} for {apart:?}")),
            }
        }
    }
    faults
}

#[test]
fn results_of_several_tools_in_one_file_are_all_read() {
    assert_none(&faults_of_several_tools(&fixtures(), &read));
}

#[test]
fn output_for_people_is_named_with_the_option_that_gives_the_other() {
    for (text, option) in [
        ("t: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=63.9k\n", "--output-format=json"),
        ("[ ID] Interval           Transfer     Bitrate\n", "-J"),
        ("  Time (mean \u{b1} \u{3c3}):     100.0 ms\n", "--export-json"),
    ] {
        let error = read(text, None, None).unwrap_err().to_string();
        assert!(error.contains(option) && !error.contains("damaged"), "{error}");
    }
}

/// The true reader, with something done to what it reads.
fn broken(change: impl Fn(&str, &mut ResultFile) + 'static) -> Box<TestedReader> {
    Box::new(move |text, format, version| {
        let mut file = read(text, format, version)?;
        change(text, &mut file);
        Ok(file)
    })
}

fn series(file: &mut ResultFile) -> impl Iterator<Item = &mut ImportedSeries> {
    file.imports.iter_mut().flat_map(|import| &mut import.series)
}

fn values(file: &mut ResultFile) -> impl Iterator<Item = &mut Vec<f64>> {
    let invocations = series(file).flat_map(|series| &mut series.invocations);
    invocations.flat_map(|invocation| &mut invocation.values).map(|(_, values)| values)
}

#[test]
fn a_reader_that_is_broken_on_purpose_is_found_out() {
    let wanted = ["fio-randread.json", "iperf3-tcp.json", "ping-flood.txt", "sysbench-cpu.txt"];
    let mut few = fixtures();
    few.retain(|(name, _)| wanted.contains(&name.as_str()) || name == "iperf3-udp.json");
    assert_eq!(few.len(), wanted.len() + 1);
    let first_alone = broken(|_, file| {
        file.imports.truncate(1);
        series(file).for_each(|series| series.invocations.truncate(1));
    });
    let mixed = broken(|_, file| {
        let mut all: Vec<&mut ImportedSeries> = series(file).collect();
        if let [first, .., last] = all.as_mut_slice() {
            first.invocations.clone_from(&last.invocations);
        }
    });
    let without_marks = broken(|text, file| {
        if text.starts_with('\u{feff}') {
            file.imports.clear();
        }
    });
    let told_only: Box<TestedReader> = Box::new(|text, format, version| {
        format.ok_or(ImportError::Unknown).and_then(|format| read(text, Some(format), version))
    });
    let whole: Vec<String> = few.iter().map(|(_, text)| text.clone()).collect();
    let of_half = broken(move |text, file| {
        if !whole.iter().any(|whole| whole == text) {
            values(file).for_each(|values| values.iter_mut().for_each(|value| *value /= 2.0));
        }
    });
    let without_zeroes = broken(|_, file| {
        values(file).for_each(|values| values.retain(|value| *value != 0.0));
        file.not_read.clear();
        file.imports.iter_mut().for_each(|import| import.missing.clear());
    });
    let without_settings = broken(|_, file| {
        let mut merged: Vec<ImportedSeries> = Vec::new();
        let imports = file.imports.iter_mut();
        let all: Vec<ImportedSeries> =
            imports.flat_map(|import| std::mem::take(&mut import.series)).collect();
        for series in all {
            match merged.iter_mut().find(|known| known.workload == series.workload) {
                Some(known) => known.invocations.extend(series.invocations),
                None => merged.push(ImportedSeries { settings: Vec::new(), ..series }),
            }
        }
        if let Some(first) = file.imports.first_mut() {
            first.series = merged;
        }
    });
    let checks: [(&str, &[&str], &FaultsOf, &TestedReader); 8] = [
        ("the first result alone", &wanted, &faults_of_files_twice, &first_alone),
        ("fields of two results", &[], &faults_of_two_files, &mixed),
        ("nothing behind a mark", &wanted, &faults_of_windows, &without_marks),
        ("formats that are named alone", &wanted, &faults_of_recognition, &told_only),
        ("half of what is cut off", &[], &faults_of_early_ends, &of_half),
        ("zeroes as gaps", &[], &faults_of_zeroes, &without_zeroes),
        ("settings ignored", &[], &faults_of_settings, &without_settings),
        ("one tool alone", &[], &faults_of_several_tools, &first_alone),
    ];
    for (what, by_all, faults_of, reader) in checks {
        let faults = faults_of(&few, reader);
        assert!(!faults.is_empty(), "{what}: not found");
        for name in by_all {
            let is_found = faults.iter().any(|fault| fault.contains(name));
            assert!(is_found, "{what}: not found by {name}: {faults:?}");
        }
    }
}
