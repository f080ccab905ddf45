//! What must be said of each probe, and nothing else: the harness is elsewhere.
//!
//! A row's probe runs as the command of a new terminal (`awaitty exec -- awaitty-probe NAME ARGS`),
//! prints its ready line and blocks; from then on the verdict must come to be `state` and stay it.
//! A probe that ends with exit code 77 cannot be had here and is a skip, whatever its row says.
#![allow(dead_code, reason = "each test file uses a part of it")]

use awaitty::verdict::WaitingOn::{Child, Cpu, Disk, Lock, Network, Other, Output, Pipe, Timer};
use awaitty::verdict::{IdleReason, Kind, StopReason, WaitingOn};

use super::expect::Expect::{self, Exited, Idle, Input, Stopped, Unknown};

/// One row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expectation {
    /// The probe's name.
    pub(crate) probe: &'static str,
    /// Its options.
    pub(crate) args: &'static [&'static str],
    /// What its standard input is.
    pub(crate) stdin: Stdin,
    /// Does the harness go on to read the terminal after the ready line?
    pub(crate) drained: bool,
    /// What must be said.
    pub(crate) state: Expect,
    /// It must be proved, not guessed; where false, it must not claim to be.
    pub(crate) exact: bool,
    /// Why, where that is not plain; "doubtful" where another answer could be argued for.
    pub(crate) note: &'static str,
}

/// Standard input of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// The terminal.
    Tty,
    /// A pipe that the harness holds open and never writes to. The probe has no terminal then and
    /// is watched by its PID.
    HeldPipe,
}

impl Expectation {
    const fn args(mut self, args: &'static [&'static str]) -> Expectation {
        self.args = args;
        self
    }

    const fn held_pipe(mut self) -> Expectation {
        self.stdin = Stdin::HeldPipe;
        self
    }

    const fn undrained(mut self) -> Expectation {
        self.drained = false;
        self
    }

    const fn inexact(mut self) -> Expectation {
        self.exact = false;
        self
    }

    const fn note(mut self, note: &'static str) -> Expectation {
        self.note = note;
        self
    }
}

const fn row(probe: &'static str, state: Expect) -> Expectation {
    let exact = !matches!(state, Unknown);
    Expectation { probe, args: &[], stdin: Stdin::Tty, drained: true, state, exact, note: "" }
}

const fn running(on: &'static [WaitingOn]) -> Expect {
    Expect::Running { on, accepts_input: false }
}

const fn busy_reader(on: &'static [WaitingOn]) -> Expect {
    Expect::Running { on, accepts_input: true }
}

/// A ring always moves; on what, depends on where it is caught. A read of a pty waits in state D for
/// the work that feeds the line discipline (`__flush_work`).
const RING: &[WaitingOn] = &[Cpu, Disk, Timer, Pipe, Other];

/// Every probe, with the arguments that make another situation of it.
pub(crate) const TABLE: &[Expectation] = &[
    // Tty
    row("read", Input(Kind::Line)),
    row("read", Input(Kind::Pipe)).held_pipe().note("the pipe's writer is whoever started the probe; there is no terminal"),
    row("readv", Input(Kind::Line)),
    row("preadv2", Input(Kind::Line)),
    row("read-dev-tty", Input(Kind::Line)),
    row("read-secret", Input(Kind::Secret)),
    row("read-key", Input(Kind::Key)),
    row("read-key-echo", Input(Kind::Key)).note("as `read -n1`: not ICANON, echo on"),
    row("read-screen", Input(Kind::Screen)),
    row("read-handler", Input(Kind::Line)),
    row("read-prompted", Input(Kind::Line)),
    row("splice", Input(Kind::Line)),
    row("sendfile", Input(Kind::Line)).note("the terminal is the second argument"),
    row("type-ahead", running(&[Timer])).note("with a line typed ahead it stays running: what is queued is not awaited"),
    row("prompt-like", running(&[Timer])),
    // Poll
    row("poll", Input(Kind::Line)),
    row("poll", Input(Kind::Pipe)).held_pipe(),
    row("ppoll", Input(Kind::Line)),
    row("select", Input(Kind::Line)),
    row("pselect", Input(Kind::Line)),
    row("pselect-timeout", Input(Kind::Line)).note("`read -t 60`: with a timeout"),
    row("poll-hangup", Idle(IdleReason::Events)).note("doubtful: a hang-up is the only thing that ends it"),
    row("poll-write", Idle(IdleReason::Output)).note("stopped by TCOOFF"),
    row("poll-write-and-read", Input(Kind::Line)).note("the pipe is full and its only reader is the probe itself"),
    row("poll-ignored", Input(Kind::Line)),
    row("work-select-0", running(&[Cpu])).note("a select with timeout 0 never sleeps, so nobody sees it read"),
    row("work-select-20", busy_reader(&[Cpu, Timer])),
    row("epoll", Input(Kind::Line)),
    row("epoll", Input(Kind::Pipe)).held_pipe(),
    row("epoll-pwait", Input(Kind::Line)),
    row("epoll-pwait2", Input(Kind::Line)),
    row("epoll-nested", Input(Kind::Line)),
    row("poll-epoll", Input(Kind::Line)),
    row("epoll-disarmed", Idle(IdleReason::Events)).note("doubtful: as poll-hangup"),
    row("epoll-moved", Input(Kind::Line)).note("doubtful: the `tfd:` number is an eventfd's now; its `ino:` and `sdev:` are still the terminal's"),
    row("uring-read", Unknown).note("fdinfo shows a pending operation, not its descriptor"),
    row("uring-poll", Unknown).note("as uring-read"),
    // Threads
    row("thread-reader", Input(Kind::Line)),
    row("thread-reader-busy", busy_reader(&[Cpu])),
    row("thread-reader-sleep", busy_reader(&[Timer])),
    row("thread-reader-tick", Input(Kind::Line)).inexact().note("rests on history"),
    row("thread-sleep", running(&[Timer])),
    row("thread-park", Idle(IdleReason::Deadlock)),
    row("thread-leader-gone", Input(Kind::Line)).note("/proc/PID/fd of a zombie leader is empty; /proc/PID/task/TID/fd is not"),
    row("thread-own-fds", Input(Kind::Line)).note("doubtful: fd 0 is /dev/null in /proc/PID/fd, the terminal in /proc/PID/task/TID/fd"),
    row("futex-waitv", Idle(IdleReason::Deadlock)),
    // Pipes
    row("pipe-self", Idle(IdleReason::Deadlock)),
    row("pipe-eof", Exited(0)),
    row("pipe-outside", Input(Kind::Pipe)),
    row("pipe-outside-busy", Input(Kind::Pipe)).note("what a writer outside does is not looked at"),
    row("pipe-child-busy", running(&[Cpu])),
    row("pipe-child-reader", Input(Kind::Line)),
    row("pipe-full", Idle(IdleReason::Deadlock)),
    row("pipe-full-outside", running(&[Pipe, Output])),
    row("pipe-splice", Idle(IdleReason::Deadlock)),
    row("fifo-open-read", Idle(IdleReason::Fifo)),
    row("fifo-open-write", Idle(IdleReason::Fifo)),
    row("fifo-read", Idle(IdleReason::Fifo)).note("doubtful: it is its only writer (a deadlock), but anybody may open the path"),
    // Sockets
    row("unix-self", Idle(IdleReason::Deadlock)),
    row("unix-child", Idle(IdleReason::Deadlock)),
    row("unix-child-busy", running(&[Cpu])),
    row("unix-outside", running(&[Pipe])),
    row("unix-accept", Idle(IdleReason::Server)),
    row("unix-datagram", Idle(IdleReason::Server)).note("doubtful: bound, without a peer, as UDP"),
    row("recvmsg", Idle(IdleReason::Deadlock)),
    row("recv-timeout", running(&[Timer])).note("SO_RCVTIMEO is not in /proc; getsockopt(2) on a pidfd_getfd(2) copy tells it"),
    row("udp-server", Idle(IdleReason::Server)).inexact().note("its port is of the kernel's choice, as a client's is"),
    row("tcp-accept", Idle(IdleReason::Server)),
    row("tcp-connect", running(&[Network])),
    row("tcp-child", Idle(IdleReason::Deadlock)).note("inert only when both ends are resolved"),
    row("tcp-child-busy", running(&[Cpu])),
    row("tcp-outside", running(&[Network])),
    // Timers
    row("nanosleep", running(&[Timer])),
    row("clock-nanosleep", running(&[Timer])),
    row("timerfd", running(&[Timer])),
    row("timerfd-disarmed", Idle(IdleReason::Deadlock)).note("doubtful: only the probe itself could arm it"),
    row("poll-timeout", running(&[Timer])),
    row("alarm", Idle(IdleReason::Signal)).inexact().note("doubtful: a pending alarm(2) is nowhere in /proc; SIGALRM is caught, so it cannot be ruled out"),
    row("busy", running(&[Cpu])),
    row("tick", Idle(IdleReason::Deadlock)).inexact().note("doubtful: rests on history, and the reason is a matter of taste"),
    row("tick-tty", Input(Kind::Key)).note("the python 3.13 REPL; rests on history"),
    row("tick-vtime", Input(Kind::Key)).note("the timeout is in the modes (VMIN 0, VTIME 1); rests on history"),
    row("tick-server", Idle(IdleReason::Server)).inexact().note("rests on history"),
    row("redraw", Input(Kind::Screen)).note("rests on history"),
    row("restart-poll", Input(Kind::Line)).note("restart_syscall(2)"),
    row("restart-nanosleep", running(&[Timer])).note("restart_syscall(2)"),
    // Events
    row("eventfd", Idle(IdleReason::Deadlock)),
    row("signalfd", Idle(IdleReason::Signal)),
    row("inotify", Idle(IdleReason::Files)),
    row("pidfd-child", running(&[Timer])),
    row("pidfd-outside", running(&[Child, Other])),
    row("netlink", Idle(IdleReason::Events)).inexact().note("not bound, it is in no table"),
    row("io-getevents", Unknown),
    row("semop", Unknown),
    row("msgrcv", Unknown),
    // Signals
    row("pause", Idle(IdleReason::Signal)),
    row("sigsuspend", Idle(IdleReason::Signal)),
    row("sigwait", Idle(IdleReason::Signal)),
    row("sigtimedwait", running(&[Timer])),
    // Children
    row("wait4-reader", Input(Kind::Line)),
    row("wait4-sleep", running(&[Timer])),
    row("wait4-busy", running(&[Cpu])),
    row("waitid", Input(Kind::Line)),
    row("waitid-pidfd", Input(Kind::Line)),
    row("zombie", Input(Kind::Line)),
    row("background-busy", Input(Kind::Line)).note("doubtful: the child is a descendant, but of a background group that nobody waits for"),
    row("setsid-busy", busy_reader(&[Cpu])),
    row("setsid-sleep", busy_reader(&[Timer])),
    row("daemon-busy", Input(Kind::Line)),
    row("orphan-busy", busy_reader(&[Cpu])),
    row("vfork-sleep", running(&[Timer, Child])).note("the parent is in state D and waits for its child all the same"),
    row("vfork-reader", Input(Kind::Line)).note("doubtful: state D is live, but for the parent of a vfork the child is known"),
    row("pid-reuse", Input(Kind::Line)).note("root; fed, it computes under the child's old PID: running"),
    // Locks
    row("flock-child", running(&[Timer])),
    row("flock-child-reader", Input(Kind::Line)),
    row("flock-self", Idle(IdleReason::Deadlock)).note("doubtful: the cycle has one member"),
    row("flock-cycle", Idle(IdleReason::Deadlock)),
    row("flock-outside", running(&[Lock])),
    row("fcntl-child", running(&[Timer])),
    row("ofd-self", Idle(IdleReason::Deadlock)).note("/proc/locks names no holder (-1); the `lock:` line of its own fdinfo does"),
    row("ofd-outside", running(&[Lock])).note("no holder is named, and none is found inside of the job"),
    // Stops
    row("sigttin", Stopped(StopReason::TerminalInput)).note("the parent waits for the stopped child"),
    row("sigttou", Stopped(StopReason::TerminalOutput)).note("the parent waits for the stopped child"),
    row("sigtstp", Stopped(StopReason::JobControl)),
    row("sigstop", Stopped(StopReason::JobControl)),
    row("traced", Stopped(StopReason::Traced)).note("doubtful: the tracer belongs to the job and waits for its tracee"),
    row("debugger", Input(Kind::Line)),
    // Output
    row("write-undrained", Idle(IdleReason::Output)).undrained(),
    row("write-undrained", running(&[Cpu, Output])).note("drained, it never rests"),
    row("write-stopped", Idle(IdleReason::Output)),
    // Names
    row("name-paren", Input(Kind::Line)),
    row("name-bytes", Input(Kind::Line)),
    row("name-newline", Input(Kind::Line)),
    // Pairs
    row("ring-pipe", running(RING)),
    row("ring-pipe", running(RING)).args(&["--count=5"]),
    row("ring-pipe", running(RING)).args(&["--rhythm=50:0"]),
    row("ring-pipe", running(RING)).args(&["--rhythm=0:1000"]).note("doubtful: each process looks like a tick"),
    row("ring-pipe", busy_reader(RING)).args(&["--reader"]),
    row("ring-pipe", busy_reader(RING)).args(&["--count=5", "--reader"]),
    row("ring-unix", running(RING)),
    row("ring-unix", running(RING)).args(&["--count=5"]),
    row("ring-unix", running(RING)).args(&["--rhythm=50:0"]),
    row("ring-unix", busy_reader(RING)).args(&["--reader"]),
    row("ring-pty", running(RING)),
    row("ring-pty", running(RING)).args(&["--rhythm=50:0"]),
    row("ring-pty", busy_reader(RING)).args(&["--reader"]),
    // Nested
    row("relay-reader", Input(Kind::Line)),
    row("relay-secret", Input(Kind::Secret)),
    row("relay-busy", running(&[Cpu])),
    row("relay-sleep", running(&[Timer])),
    row("relay-twice", Input(Kind::Line)),
    row("expect-wait", Idle(IdleReason::Deadlock)),
    row("expect-read", Idle(IdleReason::Deadlock)),
    row("expect-timeout", running(&[Timer])),
    row("own-devpts", Input(Kind::Line)).note("root"),
    // Bench
    row("stamp", Input(Kind::Line)),
    row("crowd-threads", Input(Kind::Line)),
    row("crowd-processes", Input(Kind::Line)),
    row("eintr", Input(Kind::Line)),
    row("eintr", busy_reader(&[Timer])).args(&["--opaque"]).note("what the ring waits for cannot be seen, but the socket's timeout moves the job"),
];
