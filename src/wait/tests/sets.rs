use super::*;

fn pollfd(fd: i32, events: i16) -> [u8; 8] {
    let mut entry = [0; 8];
    entry[..4].copy_from_slice(&fd.to_le_bytes());
    entry[4..6].copy_from_slice(&events.to_le_bytes());
    entry
}

#[test]
fn interest_by_the_polled_events() {
    let both = Interest { read: true, write: true, priority: false, connect: false };
    let cases = [
        (0x001, READ),
        (0x002, URGENT),
        (0x040, READ),
        (0x080, READ),
        (0x004, WRITE),
        (0x100, WRITE),
        (0x005, both),
        (0x2000, Interest::default()),
        (0x018, Interest::default()),
        (0, Interest::default()),
    ];
    for (events, interest) in cases {
        let memory = Fake::new().put(0x1000, pollfd(4, events));
        let call = ask(X64, "poll", &[0x1000, 1, u64::MAX], memory);
        assert_eq!(call.ends, [fd(4, interest)], "{events:#x}");
        assert_eq!(call.timeout, Timeout::Never);
    }
}

#[test]
fn poll_and_ppoll_sets() {
    let set = || {
        let entries = [pollfd(0, 1), pollfd(-1, 1), pollfd(7, 4)].concat();
        Fake::new().put(0x1000, entries).put(0x2000, timespec(0, 5_000_000))
    };
    let ends = [fd(0, READ), fd(7, WRITE)];
    let call = ask(X64, "poll", &[0x1000, 3, 250], set());
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::from_millis(250))));
    // The upper half of an int's register is garbage.
    let call = ask(X64, "poll", &[0x1000, 3 | 7 << 40, 0xffff_ffff], set());
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], Timeout::Never));
    let call = ask(X64, "ppoll", &[0x1000, 3, 0x2000], set());
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::from_millis(5))));
    assert_eq!(ask(X64, "ppoll", &[0x1000, 3, 0], set()).timeout, Timeout::Never);
    assert_eq!(ask(X64, "ppoll", &[0x1000, 3, 0x9000], set()).timeout, Timeout::Some);
}

#[test]
fn a_set_without_descriptors_waits_for_the_time_or_a_signal() {
    let any_signal = vec![End::Signal { set: None }];
    let call = x64("poll", &[0, 0, 100]);
    assert_eq!((call.ends, call.timeout), (vec![End::Time], after(Duration::from_millis(100))));
    assert_eq!(x64("poll", &[0, 0, u64::MAX]).ends, any_signal);
    let off = Fake::new().put(0x1000, pollfd(-1, 1));
    assert_eq!(ask(X64, "poll", &[0x1000, 1, 100], off).ends, [End::Time]);
    assert_eq!(x64("select", &[0, 0, 0, 0, 0]).ends, any_signal);
    let second = Fake::new().put(0x2000, timespec(1, 0));
    assert_eq!(ask(X64, "select", &[0, 0, 0, 0, 0x2000], second).ends, [End::Time]);
}

#[test]
fn an_unreadable_set_is_opaque() {
    for count in [1, 65_536, 65_537, u64::MAX] {
        let call = x64("poll", &[0x1000, count, 100]);
        assert_eq!(call.ends, [End::Unknown], "{count}");
        assert_eq!(call.timeout, after(Duration::from_millis(100)));
    }
    for nfds in [1, 65_537, u64::MAX] {
        assert_eq!(x64("select", &[nfds, 0x1000, 0, 0, 0]).ends, [End::Unknown], "{nfds}");
    }
    let half = Fake::new().put(0x1000, [1]);
    assert_eq!(ask(X64, "select", &[1, 0x1000, 0x2000], half).ends, [End::Unknown]);
    let huge = Fake::new().put(0x1000, vec![0xff; 65_544 * 8]);
    assert_eq!(ask(X64, "poll", &[0x1000, 65_537], huge).ends, [End::Unknown]);
}

#[test]
fn select_and_pselect6_sets() {
    let sets = || {
        Fake::new()
            .put(0x1000, [0b0000_0001, 0b0000_0110])
            .put(0x2000, [0b0000_0001, 0b0000_0000])
            .put(0x3000, [0b0001_0000, 0b0000_0000])
            .put(0x4000, timespec(1, 500))
    };
    let both = Interest { read: true, write: true, priority: false, connect: false };
    // Descriptor 10's bit is set, but not below nfds.
    let ends = [fd(0, both), fd(4, URGENT), fd(9, READ)];
    let args = [10, 0x1000, 0x2000, 0x3000, 0x4000];
    let call = ask(X64, "select", &args, sets());
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::new(1, 500_000))));
    let call = ask(X64, "pselect6", &args, sets());
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::new(1, 500))));
    let call = ask(X64, "pselect6", &[1, 0x1000, 0, 0, 0], sets());
    assert_eq!((call.ends, call.timeout), (vec![fd(0, READ)], Timeout::Never));
    // Some of nfds, none of the sets.
    assert_eq!(x64("select", &[10, 0, 0, 0, 0]).ends, [End::Signal { set: None }]);
}

#[test]
fn epoll_sets() {
    let ends = [End::Epoll { fd: 3 }];
    for name in ["epoll_wait", "epoll_pwait"] {
        let call = x64(name, &[3, 0x1000, 8, 8097]);
        assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::from_millis(8097))));
        assert_eq!(x64(name, &[3, 0x1000, 8, 0xffff_ffff]).timeout, Timeout::Never);
    }
    let memory = Fake::new().put(0x2000, timespec(0, 9));
    let call = ask(X64, "epoll_pwait2", &[3, 0x1000, 8, 0x2000], memory);
    assert_eq!((&call.ends[..], call.timeout), (&ends[..], after(Duration::from_nanos(9))));
}

#[test]
fn rings() {
    let ring = [End::Uring { fd: 3 }];
    assert_eq!(x64("io_uring_enter", &[3, 0, 1, 1]).ends, ring);
    assert_eq!(x64("io_uring_enter", &[3, 1, 0, 1]).ends, [End::Unknown], "nothing awaited");
    assert_eq!(x64("io_uring_enter", &[3, 1, 1, 0]).ends, [End::Unknown], "no GETEVENTS");
    assert_eq!(x64("io_uring_enter", &[0, 0, 1, 1 | 16]).ends, [End::Unknown], "a ring's index");

    let timeout = |flags: u64, address: u64| {
        let memory = Fake::new()
            .put(0x1000, [0, 0, address].map(u64::to_le_bytes).concat())
            .put(0x2000, timespec(1, 2));
        ask(X64, "io_uring_enter", &[3, 0, 1, flags, 0x1000, 24], memory).timeout
    };
    assert_eq!(timeout(1, 0x2000), Timeout::Never, "a signal mask, not an extended argument");
    assert_eq!(timeout(1 | 8, 0x2000), after(Duration::new(1, 2)));
    assert_eq!(timeout(1 | 8, 0), Timeout::Never);
    assert_eq!(timeout(1 | 8, 0x9000), Timeout::Some);
    assert_eq!(timeout(1 | 8 | 32, 0x2000), Timeout::Some, "absolute");
    assert_eq!(timeout(1 | 8 | 64, 0x2000), Timeout::Some, "registered memory");
    assert_eq!(x64("io_uring_enter", &[3, 0, 1, 1 | 8, u64::MAX, 24]).timeout, Timeout::Some);
}
