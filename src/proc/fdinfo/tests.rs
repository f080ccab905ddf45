//! What Linux 6.18 prints.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

const HEAD: &str = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t1038\n";

fn of(lines: &str) -> String {
    format!("{HEAD}{lines}")
}

#[test]
fn epoll() {
    let text = of("tfd:        6 events: 80000019 data:                6  pos:0 ino:2c4b sdev:f\n\
         tfd:        4 events:     2019 data: ffffffffffffffff  pos:0 ino:3 sdev:fe00000\n");
    let pipe = EpollEntry { fd: 6, events: 0x8000_0019, dev: libc::makedev(0, 15), ino: 0x2c4b };
    let file = EpollEntry { fd: 4, events: 0x2019, dev: libc::makedev(0xfe, 0), ino: 3 };
    assert_eq!(epoll_entries(&text).collect::<Vec<_>>(), [pipe, file]);
    assert_eq!(epoll_entries(HEAD).count(), 0);
}

#[test]
fn epoll_of_an_old_kernel() {
    let entry = EpollEntry { fd: 6, events: 0x19, dev: 0, ino: 0 };
    let text = of("tfd:        6 events:       19 data:                6\n");
    assert_eq!(epoll_entries(&text).collect::<Vec<_>>(), [entry]);
}

#[test]
fn epoll_that_is_cut_off() {
    for text in ["tfd:        6 events:       1", "tfd: x events: 19 data: 6\n", "tfd: 6\n"] {
        assert_eq!(epoll_entries(text).count(), 0, "{text:?}");
    }
}

#[test]
fn single_values() {
    assert_eq!(tty_index(&of("tty-index:\t12\n")), Some(12));
    assert_eq!(tty_index(HEAD), None);
    assert_eq!(pid(&of("Pid:\t6181\nNSpid:\t6181\n")), Some(6181));
    assert_eq!(pid(&of("Pid:\t-1\nNSpid:\t-1\n")), Some(-1));
    assert_eq!(pid(&of("NSpid:\t7\n")), None);
    assert_eq!(signal_mask(&of("sigmask:\t0000000000004002\n")), Some(0x4002));
    let eventfd = of("eventfd-count:                5\neventfd-id: 1\neventfd-semaphore: 0\n");
    assert_eq!(eventfd_id(&eventfd), Some(1));
    assert_eq!(eventfd_id("eventfd-id: 1"), None, "may be the start of 12");
    assert_eq!(pid(&of("Pid:\t99999999999\n")), None);
}

#[test]
fn timers() {
    let text = |ticks, value| {
        of(&format!(
            "clockid: 1\nticks: {ticks}\nsettime flags: 00\nit_value: {value}\nit_interval: (1, 500)\n"
        ))
    };
    let left = |ticks, value| timer(&text(ticks, value)).unwrap().left();
    assert_eq!(left(0, "(2, 999977680)"), Some(Duration::new(2, 999_977_680)));
    assert_eq!(left(0, "(0, 0)"), None, "disarmed");
    assert_eq!(left(3, "(0, 0)"), Some(Duration::ZERO), "expired, not read");
    let whole = timer(&text(0, "(0, 0)")).unwrap();
    assert_eq!((whole.clock, whole.interval), (1, Duration::new(1, 500)));
    for value in ["(1, 1000000000)", "(-1, 0)", "(1 0)", "1, 0", ""] {
        assert_eq!(timer(&text(0, value)), None, "{value:?}");
    }
    assert_eq!(timer(HEAD), None);
}

#[test]
fn file_watches() {
    assert!(!watches_files(HEAD));
    assert!(watches_files(&of("inotify wd:1 ino:3c4a7 sdev:fe00000 mask:2 ignored_mask:0\n")));
    assert!(!watches_files(&of("fanotify flags:0 event-flags:0\n")));
    assert!(watches_files(&of("fanotify flags:0 event-flags:0\nfanotify mnt_id:3 mflags:0\n")));
}

#[test]
fn rings() {
    let text = |lists: &str| {
        of(&format!(
            "SqMask:\t0x7\nSqHead:\t2\nSqTail:\t3\nCqHead:\t4294967295\nCqTail:\t1\nSQEs:\t1\n    \
             2: opcode:READ, fd:6, flags:0, off:0, addr:0x55e8, rw_flags:0x0, buf_index:0 user_data:8\n\
             CQEs:\t0\nSqThread:\t-1\nUserFiles:\t0\n{lists}"
        ))
    };
    let two = "PollList:\n  op=22, task_works=0\n  op=6, task_works=0\nCqOverflowList:\nNAPI:\tdisabled\n";
    let expected = Uring { pending: vec![22, 6], ready: 2, submitter: None };
    assert_eq!(uring(&text(two)), Some(expected));
    let none = uring(&text("PollList:\nCqOverflowList:\n")).unwrap();
    assert!(none.pending.is_empty());
    assert_eq!(uring(&text("")), None, "the ring was locked");
    assert_eq!(uring(HEAD), None);
}
