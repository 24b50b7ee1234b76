//! `memory.copy`: one array to another, bytes copied per second.

use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use crate::arrays::{change_pages, checked, mapped};
use crate::methods::{CopyMethod, HAS_NON_TEMPORAL};
use crate::node::{self, MemoryNode};
use crate::place;
use plumb_workload_kit::declare;
use plumb_workload_kit::mapping::Mapping;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `memory.copy`: its parameters and metrics, and how it starts.
pub(super) struct MemoryCopy;

impl Workload for MemoryCopy {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::choice(
                    "method",
                    &["libc", "loop", "block", "nt"],
                    "libc: memcpy; loop: 8-byte words; block: memcpy in blocks of 256 KiB; nt: \
                     non-temporal stores",
                ),
                declare::curve(
                    CurveKind::Plateaus,
                    declare::bytes("size", 64 << 20, "size of each array; each thread has two"),
                ),
                declare::bytes(
                    "prefetch",
                    0,
                    "for method=nt, how far ahead source lines are prefetched; 0: no prefetch",
                ),
                declare::threads("threads, each copying separate arrays"),
                placement(),
                node::parameter(),
            ],
            metrics: vec![declare::rate(
                "bandwidth",
                "B/s",
                "bytes copied per second, each counted once, all threads together",
            )],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            ceiling: Some("method".into()),
            audit_class: Some(AuditClass::Memory),
            ..declare::workload("memory.copy", "copies one array to another")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("copy.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = start.size("size");
        let threads = start.size("threads").max(1);
        let method = method(start)?;
        let needed = (size as u64).saturating_mul(2 * threads as u64);
        place::check(size as u64, needed, &start.facts)?;
        let node = MemoryNode::of(start)?;
        let seed = start.seed;
        let team = Team::placed(threads, start, move |index: usize| {
            Copier::new(method, size, node, seed ^ index as u64)
        })?;
        let ready = ready(start, &team)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

fn method(start: &Start) -> Result<CopyMethod, StartError> {
    let name = start.text("method");
    let prefetch = start.size("prefetch");
    let method = CopyMethod::named(name)
        .ok_or_else(|| StartError::Failed(format!("unknown method `{name}`")))?;
    match method {
        CopyMethod::NonTemporal { .. } if !HAS_NON_TEMPORAL => Err(StartError::unsupported(
            format!("plumb has no non-temporal stores for {}", std::env::consts::ARCH),
            "set another `method`",
        )),
        CopyMethod::NonTemporal { .. } => Ok(CopyMethod::NonTemporal { prefetch }),
        _ if prefetch > 0 => {
            let why = format!("`prefetch` applies only to method=nt, not to `{name}`");
            Err(StartError::Failed(why))
        }
        _ => Ok(method),
    }
}

fn ready(start: &Start, team: &Team<Copier>) -> Result<Ready, StartError> {
    let size = start.integer("size");
    let threads = start.integer("threads").max(1);
    let mut ready =
        Ready { work: declare::work(&[("bandwidth", size * threads)]), ..Ready::default() };
    ready.versions.insert("libc".into(), c_library());
    let mut huge = 0;
    let mut known = true;
    team.each(|member| match member.from.huge_bytes().zip(member.to.huge_bytes()) {
        Some((from, to)) => huge += from + to,
        None => known = false,
    });
    if known {
        let all = 2 * size * threads;
        ready
            .notes
            .push(format!("{huge} of {all} bytes are in huge pages, which were not requested"));
    }
    ready.notes.extend(MemoryNode::of(start)?.map(MemoryNode::note));
    threads::describe(start.size("threads").max(1), start, &mut ready)?;
    place::describe(size, 2 * size, &start.facts, &mut ready);
    Ok(ready)
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the version of the C library has no safe form")]
fn c_library() -> String {
    // SAFETY: returns a pointer to a static string that ends with a zero byte.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
fn c_library() -> String {
    "not glibc".into()
}

/// One thread's two arrays.
struct Copier {
    method: CopyMethod,
    from: Mapping,
    to: Mapping,
}

impl Copier {
    fn new(
        method: CopyMethod,
        size: usize,
        node: Option<MemoryNode>,
        seed: u64,
    ) -> Result<Self, StartError> {
        let mut from = mapped(size, node)?;
        let mut to = mapped(size, node)?;
        fill(from.words_mut(), seed);
        fill(to.words_mut(), !seed);
        Ok(Self { method, from: checked(from, node)?, to: checked(to, node)? })
    }
}

/// Writes words of which no two are equal, so that no page equals another.
fn fill(words: &mut [u64], seed: u64) {
    let mut word = seed;
    for slot in words {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        *slot = word;
    }
}

impl Member for Copier {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.method.copy(self.from.words(), self.to.words_mut());
        }
        Ok(())
    }

    /// Compares all words, then changes one a page, so that the next batch has something to copy.
    fn verify(&mut self) -> Result<(), Failure> {
        let from = self.from.words();
        let to = self.to.words();
        if from != to {
            let at = from.iter().zip(to).position(|(from, to)| from != to).unwrap_or(0);
            return Err(Failure(format!(
                "memory.copy: word {at} is {:#018x} in the copy, {:#018x} in the source",
                to[at], from[at]
            )));
        }
        change_pages(&mut self.from, |word| word.wrapping_add(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Copier, CopyMethod};
    use plumb_workload_kit::threads::Member;

    #[test]
    fn a_copy_that_lacks_a_word_or_was_not_made_is_found() {
        let mut copier = Copier::new(CopyMethod::Loop, 1 << 16, None, 1).unwrap();
        assert!(copier.verify().is_err(), "nothing was copied yet");
        copier.run(1).unwrap();
        copier.verify().unwrap();
        assert!(copier.verify().is_err(), "nothing was copied since");
        copier.run(2).unwrap();
        copier.to.words_mut()[777] ^= 1;
        let failure = copier.verify().unwrap_err();
        assert!(failure.0.contains("word 777 is"), "{failure}");
    }
}
