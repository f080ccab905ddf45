//! The files of `/proc` that a look reads.

use nix::unistd::geteuid;

use super::Finding;
use crate::cli::permission;
use crate::observe::{Kernel, Live, Pid, ReadError, TaskFile, TaskId};
use crate::proc::{Schedstat, Syscall};

const SANDBOX: &str = "this kernel or sandbox (gVisor) does not offer it; watch from outside of it";

/// Those of a process of our own, which is blocked in read(2) of fd 0.
pub(super) fn of_own(pid: Pid) -> Vec<Finding> {
    let mut live = Live::new();
    let task = TaskId { pid, tid: pid };
    let syscall = live.task_file(task, TaskFile::Syscall);
    let buffer = syscall.as_deref().ok().and_then(buffer_of);
    let memory = buffer.ok_or(ReadError::Gone).and_then(|at| live.memory(task, at, 1));
    vec![
        needed("/proc/PID/syscall", "the call that blocks each thread", pid, syscall.map(drop)),
        needed("/proc/PID/fd", "what stands behind descriptors", pid, live.fds(pid).map(drop)),
        needed("/proc/PID/fdinfo", "epoll sets, masters", pid, live.fdinfo(pid, 0).map(drop)),
        needed("memory", "the sets of poll and select", pid, memory.map(drop)),
        needed("/proc/PID/exe", "the architecture", pid, live.arch(pid).map(drop)),
        counters(&mut live, task),
        helpful(
            "/proc/PID/children",
            "who belongs to a job",
            live.task_file(task, TaskFile::Children).map(drop),
            "without CONFIG_PROC_CHILDREN all of /proc is read instead",
        ),
        helpful(
            "/proc/PID/wchan",
            "what a task in state D waits for",
            live.task_file(task, TaskFile::Wchan).map(drop),
            "verdicts do without it",
        ),
        helpful("/proc/locks", "who holds a lock", live.locks().map(drop), SANDBOX),
    ]
}

fn buffer_of(syscall: &str) -> Option<u64> {
    match Syscall::parse(syscall)? {
        Syscall::Call(registers) => Some(registers.args[1]),
        _ => None,
    }
}

fn needed(layer: &'static str, what: &str, pid: Pid, answer: Result<(), ReadError>) -> Finding {
    match answer {
        Ok(()) => Finding::open(layer, what),
        Err(error) => {
            let refusal = permission::refusal(pid);
            Finding::closed(
                layer,
                format!("{what}: {error}"),
                refusal.as_deref().unwrap_or(SANDBOX),
            )
        }
    }
}

fn helpful(
    layer: &'static str,
    what: &str,
    answer: Result<(), ReadError>,
    without: &str,
) -> Finding {
    match answer {
        Ok(()) => Finding::open(layer, what),
        Err(error) => Finding::limited(layer, format!("{what}: {error}"), without),
    }
}

/// Without a count of runs nothing proves that all tasks slept at one and the same instant.
fn counters(live: &mut Live, task: TaskId) -> Finding {
    const LAYER: &str = "run counters";
    let schedstat = live.task_file(task, TaskFile::Schedstat);
    if schedstat.is_ok_and(|text| Schedstat::parse(&text).is_some_and(|it| it.counts())) {
        return Finding::open(LAYER, "/proc/PID/schedstat counts");
    }
    let switches = live.task_file(task, TaskFile::Status);
    match switches.is_ok_and(|text| text.contains("voluntary_ctxt_switches")) {
        true => Finding::open(
            LAYER,
            "/proc/PID/schedstat shows zeros; the context switches of /proc/PID/status stand in",
        ),
        false => Finding::closed(LAYER, "neither schedstat nor status counts", SANDBOX),
    }
}

/// Those of another user's process: any one stands for all.
pub(super) fn of_others() -> Finding {
    const LAYER: &str = "other users";
    let own = geteuid().as_raw();
    let stranger = procfs::process::all_processes()
        .into_iter()
        .flatten()
        .flatten()
        .find(|process| process.uid().is_ok_and(|uid| uid != own))
        .map(|process| process.pid);
    let Some(pid) = stranger else {
        return Finding::open(LAYER, "no process of another user is here to be tried");
    };
    match permission::refusal(pid) {
        None => Finding::open(LAYER, format!("process {pid} can be seen into")),
        Some(why) => {
            let (why, remedy) = why.split_once("; ").unwrap_or((&why, permission::CAPABILITIES));
            Finding::limited(LAYER, format!("process {pid} cannot be seen into: {why}"), remedy)
        }
    }
}
