//! Containers and sandboxes whose filter refuses a system call: plumb measures without it, or says what it lacks.
#![expect(unsafe_code, reason = "a filter is set between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::common::processes::{signal, wait_for};
use crate::common::{ProgramOutput, ran};
use crate::{PATIENCE, place};

/// System calls that plumb makes beside those without which no program starts.
const CALLS: [(&str, libc::c_long); 36] = [
    ("perf_event_open", libc::SYS_perf_event_open),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("sched_setscheduler", libc::SYS_sched_setscheduler),
    ("setpriority", libc::SYS_setpriority),
    ("clone3", libc::SYS_clone3),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("unshare", libc::SYS_unshare),
    ("setns", libc::SYS_setns),
    ("personality", libc::SYS_personality),
    ("prctl", libc::SYS_prctl),
    ("prlimit64", libc::SYS_prlimit64),
    ("setpgid", libc::SYS_setpgid),
    ("getpgid", libc::SYS_getpgid),
    ("kill", libc::SYS_kill),
    ("waitid", libc::SYS_waitid),
    ("wait4", libc::SYS_wait4),
    ("getrusage", libc::SYS_getrusage),
    ("getrandom", libc::SYS_getrandom),
    ("signalfd4", libc::SYS_signalfd4),
    ("setitimer", libc::SYS_setitimer),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("sendmsg", libc::SYS_sendmsg),
    ("recvmsg", libc::SYS_recvmsg),
    ("pipe2", libc::SYS_pipe2),
    ("ppoll", libc::SYS_ppoll),
    ("flock", libc::SYS_flock),
    ("fsync", libc::SYS_fsync),
    ("fdatasync", libc::SYS_fdatasync),
    ("ftruncate", libc::SYS_ftruncate),
    ("statx", libc::SYS_statx),
    ("sysinfo", libc::SYS_sysinfo),
    ("clock_nanosleep", libc::SYS_clock_nanosleep),
    ("sched_yield", libc::SYS_sched_yield),
];

/// Has this call fail with EPERM from now on, as container engines do it.
fn refuse(call: libc::c_long) -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let program = [
        // The number of the call is at offset 0 of struct seccomp_data.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32)
        },
        statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW),
    ];
    let filter =
        libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program lives until the call returns; the kernel copies it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn without(command: &mut Command, call: libc::c_long) -> &mut Command {
    // SAFETY: `refuse` allocates nothing and touches no memory of the parent.
    unsafe { command.pre_exec(move || refuse(call)) }
}

/// What a short run says without this call; None if it hangs.
fn run_without(call: libc::c_long) -> Option<ProgramOutput> {
    let place = place();
    let mut plumb = place.plumb("exec --no-lock -q -n 2 true");
    plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = without(&mut plumb, call).spawn().unwrap();
    if wait_for(PATIENCE, || child.try_wait().unwrap()).is_none() {
        signal("KILL", child.id()).unwrap();
        child.wait().unwrap();
        return None;
    }
    Some(child.wait_with_output().unwrap().into())
}

#[test]
fn a_refused_system_call_is_an_error_and_no_bug() {
    let mut wrong = Vec::new();
    for (name, call) in CALLS {
        let Some(done) = run_without(call) else {
            wrong.push(format!("{name}: hangs"));
            continue;
        };
        let is_said = matches!(done.code, Some(0 | 2 | 3 | 4 | 6));
        if !is_said || done.stderr.contains("panicked") {
            wrong.push(format!("{name}: {:?} {}", done.code, done.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_keeper_that_a_filter_keeps_from_working_is_named_with_a_way_out() {
    for call in [libc::SYS_socketpair, libc::SYS_signalfd4, libc::SYS_wait4] {
        let place = place();
        let mut plumb = place.plumb("exec --no-lock -q -n 2 true");
        ran(without(&mut plumb, call)).unwrap().exits(3).says(&[
            "can't start processes",
            "Operation not permitted",
            "seccomp=unconfined",
        ]);
    }
}
