//! `cpu.answers`: known answers, computed on every CPU in turn and compared.

use std::fmt::Write;
use std::hint::black_box;

use plumb_model::{AuditClass, Description, Facts, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::TasksInTurn;

use self::block::{AnswerBytes, BLOCK};
use self::instructions::DeflateRoundTrip;
use crate::hash::xxh64;

mod block;
mod instructions;
mod portable;

/// The workload `cpu.answers`: its parameters and metrics, and how it starts.
pub(super) struct KnownAnswers;

/// Inputs of each kind, drawn anew for each invocation.
const QUESTIONS: usize = 64;

impl Workload for KnownAnswers {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![declare::choice(
                "kind",
                &["all", "aes", "sha256", "crc32", "fma", "lz"],
                "what is computed",
            )],
            metrics: vec![
                declare::rate(
                    "rate",
                    "answers/s",
                    "answers computed and compared per second on a CPU",
                ),
                declare::neutral("cpus", "", "CPUs visited in each sample"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload(
                "cpu.answers",
                "checks on every CPU in turn whether it computes known answers",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("answers.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let kinds = AnswerKind::of(start.text("kind"))?;
        let mut ready =
            Ready { notes: without_instructions(&kinds, &start.facts), ..Ready::default() };
        let (cpus, left_out) = usable(&start.facts)?;
        if !left_out.is_empty() {
            ready.notes.push(format!(
                "left out, because the kernel refuses them: CPUs {}",
                listed(&left_out)
            ));
        }
        let instance = Examination::new(&kinds, start.seed, &cpus)?;
        ready.work = declare::work(&[("rate", (instance.questions.len() * cpus.len()) as u64)]);
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Aes,
    Sha256,
    Crc32,
    Fma,
    Lz,
}

impl AnswerKind {
    const ALL: [Self; 5] = [Self::Aes, Self::Sha256, Self::Crc32, Self::Fma, Self::Lz];

    /// The kinds of this value of the parameter: one, or all that this CPU has.
    fn of(word: &str) -> Result<Vec<Self>, StartError> {
        let mut kinds = Self::ALL.to_vec();
        kinds.retain(|kind| (word == "all" && kind.is_here()) || word == kind.word());
        match kinds.as_slice() {
            [] => Err(StartError::Failed(format!("cpu.answers has no kind `{word}`"))),
            [one] if !one.is_here() => Err(StartError::unsupported(
                "this CPU has no fused multiply-add (FMA)",
                "set another `kind`",
            )),
            _ => Ok(kinds),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Aes => "aes",
            Self::Sha256 => "sha256",
            Self::Crc32 => "crc32",
            Self::Fma => "fma",
            Self::Lz => "lz",
        }
    }

    fn is_here(self) -> bool {
        self != Self::Fma || instructions::has_fma()
    }

    /// The word in /proc/cpuinfo for its instructions on x86-64; the libraries do without if it is missing.
    fn feature(self) -> Option<&'static str> {
        match self {
            Self::Aes => Some("aes"),
            Self::Sha256 => Some("sha_ni"),
            Self::Crc32 => Some("pclmulqdq"),
            Self::Fma | Self::Lz => None,
        }
    }

    /// Bytes of an answer that are not padding.
    fn length(self) -> usize {
        match self {
            Self::Aes | Self::Sha256 => 32,
            Self::Crc32 => 4,
            Self::Fma => 64,
            Self::Lz => 16,
        }
    }

    /// The answer by plain code. A packer has no other code: what it packs must be the same on two CPUs.
    fn known(self, block: &[u8; BLOCK], packer: &mut DeflateRoundTrip) -> AnswerBytes {
        match self {
            Self::Aes => portable::aes(block),
            Self::Sha256 => portable::sha256(block),
            Self::Crc32 => portable::crc32(block),
            Self::Fma => portable::fma(block),
            Self::Lz => {
                let mut answer = packer.lz(block);
                answer[8..16].copy_from_slice(&xxh64(block, 0).to_be_bytes());
                answer
            }
        }
    }

    /// The answer by the CPU's instructions.
    fn computed(self, block: &[u8; BLOCK], packer: &mut DeflateRoundTrip) -> AnswerBytes {
        match self {
            Self::Aes => instructions::aes(block),
            Self::Sha256 => instructions::sha256(block),
            Self::Crc32 => instructions::crc32(block),
            Self::Fma => instructions::fma(block),
            Self::Lz => packer.lz(block),
        }
    }
}

/// Which of the kinds are computed without instructions of their own here, for the reader.
fn without_instructions(kinds: &[AnswerKind], facts: &Facts) -> Vec<String> {
    if facts.cpu_features.is_empty() || !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    let is_missing =
        |feature: &&str| !facts.cpu_features.iter().any(|here| here.as_str() == *feature);
    let missing: Vec<&str> =
        kinds.iter().filter_map(|kind| kind.feature()).filter(is_missing).collect();
    match missing.as_slice() {
        [] => Vec::new(),
        _ => vec![format!("plain code, because this CPU has no {}", missing.join(", "))],
    }
}

/// The CPUs that a thread can go to, and those of plumb's that it can't.
fn usable(facts: &Facts) -> Result<(Vec<usize>, Vec<usize>), StartError> {
    let before = CpuSet::current()?;
    let cpus = facts.cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok());
    let (usable, left_out): (Vec<usize>, Vec<usize>) =
        cpus.partition(|cpu| CpuSet::only(*cpu).apply().is_ok());
    before.apply()?;
    if usable.is_empty() {
        return Err(StartError::unsupported(
            "a thread may not be pinned to any CPU here",
            "allow sched_setaffinity (seccomp, cpuset)",
        ));
    }
    Ok((usable, left_out))
}

fn listed(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// An input with its answer.
struct Question {
    kind: AnswerKind,
    /// Which one of its kind.
    index: usize,
    block: [u8; BLOCK],
    expected: AnswerBytes,
}

impl Question {
    /// The questions of a seed, with their answers by plain code.
    fn all(kinds: &[AnswerKind], seed: u64, packer: &mut DeflateRoundTrip) -> Vec<Self> {
        let mut questions = Vec::with_capacity(QUESTIONS * kinds.len());
        for &kind in kinds {
            let mut random = SplitMix64::new(seed);
            for index in 0..QUESTIONS {
                let block =
                    if kind == AnswerKind::Lz { text(&mut random) } else { noise(&mut random) };
                let expected = kind.known(&block, packer);
                questions.push(Self { kind, index, block, expected });
            }
        }
        questions
    }

    /// The answer by plain code of the CPU that asks, if it is another one.
    fn other_answer(&self, packer: &mut DeflateRoundTrip) -> Option<AnswerBytes> {
        let other = self.kind.known(&self.block, packer);
        (other != self.expected).then_some(other)
    }

    fn name(&self) -> String {
        format!("{} {}", self.kind.word(), self.index)
    }

    /// The bytes of an answer that count.
    fn hex(&self, answer: &AnswerBytes) -> String {
        answer[..self.kind.length()].iter().fold("0x".to_owned(), |mut text, byte| {
            // Writing into a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Random bytes, which no packer makes smaller.
fn noise(random: &mut SplitMix64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    random.fill(&mut block);
    block
}

/// Random bytes of which half repeat earlier ones, so that a packer finds something.
fn text(random: &mut SplitMix64) -> [u8; BLOCK] {
    let mut block = noise(random);
    let mut filled = 32;
    while filled < BLOCK {
        let start = usize::try_from(random.below(filled as u64)).unwrap_or(0);
        let length = usize::try_from(random.below(24)).unwrap_or(0).min(BLOCK - filled);
        for offset in 0..length {
            block[filled + offset] = block[start + offset];
        }
        filled += length + 12;
    }
    block
}

/// The answers of one CPU since the last check.
struct CpuAnswers {
    cpu: usize,
    computed: u64,
    wrong: u64,
    /// The first wrong answer, and the place of its question.
    first: Option<(usize, AnswerBytes)>,
}

impl CpuAnswers {
    /// Of a CPU that has not computed anything yet.
    fn of(cpu: usize) -> Self {
        Self { cpu, computed: 0, wrong: 0, first: None }
    }
}

/// All questions, put to every CPU in turn.
struct Examination {
    seed: u64,
    questions: Vec<Question>,
    packer: DeflateRoundTrip,
    /// What the first CPU and the last one disagree about by plain code: one of them computes wrongly, and nothing says which.
    disagreement: Option<String>,
    cpus: Vec<CpuAnswers>,
    place: TasksInTurn,
    /// Time of the sample under way, without moves between CPUs.
    elapsed_ns: u64,
}

impl Examination {
    fn new(kinds: &[AnswerKind], seed: u64, cpus: &[usize]) -> Result<Self, StartError> {
        let mut packer = DeflateRoundTrip::new();
        let first = cpus.first().copied().unwrap_or(0);
        let last = cpus.last().copied().unwrap_or(first);
        let mut place = TasksInTurn::new(&[first, last])?;
        place.go_to_next()?;
        let questions = Question::all(kinds, seed, &mut packer);
        place.go_to_next()?;
        let disagreement = questions.iter().find_map(|question| {
            let other = question.other_answer(&mut packer)?;
            Some(format!(
                "plain code gives two answers for input {} of seed {seed}: {} on CPU {first}, {} on CPU {last}",
                question.name(),
                question.hex(&question.expected),
                question.hex(&other)
            ))
        });
        drop(place);
        Ok(Self {
            seed,
            questions,
            packer,
            disagreement,
            cpus: cpus.iter().copied().map(CpuAnswers::of).collect(),
            place: TasksInTurn::new(cpus)?,
            elapsed_ns: 0,
        })
    }

    fn failure(&self, answers: &CpuAnswers) -> Option<String> {
        let (place, got) = answers.first.as_ref()?;
        let question = self.questions.get(*place)?;
        Some(format!(
            "CPU {}: {} of {} answers wrong; the first, for input {} of seed {}: expected {}, got {}",
            answers.cpu,
            answers.wrong,
            answers.computed,
            question.name(),
            self.seed,
            question.hex(&question.expected),
            question.hex(got)
        ))
    }
}

impl Instance for Examination {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for answers in &mut self.cpus {
            self.place.go_to_next().map_err(|failure| {
                Failure(format!("CPU {} can no longer be used: {failure}", answers.cpu))
            })?;
            let start = now_ns();
            for _ in 0..iterations {
                for (place, question) in self.questions.iter().enumerate() {
                    let got = question.kind.computed(black_box(&question.block), &mut self.packer);
                    if got != question.expected {
                        answers.wrong += 1;
                        answers.first.get_or_insert((place, got));
                    }
                }
            }
            self.elapsed_ns += now_ns() - start;
            answers.computed += iterations * self.questions.len() as u64;
        }
        Ok(())
    }

    /// Every CPU has its part of each sample, whose time is that of all parts.
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        for &count in iterations {
            let start = now_ns();
            self.elapsed_ns = 0;
            self.run(count)?;
            batch.record(start, self.elapsed_ns, count, current_cpu());
            batch.record_reported(|row| self.values(row));
        }
        Ok(())
    }

    fn has_untimed_parts(&self) -> bool {
        true
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let mut failures: Vec<String> = self.disagreement.iter().cloned().collect();
        failures.extend(self.cpus.iter().filter_map(|answers| self.failure(answers)));
        for answers in &mut self.cpus {
            answers.computed = 0;
            answers.wrong = 0;
            answers.first = None;
        }
        if failures.is_empty() {
            return Ok(());
        }
        Err(Failure(format!("cpu.answers: {}", failures.join("; "))))
    }

    fn checks_computation(&self) -> bool {
        true
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["cpus"]
    }

    #[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 CPUs")]
    fn values(&mut self, out: &mut [f64]) {
        out[0] = self.cpus.len() as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AnswerKind, BLOCK, DeflateRoundTrip, Examination, Instance, Question, instructions, text,
    };
    use plumb_protocol::SplitMix64;
    use plumb_workload_kit::affinity::CpuSet;

    fn examination() -> Examination {
        let kinds = AnswerKind::of("all").unwrap();
        Examination::new(&kinds, 42, &CpuSet::current().unwrap().cpus()).unwrap()
    }

    #[test]
    fn every_cpu_computes_what_plain_code_does() {
        let mut examination = examination();
        let before = CpuSet::current().unwrap().cpus();
        for _ in 0..3 {
            examination.run(2).unwrap();
            let each = 2 * examination.questions.len() as u64;
            assert!(examination.cpus.iter().all(|answers| answers.computed == each));
            examination.verify().unwrap();
        }
        drop(examination);
        assert_eq!(CpuSet::current().unwrap().cpus(), before);
    }

    #[test]
    fn a_wrong_answer_names_cpu_question_expected_and_got() {
        for kind in AnswerKind::of("all").unwrap() {
            let mut examination = examination();
            let place =
                examination.questions.iter().position(|question| question.kind == kind).unwrap();
            let question = &mut examination.questions[place];
            let right = question.hex(&question.expected);
            // The last byte that counts: no shorter part is compared.
            question.expected[kind.length() - 1] ^= 1;
            let expected = question.hex(&question.expected);
            examination.run(3).unwrap();
            let cpu = examination.cpus.last().unwrap().cpu;
            let all = 3 * examination.questions.len();
            let why = examination.verify().unwrap_err().0;
            let wanted = format!(
                "CPU {cpu}: 3 of {all} answers wrong; the first, for input {} 0 of seed 42: expected {expected}, got {right}",
                kind.word()
            );
            assert!(why.starts_with("cpu.answers: CPU ") && why.contains(&wanted), "{why}");
            examination.verify().unwrap();
        }
    }

    #[test]
    fn a_bit_that_flips_on_one_cpu_is_found_there_alone() {
        let mut examination = examination();
        examination.run(1).unwrap();
        let last = examination.cpus.len() - 1;
        let mut flipped = examination.questions[7].expected;
        flipped[0] ^= 0x10;
        examination.cpus[last].wrong = 1;
        examination.cpus[last].first = Some((7, flipped));
        let why = examination.verify().unwrap_err().0;
        let cpu = examination.cpus[last].cpu;
        assert!(why.contains(&format!("CPU {cpu}: 1 of")), "{why}");
        assert_eq!(why.matches("CPU ").count(), 1, "{why}");
    }

    #[test]
    fn plain_code_that_disagrees_between_two_cpus_is_a_wrong_result() {
        let mut examination = examination();
        let question = &mut examination.questions[7];
        assert_eq!(question.other_answer(&mut examination.packer), None);
        let right = question.expected;
        question.expected[0] ^= 0x10;
        assert_eq!(question.other_answer(&mut examination.packer), Some(right));
        question.expected = right;
        examination.disagreement = Some("plain code gives two answers".to_owned());
        examination.run(1).unwrap();
        assert!(examination.checks_computation());
        let why = examination.verify().unwrap_err().0;
        assert_eq!(why, "cpu.answers: plain code gives two answers");
    }

    #[test]
    fn seeds_give_other_questions_and_packers_find_repeats() {
        let mut packer = DeflateRoundTrip::new();
        let kinds = [AnswerKind::Aes];
        let mut blocks =
            [1, 2].map(|seed| Question::all(&kinds, seed, &mut packer).swap_remove(0).block);
        assert_ne!(blocks[0], blocks[1]);
        blocks[0] = text(&mut SplitMix64::new(1));
        let packed = miniz_oxide::deflate::compress_to_vec(&blocks[0], 1);
        assert!(packed.len() < BLOCK * 9 / 10, "{}", packed.len());
        assert!(AnswerKind::of("md5").is_err());
        assert_eq!(AnswerKind::of("fma").is_ok(), instructions::has_fma());
    }
}
