//! A parent with threads that is no larger than a small C program with as many.
//!
//! What a fork copies grows with the threads of the parent, by more than their stacks: glibc gives each thread that
//! allocates its own arena, 64 MiB of addresses with its own page tables, and std gives each a stack for
//! signals. With 16 threads on two CPUs the arenas made a fork 1.5 times as slow, the stacks for signals 1.2 times.
#![expect(unsafe_code, reason = "mallopt, sigaltstack and madvise have no safe form in std")]

/// Has all threads to come allocate from the one heap.
pub(crate) fn keep_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator's; if it is refused, threads have arenas.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Keeps this thread's stack for signals out of children. They end, or become another
/// program, without a signal that they would handle.
pub(crate) fn leave_out_signal_stack() {
    // SAFETY: asks only; a stack_t is plain memory, for which all zeroes is a value. The advice is about whole pages
    // that std mapped for this thread and that live as long as it; it changes what children get, not this process.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        let asked = libc::sigaltstack(std::ptr::null(), &raw mut stack);
        if asked == 0 && stack.ss_flags & libc::SS_DISABLE == 0 && !stack.ss_sp.is_null() {
            libc::madvise(stack.ss_sp, stack.ss_size, libc::MADV_DONTFORK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::leave_out_signal_stack;
    use std::fs;

    #[test]
    fn the_stack_for_signals_is_marked() {
        // std gives each of its threads one, unless the program handles signals itself.
        let marked = || {
            let maps = fs::read_to_string("/proc/thread-self/smaps").unwrap();
            maps.lines().filter(|line| line.starts_with("VmFlags:") && line.contains(" dc")).count()
        };
        let (before, after) = std::thread::spawn(move || {
            let before = marked();
            leave_out_signal_stack();
            (before, marked())
        })
        .join()
        .unwrap();
        assert!(after > before, "{before} mappings are kept from children, then {after}");
    }
}
