//! Every shape of the table, on x86_64; what differs elsewhere; and that nothing panics.

mod arbitrary;
mod arches;
mod sets;

use std::time::Duration;

use super::fake::{Fake, ask, timespec};
use super::{Arch, Call, Children, End, Interest, LockKind, Timeout};

const X64: Arch = Arch::X86_64;
const READ: Interest = Interest::READ;
const WRITE: Interest = Interest::WRITE;
const URGENT: Interest = Interest { read: false, write: false, priority: true, connect: false };
const CONNECT: Interest = Interest { read: false, write: false, priority: false, connect: true };

fn fd(fd: i32, interest: Interest) -> End {
    End::Fd { fd, interest }
}

fn x64(name: &str, args: &[u64]) -> Call {
    ask(X64, name, args, Fake::new())
}

fn after(length: Duration) -> Timeout {
    Timeout::After(length)
}

#[test]
fn calls_on_one_descriptor() {
    let table: [(&[&str], Interest); 3] = [
        (
            &[
                "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg",
                "accept", "accept4",
            ],
            READ,
        ),
        (
            &[
                "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg",
                "sendmmsg",
            ],
            WRITE,
        ),
        (&["connect"], CONNECT),
    ];
    for (names, interest) in table {
        for name in names {
            let call = x64(name, &[0xdead_beef_0000_0005, 0x1000, 1]);
            assert_eq!(call.name, *name);
            assert_eq!(call.ends, [fd(5, interest)], "{name}");
            assert_eq!(call.timeout, Timeout::Never, "{name}");
        }
    }
}

#[test]
fn calls_from_one_descriptor_to_another() {
    let ends = [fd(3, READ), fd(4, WRITE)];
    assert_eq!(x64("splice", &[3, 0, 4]).ends, ends);
    assert_eq!(x64("copy_file_range", &[3, 0, 4]).ends, ends);
    assert_eq!(x64("tee", &[3, 4]).ends, ends);
    assert_eq!(x64("sendfile", &[4, 3]).ends, ends, "its output comes first");
    let both = Interest { read: true, write: true, priority: false, connect: false };
    assert_eq!(x64("vmsplice", &[3]).ends, [fd(3, both)]);
}

#[test]
fn children_by_pid_group_and_pidfd() {
    let pid = |id: i32| u64::from(id as u32);
    let cases = [
        ("wait4", pid(-1), 0, Children::Any),
        ("wait4", pid(42), 0, Children::Pid(42)),
        ("wait4", pid(0), 0, Children::Group(0)),
        ("wait4", pid(-42), 0, Children::Group(42)),
        ("waitid", 0, 7, Children::Any),
        ("waitid", 1, 7, Children::Pid(7)),
        ("waitid", 2, 7, Children::Group(7)),
        ("waitid", 3, 7, Children::PidFd(7)),
        ("vfork", 0, 0, Children::Vfork),
        ("clone", 0x4111, 0, Children::Vfork),
    ];
    for (name, first, second, of) in cases {
        assert_eq!(x64(name, &[first, second]).ends, [End::Child(of)], "{name} {first:#x}");
    }
    let clone3 = |flags: u64| {
        ask(X64, "clone3", &[0x1000, 88], Fake::new().put(0x1000, flags.to_le_bytes())).ends
    };
    assert_eq!(clone3(0x4100), [End::Child(Children::Vfork)]);
    assert_eq!(clone3(0x0100), [End::Unknown]);
    for (name, first) in
        [("wait4", pid(i32::MIN)), ("waitid", 9), ("clone", 17), ("clone3", 0x1000)]
    {
        assert_eq!(x64(name, &[first]).ends, [End::Unknown], "{name} {first:#x}");
    }
}

#[test]
fn futexes() {
    let end = |addr, private| End::Futex { addr, private };
    let second = timespec(1, 0);
    let futex = |operation: u64, timeout: u64| {
        let memory = Fake::new().put(0x2000, &second);
        ask(X64, "futex", &[0x1000, operation, 0, timeout, 0x3000], memory)
    };
    let wait = futex(0, 0x2000);
    assert_eq!(wait.ends, [end(0x1000, false)]);
    assert_eq!(wait.timeout, after(Duration::from_secs(1)));
    assert_eq!(futex(128, 0).ends, [end(0x1000, true)]);
    assert_eq!(futex(128, 0).timeout, Timeout::Never);
    for absolute in [6, 9, 13] {
        let call = futex(absolute | 128 | 256, 0x2000);
        assert_eq!(call.ends, [end(0x1000, true)], "{absolute}");
        assert_eq!(call.timeout, Timeout::Some, "{absolute}");
    }
    assert_eq!(futex(11, 0).ends, [end(0x1000, false), end(0x3000, false)]);
    assert_eq!(futex(1, 0).ends, [End::Unknown], "a wake does not wait");

    let call = x64("futex_wait", &[0x1000, 0, 0, 128 | 2, 0x2000]);
    assert_eq!((call.ends, call.timeout), (vec![end(0x1000, true)], Timeout::Some));

    let waiter = |addr: u64, flags: u64| [0, addr, flags].map(u64::to_le_bytes).concat();
    let waiters = [waiter(0x5000, 2), waiter(0x6000, 2 | 128)].concat();
    let call = ask(X64, "futex_waitv", &[0x1000, 2], Fake::new().put(0x1000, waiters));
    assert_eq!(call.ends, [end(0x5000, false), end(0x6000, true)]);
    assert_eq!(call.timeout, Timeout::Never);
    assert_eq!(x64("futex_waitv", &[0x1000, 2]).ends, [End::Unknown]);
    assert_eq!(x64("futex_waitv", &[0x1000, 129]).ends, [End::Unknown]);
}

#[test]
fn sleeps() {
    let memory = || Fake::new().put(0x1000, timespec(2, 500));
    let call = ask(X64, "nanosleep", &[0x1000], memory());
    assert_eq!((call.ends, call.timeout), (vec![End::Time], after(Duration::new(2, 500))));
    let call = ask(X64, "clock_nanosleep", &[1, 0, 0x1000], memory());
    assert_eq!((call.ends, call.timeout), (vec![End::Time], after(Duration::new(2, 500))));
    let call = ask(X64, "clock_nanosleep", &[1, 1, 0x1000], memory());
    let until = Timeout::Until(Duration::new(2, 500));
    assert_eq!((call.ends, call.timeout), (vec![End::Time], until));
    let call = ask(X64, "clock_nanosleep", &[0, 1, 0x1000], memory());
    assert_eq!((call.ends, call.timeout), (vec![End::Time], Timeout::Some), "it can be set");
    let call = x64("nanosleep", &[0x1000]);
    assert_eq!((call.ends, call.timeout), (vec![End::Time], Timeout::Some));
}

#[test]
fn an_endless_sleep_is_a_wait_for_a_signal() {
    let memory = Fake::new().put(0x1000, timespec(i64::MAX, 999_999_999));
    let call = ask(X64, "nanosleep", &[0x1000], memory);
    assert_eq!((call.ends, call.timeout), (vec![End::Signal { set: None }], Timeout::Never));
}

#[test]
fn locks() {
    assert_eq!(x64("flock", &[3, 2]).ends, [End::Lock { fd: 3, kind: LockKind::Flock }]);
    assert_eq!(x64("fcntl", &[3, 7]).ends, [End::Lock { fd: 3, kind: LockKind::Posix }]);
    assert_eq!(x64("fcntl", &[3, 38]).ends, [End::Lock { fd: 3, kind: LockKind::Ofd }]);
    assert_eq!(x64("fcntl", &[3, 14]).ends, [End::Unknown], "F_SETLKW64 is for 32 bits");
    assert_eq!(x64("fcntl", &[3, 1]).ends, [End::Unknown]);
}

#[test]
fn opens() {
    let cwd = u64::from(-100_i32 as u32);
    let end = |dirfd, read| [End::Open { path: "/tmp/f\u{fffd}".into(), dirfd, read }];
    // Across the edge of a page.
    let mut page = b"/tmp/f\xff\0".to_vec();
    page.resize(4096, 0);
    let open = |name: &str, args: &[u64]| {
        let memory = Fake::new().put(0x1ffe, &page).put(0x8000, 1_u64.to_le_bytes());
        ask(X64, name, args, memory).ends
    };
    assert_eq!(open("open", &[0x1ffe, 0o2000000]), end(-100, true));
    assert_eq!(open("open", &[0x1ffe, 1]), end(-100, false));
    assert_eq!(open("openat", &[5, 0x1ffe, 2]), end(5, false));
    assert_eq!(open("openat", &[cwd, 0x1ffe, 0]), end(-100, true));
    assert_eq!(open("openat2", &[5, 0x1ffe, 0x8000, 24]), end(5, false));
    assert_eq!(open("openat2", &[5, 0x1ffe, 0x9_0000, 24]), [End::Unknown]);
    assert_eq!(open("creat", &[0x1ffe, 0o600]), end(-100, false));
    assert_eq!(open("open", &[0x9_0000, 0]), [End::Unknown]);

    let endless = Fake::new().put(0x1000, [b'a'; 8192]);
    assert_eq!(ask(X64, "open", &[0x1000], endless).ends, [End::Unknown]);
}

#[test]
fn signals() {
    let signal = |set| [End::Signal { set }];
    let mask = || Fake::new().put(0x1000, 0b110_u64.to_le_bytes()).put(0x2000, timespec(1, 0));
    assert_eq!(x64("pause", &[]).ends, signal(None));
    assert_eq!(ask(X64, "rt_sigsuspend", &[0x1000, 8], mask()).ends, signal(Some(!0b110)));
    assert_eq!(x64("rt_sigsuspend", &[0x1000, 8]).ends, signal(None));
    let call = ask(X64, "rt_sigtimedwait", &[0x1000, 0, 0x2000, 8], mask());
    assert_eq!(call.ends, signal(Some(0b110)));
    assert_eq!(call.timeout, after(Duration::from_secs(1)));
    assert_eq!(x64("rt_sigtimedwait", &[0x1000, 0, 0, 8]).ends, [End::Unknown]);
}

#[test]
fn requests_that_drain_the_output() {
    for request in [0x5403, 0x5404, 0x5409, 0x5425, 0x402c_542c] {
        assert_eq!(x64("ioctl", &[1, request]).ends, [fd(1, WRITE)], "{request:#x}");
    }
    for request in [0x5401, 0x5402, 0x5411] {
        assert_eq!(x64("ioctl", &[1, request]).ends, [End::Unknown], "{request:#x}");
    }
}

#[test]
fn message_queues_are_descriptors() {
    let call = x64("mq_timedreceive", &[3, 0, 0, 0, 0x1000]);
    assert_eq!((call.ends, call.timeout), (vec![fd(3, READ)], Timeout::Some));
    let call = x64("mq_timedsend", &[3]);
    assert_eq!((call.ends, call.timeout), (vec![fd(3, WRITE)], Timeout::Never));
}

#[test]
fn what_the_kernel_does_not_say_keeps_its_name() {
    for name in ["close", "fsync", "fdatasync", "sync", "msgrcv", "msgsnd", "semop", "execve"] {
        let call = x64(name, &[0x1000]);
        assert_eq!((call.name, call.timeout), (name, Timeout::Never));
        assert_eq!(call.ends, [End::Unknown]);
    }
    for (name, index) in [("semtimedop", 3), ("io_getevents", 4), ("io_pgetevents", 4)] {
        let mut args = [0; 6];
        args[index] = 0x1000;
        let call = ask(X64, name, &args, Fake::new().put(0x1000, timespec(1, 0)));
        assert_eq!((call.name, call.ends), (name, vec![End::Unknown]));
        assert_eq!(call.timeout, after(Duration::from_secs(1)), "{name}");
    }
    let call = x64("restart_syscall", &[0x1000]);
    assert_eq!((call.name, call.timeout), ("restart_syscall", Timeout::Some));
    assert_eq!(call.ends, [End::Unknown]);
}
