//! Why the kernel refuses to show a process, and how to get more.

use std::fs;

use super::text::Escaped;
use crate::observe::Pid;
use crate::proc::Status;

/// `CAP_DAC_READ_SEARCH` of capabilities(7).
const CAP_DAC_READ_SEARCH: u32 = 2;
/// `CAP_SYS_PTRACE` of capabilities(7).
const CAP_SYS_PTRACE: u32 = 19;

/// What a reader of other processes' waits needs if it is not root. `CAP_SYS_PTRACE` alone does not
/// open files of `/proc` whose modes are root's.
pub const CAPABILITIES: &str = "run awaitty as root, or give it the two capabilities: \
    setcap cap_sys_ptrace,cap_dac_read_search+ep FILE";

/// Why a process is closed to us, and how to open it; `None` when it is open, or gone.
#[must_use]
pub fn refusal(pid: Pid) -> Option<String> {
    let error = fs::read_to_string(format!("/proc/{pid}/syscall")).err()?;
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            Some(reason(Status::parse(&status)?, has_capabilities()))
        }
        // A process that has ended is told elsewhere.
        _ => None,
    }
}

/// Why a process cannot be traced; `None` when it is gone. A process has one tracer, whatever the rights
/// of a second one.
#[must_use]
pub fn of_trace(pid: Pid) -> Option<String> {
    let status = status_of(pid)?;
    if status.tracer == 0 {
        return Some(reason(status, has_capabilities()));
    }
    // TracerPid is the number of a thread.
    let tracer = status_of(status.tracer).map_or(status.tracer, |status| status.tgid);
    let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
    let name = Escaped(name.trim_end()).to_string();
    Some(format!(
        "process {tracer} ({name}) traces it; awaitty watch --pid {pid} works all the same"
    ))
}

fn status_of(pid: Pid) -> Option<Status> {
    Status::parse(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// The reasons in the order in which they explain most.
fn reason(status: Status, capable: bool) -> String {
    if status.tracer != 0 && !capable {
        return format!("it is traced by process {}; {CAPABILITIES}", status.tracer);
    }
    let own = nix::unistd::geteuid().as_raw();
    if !capable && (status.uid != own || status.euid != own) {
        let whose = if status.uid == status.euid { "belongs to" } else { "has the rights of" };
        return format!("it {whose} user {}; {CAPABILITIES}", status.euid);
    }
    match yama_scope() {
        Some(scope @ 1..) if !capable => format!(
            "Yama allows nobody but a process's ancestors (kernel.yama.ptrace_scope = {scope}); \
             sysctl kernel.yama.ptrace_scope=0, or {CAPABILITIES}"
        ),
        _ if !capable => format!(
            "it may not be dumped (prctl PR_SET_DUMPABLE), has capabilities, or lies in another user \
             namespace; {CAPABILITIES}"
        ),
        _ => "a container or a security module forbids it; start the container with \
              --cap-add=SYS_PTRACE --security-opt seccomp=unconfined"
            .to_owned(),
    }
}

/// Have we got both capabilities?
#[must_use]
pub fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let needed = 1 << CAP_DAC_READ_SEARCH | 1 << CAP_SYS_PTRACE;
    effective.is_some_and(|mask| mask & needed == needed)
}

/// `kernel.yama.ptrace_scope`; `None` without Yama.
#[must_use]
pub fn yama_scope() -> Option<u8> {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracer_explains_more_than_the_user() {
        let stranger = Status { uid: 77, euid: 77, ..Status::default() };
        let traced = Status { tracer: 5, ..stranger };
        assert!(reason(traced, false).starts_with("it is traced by process 5; "));
        assert!(reason(stranger, false).starts_with("it belongs to user 77; "));
        let sudo = Status { uid: 77, euid: 0, ..Status::default() };
        assert!(reason(sudo, false).starts_with("it has the rights of user 0; "));
        assert!(reason(stranger, true).starts_with("a container"));
    }
}
