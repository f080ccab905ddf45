//! Observations that no kernel need ever show: small, over few objects, so that waits meet.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use awaitty::graph::TimerRole;
use awaitty::observe::{
    FileId, Holder, Instantaneous, Modes, Object, ObjectId, Observation, Opacity, Outsider, Pid,
    Process, Protocol, Signals, Source, Task, TaskId, TaskState, Terminal, TtyId, Wait,
};
use awaitty::verdict::{Mark, Output};
use awaitty::wait::{Children, Interest, LockKind, Timeout};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The job's own terminal, an inner one, and one that nobody was asked about.
const TTYS: [TtyId; 3] = [tty(1), tty(2), tty(3)];
const CALLS: [&str; 5] = ["read", "poll", "epoll_wait", "futex", "wait4"];
/// SIGTSTP, SIGTTOU and SIGCHLD make a shell, SIGALRM a wait that may end.
const MASKS: [u64; 4] = [0, 1 << 19 | 1 << 21, 1 << 16, 1 << 13 | 1 << 16];

const fn tty(number: u64) -> TtyId {
    TtyId { dev: 24, rdev: 136 << 8 | number }
}

const fn file(ino: u64) -> FileId {
    FileId { dev: 14, ino }
}

/// Processes 1 to 4 may be seen; 5 is held to be known to others only.
fn pid() -> impl Strategy<Value = Pid> {
    1..=5
}

/// Whole eighths of a second: the JSON parser may lose the last bit of other fractions.
pub(crate) fn length() -> impl Strategy<Value = Duration> {
    (0_u64..100).prop_map(|eighths| Duration::from_millis(125 * eighths))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("cat".to_owned()), Just(") R 1 (".to_owned()), ".{0,6}"]
}

fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 80))
}

fn object() -> impl Strategy<Value = Object> {
    let number = 0_u64..3;
    prop_oneof![
        4 => select(&TTYS[..]).prop_map(Object::Terminal),
        2 => select(&TTYS[..]).prop_map(Object::Master),
        3 => number.clone().prop_map(|ino| Object::Pipe(file(ino))),
        1 => number.clone().prop_map(|ino| Object::Fifo(file(ino))),
        1 => (number.clone(), number.clone(), any::<bool>(), option::of(name()))
            .prop_map(|(ino, peer, listening, name)| Object::Unix { ino, peer, listening, connected: peer != 0, name }),
        1 => (number.clone(), number.clone(), any::<bool>()).prop_map(|(ino, peer, listening)| {
            let (protocol, local, remote) = (Protocol::Tcp, address(), address());
            Object::Inet { ino, protocol, local, remote, listening, peer }
        }),
        1 => option::of(number).prop_map(|id| Object::EventFd { id }),
        1 => select(&MASKS[..]).prop_map(|mask| Object::SignalFd { mask }),
        1 => option::of(length()).prop_map(|left| Object::TimerFd { left }),
        1 => pid().prop_map(|pid| Object::PidFd { pid }),
        2 => select(vec![
            Object::Inotify,
            Object::Socket { ino: 1, netlink: false },
            Object::Epoll,
            Object::Uring,
            Object::Unknown,
            Object::File { file: file(9), path: "/file".to_owned() },
            Object::Other { name: "anon_inode:[new]".to_owned() },
        ]),
    ]
}

fn interest() -> impl Strategy<Value = Interest> {
    let write_too = Interest { write: true, ..Interest::READ };
    select(vec![Interest::READ, Interest::READ, Interest::WRITE, write_too, Interest::default()])
}

fn children() -> impl Strategy<Value = Children> {
    prop_oneof![
        Just(Children::Any),
        Just(Children::Vfork),
        pid().prop_map(Children::Pid),
        (0..4).prop_map(Children::Group),
        pid().prop_map(Children::PidFd),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        6 => (0..4, interest(), object())
            .prop_map(|(fd, interest, object)| Source::Object { fd, interest, object }),
        2 => children().prop_map(Source::Child),
        1 => any::<bool>().prop_map(|private| Source::Futex { addr: 0x7f00, private }),
        1 => option::of(pid()).prop_map(|holder| Source::Lock {
            kind: LockKind::Flock,
            file: file(9),
            path: "/lock".to_owned(),
            holder,
        }),
        1 => Just(Source::Fifo { path: "/fifo".to_owned(), file: None }),
        1 => option::of(select(&MASKS[..])).prop_map(|set| Source::Signal { set }),
        1 => Just(Source::Time),
        1 => Just(Source::Unknown { what: "something".to_owned() }),
    ]
}

/// What somebody inside must end.
fn inner_source() -> impl Strategy<Value = Source> {
    let object = prop_oneof![
        8 => Just(Object::Terminal(TTYS[0])),
        1 => Just(Object::Terminal(TTYS[1])),
        1 => Just(Object::Master(TTYS[1])),
        1 => (0_u64..3).prop_map(|ino| Object::Pipe(file(ino))),
        1 => Just(Object::Inotify),
    ];
    prop_oneof![
        8 => (0..4, object)
            .prop_map(|(fd, object)| Source::Object { fd, interest: Interest::READ, object }),
        1 => children().prop_map(Source::Child),
        1 => Just(Source::Futex { addr: 0x7f00, private: true }),
        1 => Just(Source::Signal { set: None }),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    let timeout = prop_oneof![
        3 => Just(Timeout::Never),
        1 => Just(Timeout::Some),
        1 => length().prop_map(Timeout::After),
        1 => length().prop_map(Timeout::Until),
    ];
    (select(&CALLS[..]), vec(source(), 0..4), timeout).prop_map(|(call, sources, timeout)| Wait {
        call,
        sources,
        timeout,
        stack: 0,
    })
}

/// What a task does; asleep most of the time, so that something is left to be decided.
fn state() -> impl Strategy<Value = TaskState> {
    let opaque = select(vec![Opacity::Denied, Opacity::Unsupported, Opacity::Held]);
    prop_oneof![
        12 => wait().prop_map(TaskState::Blocked),
        1 => Just(TaskState::Runnable),
        1 => Just(TaskState::Disk { at: None }),
        1 => (any::<bool>(), option::of(wait()))
            .prop_map(|(traced, wait)| TaskState::Stopped { traced, wait }),
        1 => Just(TaskState::Zombie),
        1 => opaque.prop_map(|why| TaskState::Opaque { why }),
    ]
}

fn signals() -> impl Strategy<Value = Signals> {
    let mask = || select(&MASKS[..]);
    (mask(), mask(), mask()).prop_map(|(blocked, ignored, caught)| Signals {
        blocked,
        ignored,
        caught,
    })
}

fn process(pid: Pid) -> impl Strategy<Value = Process> {
    let groups = (0..4, 0..4, 0..4);
    let flags = (proptest::bool::weighted(0.8), proptest::bool::weighted(0.1));
    let places = (
        option::of(select(&TTYS[..])),
        option::of(signals()),
        prop_oneof![9 => Just(0), 1 => 1..=5],
    );
    (groups, flags, places, vec(1..=5, 0..3), name()).prop_map(
        move |((ppid, pgrp, tpgid), (member, relay), (tty, signals, tracer), children, comm)| {
            Process {
                pid,
                start: 1,
                ppid,
                pgrp,
                session: 1,
                tty: tty.map(|tty| tty.rdev),
                tpgid,
                comm,
                member: member && !relay,
                timers: false,
                relay,
                children,
                signals,
                tracer,
            }
        },
    )
}

fn terminal(id: TtyId) -> impl Strategy<Value = Terminal> {
    let modes = (any::<bool>(), any::<bool>(), option::of(length())).prop_map(
        |(canonical, echo, read_timeout)| Modes { canonical, echo, signals: true, read_timeout },
    );
    let flag = || select(vec![None, Some(false), Some(false), Some(true)]);
    (option::of(modes), option::of(1..4), flag(), flag(), flag()).prop_map(
        move |(modes, foreground, readable, writable, undrained)| Terminal {
            id,
            name: format!("/dev/pts/{}", id.rdev & 0xff),
            foreground,
            session: Some(1),
            modes,
            readable,
            writable,
            undrained,
        },
    )
}

fn holders() -> impl Strategy<Value = BTreeMap<ObjectId, Vec<Holder>>> {
    let object = prop_oneof![
        (0_u64..3).prop_map(|ino| ObjectId::Pipe(file(ino))),
        (0_u64..3).prop_map(ObjectId::Socket),
        (0_u64..3).prop_map(ObjectId::EventFd),
        select(&TTYS[..]).prop_map(ObjectId::Master),
    ];
    let holder = (pid(), any::<bool>(), any::<bool>()).prop_map(|(pid, read, write)| Holder {
        pid,
        read,
        write,
    });
    btree_map(object, vec(holder, 0..3), 0..5)
}

fn tasks() -> impl Strategy<Value = Vec<Task>> {
    let asleep = (select(&CALLS[..]), vec(inner_source(), 1..3)).prop_map(|(call, sources)| {
        TaskState::Blocked(Wait { call, sources, timeout: Timeout::Never, stack: 0 })
    });
    prop_oneof![tasks_in(state()), tasks_in(asleep)]
}

fn tasks_in(state: impl Strategy<Value = TaskState>) -> impl Strategy<Value = Vec<Task>> {
    let task = (1..=4, 0..3, name(), state, option::of(0_u64..3)).prop_map(
        |(pid, thread, comm, state, runs)| {
            let id = TaskId { pid, tid: pid + 10 * thread };
            Task { id, comm, state, runs, cpu: None }
        },
    );
    vec(task, 0..6).prop_map(|mut tasks| {
        tasks.sort_by_key(|task| task.id);
        tasks.dedup_by_key(|task| task.id);
        tasks
    })
}

/// An observation. Its parts need not agree: a holder may be nobody, a task may have no process.
pub(crate) fn observation() -> impl Strategy<Value = Observation> {
    let processes = (process(1), process(2), process(3), option::of(process(4)));
    let instant = select(vec![
        Instantaneous::Proved,
        Instantaneous::Proved,
        Instantaneous::Proved,
        Instantaneous::Proved,
        Instantaneous::Returned,
        Instantaneous::Moved,
        Instantaneous::Unavailable,
        Instantaneous::NotTried,
    ]);
    let terminals = (option::weighted(0.9, terminal(TTYS[0])), vec(terminal(TTYS[1]), 0..2));
    let flight = proptest::bool::weighted(0.1);
    (processes, tasks(), holders(), terminals, instant, flight, length()).prop_map(
        |((a, b, c, d), tasks, holders, (terminal, inner), instant, in_flight, at)| {
            let processes = [Some(a), Some(b), Some(c), d].into_iter().flatten();
            let outsider = Outsider { pid: 5, comm: "harness".to_owned(), holds: Vec::new() };
            Observation {
                tables_hidden: false,
                at,
                terminal,
                inner,
                processes: processes.map(|process| (process.pid, process)).collect(),
                returned: tasks.iter().take(1).map(|task| task.id).collect(),
                tasks,
                holders,
                outsiders: BTreeMap::from([(5, outsider)]),
                whole: true,
                instant,
                in_flight,
            }
        },
    )
}

/// What the timers of the tasks mean.
pub(crate) fn roles() -> impl Strategy<Value = BTreeMap<TaskId, TimerRole>> {
    let id = (1..=4, 0..3).prop_map(|(pid, thread)| TaskId { pid, tid: pid + 10 * thread });
    let role = select(vec![TimerRole::Moves, TimerRole::Tick, TimerRole::Fallback]);
    btree_map(id, role, 0..8)
}

/// The output of a terminal of our own.
pub(crate) fn output() -> impl Strategy<Value = Option<Output>> {
    let line = prop_oneof![Just("$ ".to_owned()), Just("Name? ".to_owned()), ".{0,8}"];
    let mark = option::of(select(vec![
        Mark::Prompt,
        Mark::Command,
        Mark::Continuation,
        Mark::Executing,
        Mark::Finished(None),
    ]));
    let output = (line, any::<bool>(), mark, option::of(length())).prop_map(
        |(line, full_screen, mark, last)| Output { line, full_screen, mark, last, bytes: 1 },
    );
    option::of(output)
}
