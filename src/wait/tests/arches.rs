use super::super::fake::timespec32;
use super::super::{Registers, decode};
use super::*;

const I386: Arch = Arch::I386;
const ARM: Arch = Arch::Aarch64;

#[test]
fn read_has_a_number_of_its_own_on_each() {
    for (arch, nr) in [(X64, 0), (I386, 3), (ARM, 63)] {
        let registers = Registers { nr, args: [9, 0x1000, 1, 0, 0, 0], stack: 0 };
        let call = decode(arch, registers, &mut Fake::new());
        assert_eq!((call.name, call.ends), ("read", vec![fd(9, READ)]), "{arch}");
    }
    let call = decode(X64, Registers { nr: 9999, args: [0; 6], stack: 0 }, &mut Fake::new());
    assert_eq!((call.name, call.ends), ("?", vec![End::Unknown]));
}

#[test]
fn i386_pointers_are_sign_extended_in_the_registers() {
    let memory = Fake::new().put(0xffc9_6000, [5, 0, 0, 0, 1, 0, 0, 0]);
    let call = ask(I386, "poll", &[0xffff_ffff_ffc9_6000, 1, 0xffff_ffff], memory);
    assert_eq!((call.ends, call.timeout), (vec![fd(5, READ)], Timeout::Never));
    let call = ask(I386, "futex", &[0xffff_ffff_ffc9_6000, 0], Fake::new());
    assert_eq!(call.ends, [End::Futex { addr: 0xffc9_6000, private: false }]);
}

#[test]
fn i386_times_are_narrow_except_in_the_time64_calls() {
    let length = Duration::new(2, 1000);
    let narrow = || Fake::new().put(0x2000, timespec32(2, 1000)).put(0x1000, [1, 0, 0, 0]);
    let wide = || Fake::new().put(0x2000, timespec(2, 1000)).put(0x1000, [1, 0, 0, 0]);
    let cases: [(&str, &str, &[u64]); 5] = [
        ("ppoll", "ppoll_time64", &[0, 0, 0x2000]),
        ("pselect6", "pselect6_time64", &[1, 0x1000, 0, 0, 0x2000]),
        ("futex", "futex_time64", &[0x1000, 0, 0, 0x2000]),
        ("clock_nanosleep", "clock_nanosleep_time64", &[1, 0, 0x2000]),
        ("semtimedop_time64", "semtimedop_time64", &[0, 0, 0, 0x2000]),
    ];
    for (old, new, args) in cases {
        if old != new {
            assert_eq!(ask(I386, old, args, narrow()).timeout, after(length), "{old}");
        }
        let call = ask(I386, new, args, wide());
        assert_eq!((call.name, call.timeout), (new, after(length)));
    }
    assert_eq!(ask(I386, "nanosleep", &[0x2000], narrow()).timeout, after(length));
    let call = ask(I386, "epoll_pwait2", &[3, 0, 0, 0x2000], wide());
    assert_eq!(call.timeout, after(length));
    let call = ask(I386, "ipc", &[4, 0, 0, 0, 0, 0x2000], narrow());
    assert_eq!((call.ends, call.timeout), (vec![End::Unknown], after(length)));
    assert_eq!(ask(I386, "ipc", &[1, 0, 0, 0, 0, 0x2000], narrow()).timeout, Timeout::Never);
}

#[test]
fn i386_has_two_selects() {
    let block = [3_u32, 0x1000, 0, 0, 0x3000].map(u32::to_le_bytes).concat();
    let memory =
        || Fake::new().put(0x1000, [0b101]).put(0x2000, &block).put(0x3000, timespec32(1, 250_000));
    let expected = (vec![fd(0, READ), fd(2, READ)], after(Duration::from_millis(1250)));
    let call = ask(I386, "select", &[0x2000], memory());
    assert_eq!((call.ends, call.timeout), expected);
    let call = ask(I386, "_newselect", &[3, 0x1000, 0, 0, 0x3000], memory());
    assert_eq!((call.ends, call.timeout), expected);
    let call = ask(I386, "select", &[0x9000], memory());
    assert_eq!((call.ends, call.timeout), (vec![End::Unknown], Timeout::Some));
}

#[test]
fn i386_multiplexes_its_socket_calls() {
    let memory = || Fake::new().put(0x1000, 6_u32.to_le_bytes());
    let cases = [
        (3, "connect", CONNECT),
        (5, "accept", READ),
        (9, "send", WRITE),
        (10, "recv", READ),
        (11, "sendto", WRITE),
        (12, "recvfrom", READ),
        (16, "sendmsg", WRITE),
        (17, "recvmsg", READ),
        (18, "accept4", READ),
        (19, "recvmmsg", READ),
        (20, "sendmmsg", WRITE),
    ];
    for (number, name, interest) in cases {
        let call = ask(I386, "socketcall", &[number, 0x1000], memory());
        assert_eq!((call.name, call.ends), (name, vec![fd(6, interest)]));
    }
    for (number, address) in [(1, 0x1000), (10, 0x9000)] {
        let call = ask(I386, "socketcall", &[number, address], memory());
        assert_eq!((call.name, call.ends), ("socketcall", vec![End::Unknown]));
    }
}

#[test]
fn i386_keeps_older_calls() {
    let pid = u64::from(-7_i32 as u32);
    assert_eq!(ask(I386, "waitpid", &[pid], Fake::new()).ends, [End::Child(Children::Group(7))]);
    let lock = [End::Lock { fd: 3, kind: LockKind::Posix }];
    assert_eq!(ask(I386, "fcntl64", &[3, 14], Fake::new()).ends, lock);
    assert_eq!(ask(I386, "fcntl", &[3, 7], Fake::new()).ends, lock);
    let call = ask(I386, "sigsuspend", &[0, 0, 0xffff_ffff_ffff_fffe], Fake::new());
    assert_eq!(call.ends, [End::Signal { set: Some(0xffff_ffff_0000_0001) }]);
    let ends = [fd(3, READ), fd(4, WRITE)];
    assert_eq!(ask(I386, "sendfile64", &[4, 3], Fake::new()).ends, ends);
}

#[test]
fn aarch64_has_no_poll_but_ppoll() {
    let memory = Fake::new().put(0x1000, [0, 0, 0, 0, 1, 0, 0, 0]).put(0x2000, timespec(1, 0));
    let call =
        decode(ARM, Registers { nr: 73, args: [0x1000, 1, 0x2000, 0, 0, 0], stack: 0 }, &mut {
            memory
        });
    assert_eq!((call.name, call.ends), ("ppoll", vec![fd(0, READ)]));
    assert_eq!(call.timeout, after(Duration::from_secs(1)));
    let call =
        decode(ARM, Registers { nr: 22, args: [4, 0, 8, 10, 0, 0], stack: 0 }, &mut Fake::new());
    assert_eq!((call.name, call.ends), ("epoll_pwait", vec![End::Epoll { fd: 4 }]));
    let call =
        decode(ARM, Registers { nr: 260, args: [5, 0, 0, 0, 0, 0], stack: 0 }, &mut Fake::new());
    assert_eq!((call.name, call.ends), ("wait4", vec![End::Child(Children::Pid(5))]));
}
