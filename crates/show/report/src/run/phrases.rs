//! The subject of a sentence about a point: `Sequential reads of 1 MiB (O_DIRECT, depth 8)`.

use plumb_analysis::{Finding, PointFacts, ShownParameter};
use plumb_model::{FlagKind, ParameterType};

use crate::run::labels::{short_value, spaced, threads};

/// How a workload is called in a sentence.
struct Phrase {
    workload: &'static str,
    /// The subject; `{name}` stands for the value of that parameter.
    subject: &'static str,
    /// Parameters that stand in brackets even at their defaults, because a figure means nothing without them.
    always: &'static [&'static str],
}

const fn phrase(
    workload: &'static str,
    subject: &'static str,
    always: &'static [&'static str],
) -> Phrase {
    Phrase { workload, subject, always }
}

/// Every workload that a person would not name by its id; the others are called by it.
const PHRASES: &[Phrase] = &[
    phrase(
        "block.remote",
        "{pattern} {operation}s of {block} from a remote disk",
        &["depth", "up", "rtt"],
    ),
    phrase("compression.7zip", "7-Zip compression", &[]),
    phrase("compression.lz", "LZ compression", &[]),
    phrase("cpu.answers", "Known answers", &["kind"]),
    phrase("cpu.linpack", "Linpack", &[]),
    phrase("cpu.dhrystone", "Dhrystone", &[]),
    phrase("cpu.whetstone", "Whetstone", &[]),
    phrase("cpu.sieve", "Prime sieve", &[]),
    phrase("crypto.aead", "Encryption of {bytes} with {cipher}", &[]),
    phrase("crypto.agree", "Key agreements with {group}", &[]),
    phrase("crypto.hash", "Hashing of {bytes} with {hash}", &[]),
    phrase("crypto.kdf", "Keys derived with {function}", &[]),
    phrase("crypto.mac", "Authentication of {bytes} with {mac}", &[]),
    phrase("crypto.random", "Random numbers of {bytes}", &[]),
    phrase("crypto.sign", "Signatures with {algorithm}", &["operation"]),
    phrase("crypto.xts", "Encryption of sectors of {bytes} with {cipher}", &[]),
    phrase("datastore.batch", "Transactions of {entities} entities", &[]),
    phrase("language.sieve", "Prime sieve in {language}", &[]),
    phrase("memory.copy", "Memory copies of {size}", &["method"]),
    phrase("memory.latency", "Memory latency over {size}", &[]),
    phrase("memory.read", "Memory reads of {size}", &[]),
    phrase("memory.stream", "STREAM {kernel} over {size}", &[]),
    phrase("memory.write", "Memory writes of {size}", &[]),
    phrase("network.connect", "TCP connections", &[]),
    phrase("network.http", "HTTP fetches of {size}", &[]),
    phrase("network.icmp", "ICMP echo", &[]),
    phrase("network.rr", "Requests over {transport}", &[]),
    phrase("network.tcp", "TCP throughput", &[]),
    phrase("network.udp", "UDP datagrams of {bytes}", &[]),
    phrase("process.exec", "Starting a program", &[]),
    phrase("process.fork", "Process creation with {method}", &[]),
    phrase("process.library", "Starting a program with {library} in addition", &[]),
    phrase("process.thread", "Thread creation", &[]),
    phrase("scheduler.messaging", "Messages between groups of tasks", &[]),
    phrase("scheduler.pipe", "Round trips through a pipe", &["placement"]),
    phrase("scheduler.timer", "Timer wake-ups", &[]),
    phrase("scheduler.wakeup", "Wake-ups of a task", &[]),
    phrase("ssh.cipher", "An ssh session with {cipher}", &[]),
    phrase("ssh.copy", "Copies over ssh with {method}", &["direction"]),
    phrase("ssh.login", "Logins with ssh", &[]),
    phrase("storage.log", "Log commits of {record}", &[]),
    phrase("storage.random", "Random {operation}s of {block}", &["depth"]),
    phrase("storage.sequential", "Sequential {operation}s of {block}", &["depth"]),
    phrase("tls.bulk", "A transfer through TLS", &[]),
    phrase("tls.handshake", "TLS handshakes", &["mode"]),
];

/// The subject of a sentence about a result, with the parameters that differ from their defaults or carry the meaning.
pub(crate) fn subject(finding: &Finding) -> String {
    let point = &finding.point;
    if point.titled {
        return point.name.clone();
    }
    let phrase = PHRASES.iter().find(|phrase| phrase.workload == point.workload);
    let mut text =
        phrase.map_or_else(|| point.workload.clone(), |phrase| phrase.subject.to_owned());
    let mut details: Vec<String> = direct(finding).into_iter().collect();
    for parameter in &point.parameters {
        let placeholder = format!("{{{}}}", parameter.name);
        if text.contains(&placeholder) {
            text = text.replace(&placeholder, &value(parameter));
        } else if is_told(point, parameter, phrase) {
            details.push(detail(parameter));
        }
    }
    if text.contains('{') {
        // A record of another build may lack a parameter that the phrase names.
        text.clone_from(&point.workload);
    }
    let text = capitalised(&plurals(&text));
    if details.is_empty() { text } else { format!("{text} ({})", details.join(", ")) }
}

fn is_told(point: &PointFacts, parameter: &ShownParameter, phrase: Option<&Phrase>) -> bool {
    match parameter.name.as_str() {
        // Said as O_DIRECT, or as what it is not.
        "direct" => false,
        // How operations arrive has a meaning only if they are due at a rate.
        "arrivals" => !parameter.default && !is_closed(point),
        name => !parameter.default || phrase.is_some_and(|phrase| phrase.always.contains(&name)),
    }
}

fn is_closed(point: &PointFacts) -> bool {
    point
        .parameters
        .iter()
        .find(|parameter| parameter.name == "rate")
        .is_none_or(|rate| rate.value == "closed")
}

/// Whether blocks bypass the page cache, for workloads that can choose.
fn direct(finding: &Finding) -> Option<String> {
    let wanted = finding.point.parameters.iter().find(|parameter| parameter.name == "direct")?;
    // `auto` is direct if the filesystem can, and flagged if it can't.
    let is_cached = wanted.value == "no"
        || finding.flags.iter().any(|flag| flag.flag == FlagKind::NotDirect)
        || finding
            .point
            .parameters
            .iter()
            .any(|other| other.name == "place" && other.value == "memory");
    Some(if is_cached { "page cache" } else { "O_DIRECT" }.to_owned())
}

/// A parameter in brackets: `depth 8`, `2 threads`, `nt`.
fn detail(parameter: &ShownParameter) -> String {
    let value = value(parameter);
    match parameter.kind {
        ParameterType::Choice => value,
        ParameterType::Threads => threads(&parameter.value),
        ParameterType::Switch if parameter.value == "yes" => parameter.name.replace('_', " "),
        ParameterType::Text if parameter.value.contains(['.', '/']) => short_value(parameter),
        _ => format!("{} {value}", parameter.name.replace('_', " ")),
    }
}

/// A point in a sentence, with the parameters that are not at their defaults: `memory.copy (nt, 8 MiB)`.
#[must_use]
pub(crate) fn spoken(point: &PointFacts) -> String {
    if point.titled {
        return point.name.clone();
    }
    let values: Vec<String> = point
        .parameters
        .iter()
        .filter(|setting| !setting.default)
        .map(|setting| match setting.kind {
            ParameterType::Bytes | ParameterType::Choice => value(setting),
            ParameterType::Threads => threads(&setting.value),
            _ => format!("{}={}", setting.name, value(setting)),
        })
        .collect();
    if values.is_empty() {
        return point.workload.clone();
    }
    format!("{} ({})", point.workload, values.join(", "))
}

/// A value in a sentence: as a person types it, and sizes with a space.
fn value(parameter: &ShownParameter) -> String {
    match parameter.kind {
        ParameterType::Bytes => spaced(&parameter.value),
        _ => parameter.value.clone(),
    }
}

/// `mixeds` and `flushs` are no words.
fn plurals(text: &str) -> String {
    text.replace("mixeds", "reads and writes").replace("flushs", "flushes")
}

fn capitalised(text: &str) -> String {
    // An id stays as it is typed.
    if text.contains('.') && !text.contains(' ') {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
