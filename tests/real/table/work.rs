//! Programs that work, serve, or hang.

use awaitty::verdict::IdleReason;
use awaitty::verdict::WaitingOn::{Child, Cpu, Disk, Lock, Network, Output, Pipe, Timer};

use crate::expect::Expect::{Idle, Killed};
use crate::situation::{
    Beside, Situation, exited, habit, line, prints, running, situation, state, types, unknown,
};

const MAKEFILE: &[(&str, &str)] = &[(
    "Makefile",
    "both: one two\none two:\n\tsleep 100\nask:\n\t@read -p 'Name? ' x\nSHELL = bash\n",
)];
const PROGRESS: &str = "for i in {1..1000}; do printf '\\r%d%% ' $i; sleep 0.05; done";

pub(super) const TABLE: &[Situation] = &[
    situation("sleep", &["sleep", "100"], &[running(&[Timer])]),
    situation("loop", &["bash", "-c", "while :; do :; done"], &[running(&[Cpu])]),
    situation("dd", &["dd", "if=/dev/zero", "of=/dev/null"], &[running(&[Cpu])]),
    situation("make", &["make", "-j2", "both"], &[running(&[Timer])]).files(MAKEFILE),
    situation(
        "make-ask",
        &["make", "ask"],
        &[line().prompt("Name? ").reader("bash").step(), types("x\n"), exited(0)],
    )
    .files(MAKEFILE),
    situation("pipeline-busy", &["bash", "-c", "sleep 100 | cat"], &[running(&[Timer])]),
    situation(
        "pipeline",
        &["bash", "-c", "cat | tail -1"],
        &[line().reader("cat").step(), types("\x04"), exited(0)],
    ),
    situation(
        "coprocess",
        &["bash", "-c", "coproc cat; read x <&\"${COPROC[0]}\""],
        &[state(Idle(IdleReason::Deadlock))],
    ),
    situation(
        "timeout",
        &["timeout", "--foreground", "100", "cat"],
        &[line().reader("cat").step()],
    ),
    // It looks like a prompt, and work follows.
    situation(
        "prompt-like",
        &["bash", "-c", "printf 'Continue? '; sleep 100"],
        &[prints("Continue? "), running(&[Timer])],
    ),
    situation(
        "prompt-like-loop",
        &["bash", "-c", "printf 'Password: '; while :; do :; done"],
        &[prints("Password: "), running(&[Cpu])],
    ),
    situation(
        "prompt-like-end",
        &["bash", "-c", "printf 'Continue? '; sleep 1; exit 5"],
        &[prints("Continue? "), exited(5)],
    ),
    situation(
        "progress",
        &["bash", "-c", PROGRESS],
        &[prints("5% "), running(&[Timer, Cpu, Child])],
    ),
    // Servers and watchers
    situation(
        "http-server",
        &["python3", "-m", "http.server", "--bind", "127.0.0.1", "0"],
        &[habit(Idle(IdleReason::Server))],
    ),
    situation("nc-listen", &["nc", "-l", "127.0.0.1", "0"], &[state(Idle(IdleReason::Server))]),
    situation("tail-f", &["tail", "-f", "file"], &[state(Idle(IdleReason::Files))])
        .files(&[("file", "text\n")]),
    situation(
        "fifo-read",
        &["bash", "-c", "mkfifo fifo; cat fifo"],
        &[state(Idle(IdleReason::Fifo))],
    ),
    situation(
        "fifo-write",
        &["bash", "-c", "mkfifo fifo; echo x >fifo"],
        &[state(Idle(IdleReason::Fifo))],
    ),
    // Somebody else's move
    situation(
        "curl",
        &["bash", "-c", "exec curl -s http://127.0.0.1:$PORT/"],
        &[running(&[Network])],
    )
    .needs(&["curl"])
    .beside(Beside::SilentServer),
    // It takes input, and the other end is not to be seen.
    situation("nc", &["bash", "-c", "exec nc 127.0.0.1 $PORT"], &[unknown().step()])
        .needs(&["nc"])
        .beside(Beside::SilentServer),
    situation("flock-outside", &["flock", "held.lock", "true"], &[running(&[Lock])])
        .beside(Beside::HeldLock),
    situation(
        "flock-inside",
        &[
            "bash",
            "-c",
            "flock lock sleep 100 & while flock -n lock true; do :; done; flock lock true",
        ],
        &[running(&[Timer])],
    )
    .needs(&["flock"]),
    situation(
        "flock-reader",
        &["bash", "-c", "exec 3>lock; flock 3; flock lock true & read -p 'Name? ' x"],
        &[line().prompt("Name? ").reader("bash").step()],
    )
    .needs(&["flock"]),
    // Output
    situation("yes", &["yes"], &[running(&[Cpu, Output, Disk, Pipe])]),
    situation("yes-undrained", &["yes"], &[state(Idle(IdleReason::Output))])
        .beside(Beside::NoReader),
    situation(
        "yes-stopped",
        &["yes"],
        &[
            running(&[Cpu, Output, Disk, Pipe]),
            types("\x13"),
            state(Idle(IdleReason::Output)),
            types("\x11"),
            running(&[Cpu, Output, Disk, Pipe]),
        ],
    ),
    // Ends
    situation("true", &["true"], &[exited(0)]),
    situation("exit-code", &["bash", "-c", "exit 42"], &[exited(42)]),
    situation("exit-signal", &["bash", "-c", "kill -9 $$"], &[state(Killed(9))]),
    situation(
        "interrupt",
        &["cat"],
        &[line().reader("cat").step(), types("\x03"), state(Killed(2))],
    ),
];
