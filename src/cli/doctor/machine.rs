//! The kernel, who we are, and what stands between.

use std::fs;
use std::path::Path;

use nix::sys::utsname::uname;
use nix::unistd::geteuid;
use procfs::process::Process;

use super::Finding;
use crate::cli::permission;

/// What a container has to be given. The profile of docker and podman closes ptrace and
/// process_vm_readv(2) to programs without the capability on kernels before 4.8.
const CONTAINER: &str = "start the container with --cap-add=SYS_PTRACE, and with \
    --security-opt seccomp=unconfined where calls are refused";

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = vec![kernel(), rights(), proc_mount()];
    findings.extend(yama());
    findings.extend(confinement());
    findings
}

fn kernel() -> Finding {
    let Ok(name) = uname() else { return Finding::open("kernel", "uname(2) is refused") };
    let [release, machine] = [name.release(), name.machine()].map(|text| text.to_string_lossy());
    let detail = format!("Linux {release} on {machine}");
    match &*machine {
        "x86_64" | "aarch64" => Finding::open("kernel", detail),
        _ => Finding::closed(
            "kernel",
            format!("{detail}: its system calls are not known"),
            "awaitty decodes the calls of x86_64, i386 and aarch64",
        ),
    }
}

fn rights() -> Finding {
    if permission::has_capabilities() {
        let who = if geteuid().is_root() { "root" } else { "a user" };
        return Finding::open(
            "rights",
            format!(
                "{who} with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: processes of all users can be seen"
            ),
        );
    }
    let detail = format!("user {} without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", geteuid());
    let consequence = "only processes of this user can be seen; sudo's are guessed about";
    Finding::limited("rights", format!("{detail}: {consequence}"), permission::CAPABILITIES)
}

/// `hidepid` of proc(5): it makes other users' processes vanish, all of them.
fn proc_mount() -> Finding {
    let mounts = Process::myself().and_then(|own| own.mountinfo());
    let Ok(mounts) = mounts else {
        return Finding::closed("/proc", "it is not mounted", "mount -t proc proc /proc");
    };
    let options = mounts.into_iter().rfind(|mount| mount.mount_point == Path::new("/proc"));
    let hidepid = options.and_then(|mount| mount.super_options.get("hidepid").cloned().flatten());
    match hidepid.as_deref() {
        None | Some("0" | "off") => Finding::open("/proc", "mounted, and hides nobody"),
        Some(how) if permission::has_capabilities() => {
            Finding::open("/proc", format!("mounted with hidepid={how}, which we may pass"))
        }
        Some(how) => Finding::limited(
            "/proc",
            format!("mounted with hidepid={how}: processes of other users are not there"),
            "mount -o remount,hidepid=0 /proc, or run awaitty as root",
        ),
    }
}

fn yama() -> Option<Finding> {
    let scope = permission::yama_scope()?;
    let meaning = match scope {
        0 => return Some(Finding::open("yama", "ptrace_scope is 0: no restriction")),
        1 => "only descendants can be seen into",
        2 => "only a reader with CAP_SYS_PTRACE can see into others",
        _ => "nobody can see into others, until the next boot",
    };
    let detail = format!("ptrace_scope is {scope}: {meaning}");
    Some(match scope {
        1 | 2 if permission::has_capabilities() => Finding::open("yama", detail + ", as we may"),
        _ => Finding::limited("yama", detail, "sysctl kernel.yama.ptrace_scope=0"),
    })
}

/// Signs of a container or a sandbox, where there are any.
fn confinement() -> Option<Finding> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut signs = Vec::new();
    if field("Seccomp:").is_some_and(|mode| mode != "0") {
        signs.push("a seccomp filter".to_owned());
    }
    if field("NSpid:").is_some_and(|pids| pids.split_whitespace().count() > 1) {
        signs.push("a PID namespace of its own".to_owned());
    }
    for file in ["/.dockerenv", "/run/.containerenv"] {
        if Path::new(file).exists() {
            signs.push(file.to_owned());
        }
    }
    let detail = format!("there is {}", signs.join(", "));
    match signs.is_empty() {
        true => None,
        false if permission::has_capabilities() => Some(Finding::open("container", detail)),
        false => Some(Finding::limited("container", detail, CONTAINER)),
    }
}
