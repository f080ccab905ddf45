use super::args::Args;
use super::decode::{call, shape};
use super::{Arch, Call, Memory, Registers, Timeout};

/// The calls that the kernel goes on with as `restart_syscall` after a signal stop or a tracer:
/// those with a relative timeout, of which only a rest is left (restart_syscall(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Restarted {
    /// poll(2); ppoll(2) and select(2) start anew under their own numbers.
    Poll,
    /// nanosleep(2), or clock_nanosleep(2) where they cannot be told apart.
    Nanosleep,
    /// clock_nanosleep(2) to a relative time.
    ClockNanosleep,
    /// futex(2) with a timeout.
    Futex,
}

/// Which call a `restart_syscall` goes on with, from the kernel function it sleeps in: the text of
/// `/proc/PID/task/TID/wchan`. `None` for any other function, and for the `0` that stands there
/// without permission.
#[must_use]
pub fn restarted(wchan: &str) -> Option<Restarted> {
    // A compiler's clone of a function has a suffix: `do_poll.constprop.0`.
    let function = wchan.trim_end().split('.').next()?;
    match function {
        "do_poll" | "do_sys_poll" | "poll_schedule_timeout" | "do_restart_poll" => {
            Some(Restarted::Poll)
        }
        "hrtimer_nanosleep" | "hrtimer_nanosleep_restart" | "do_nanosleep" => {
            Some(Restarted::Nanosleep)
        }
        // A restarted sleep leaves no function of its own on the stack that wchan would name, so
        // the entry is what remains (seen on 6.18); the other restarted calls leave one.
        "do_syscall_64" | "do_int80_emulation" => Some(Restarted::Nanosleep),
        "common_nsleep" | "common_nsleep_timens" | "do_cpu_nanosleep" | "alarmtimer_do_nsleep" => {
            Some(Restarted::ClockNanosleep)
        }
        // The kernel has renamed its futex wait from release to release.
        "futex_do_wait" | "futex_wait_queue" | "futex_wait_queue_me" | "futex_wait_restart" => {
            Some(Restarted::Futex)
        }
        _ => None,
    }
}

/// Decodes a `restart_syscall` as the call it goes on with, under that call's name: the registers
/// keep the former arguments, only the number has changed.
///
/// Where the former number is known, [`decode`](super::decode) with it says more: on i386 the size
/// of a timespec, without which such a timeout stays [`Timeout::Some`].
#[must_use]
pub fn decode_restart(
    arch: Arch,
    registers: Registers,
    former: Restarted,
    memory: &mut dyn Memory,
) -> Call {
    let mut args = Args::new(arch, registers.args, memory);
    let name = match former {
        Restarted::Poll => "poll",
        Restarted::Nanosleep if has_clock(&args) => "clock_nanosleep",
        Restarted::Nanosleep => "nanosleep",
        Restarted::ClockNanosleep => "clock_nanosleep",
        Restarted::Futex => "futex",
    };
    let (ends, timeout) = shape(name, &mut args);
    let has_time64_twin = matches!(name, "clock_nanosleep" | "futex");
    let timeout = if arch == Arch::I386 && has_time64_twin { Timeout::Some } else { timeout };
    call(name, (ends, timeout))
}

/// Both calls sleep in the same kernel functions, but nanosleep(2) has a pointer where
/// clock_nanosleep(2) has a clock's number, and no address is that low (`vm.mmap_min_addr`).
fn has_clock(args: &Args<'_>) -> bool {
    args.word(0) < 4096
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::End;
    use super::super::fake::{Fake, registers, timespec, timespec32};
    use super::*;

    fn ask(arch: Arch, former: Restarted, args: &[u64], mut memory: Fake) -> Call {
        decode_restart(arch, registers(arch, "restart_syscall", args), former, &mut memory)
    }

    #[test]
    fn the_function_slept_in_tells_the_former_call() {
        assert_eq!(restarted("poll_schedule_timeout.constprop.0"), Some(Restarted::Poll));
        assert_eq!(restarted("do_sys_poll\n"), Some(Restarted::Poll));
        assert_eq!(restarted("hrtimer_nanosleep"), Some(Restarted::Nanosleep));
        assert_eq!(restarted("do_syscall_64"), Some(Restarted::Nanosleep));
        assert_eq!(restarted("common_nsleep"), Some(Restarted::ClockNanosleep));
        assert_eq!(restarted("futex_wait_queue_me"), Some(Restarted::Futex));
        assert_eq!(restarted("futex_do_wait"), Some(Restarted::Futex));
        assert_eq!(restarted("wait_woken"), None);
        assert_eq!(restarted("0"), None);
        assert_eq!(restarted(""), None);
    }

    #[test]
    fn a_poll_goes_on_as_a_poll() {
        let call = ask(
            Arch::X86_64,
            Restarted::Poll,
            &[0x1000, 1, 500],
            Fake::new().put(0x1000, [7, 0, 0, 0, 1, 0, 0, 0]),
        );
        assert_eq!(call.name, "poll");
        assert!(matches!(call.ends[..], [End::Fd { fd: 7, .. }]));
        assert_eq!(call.timeout, Timeout::After(Duration::from_millis(500)));
    }

    #[test]
    fn a_sleep_is_told_by_its_first_argument() {
        for former in [Restarted::Nanosleep, Restarted::ClockNanosleep] {
            let memory = Fake::new().put(0x2000, timespec(5, 0));
            let call = ask(Arch::X86_64, former, &[1, 0, 0x2000], memory);
            assert_eq!((call.name, call.ends), ("clock_nanosleep", vec![End::Time]));
            assert_eq!(call.timeout, Timeout::After(Duration::from_secs(5)));
        }
        let memory = Fake::new().put(0x2000, timespec(5, 0));
        let call = ask(Arch::Aarch64, Restarted::Nanosleep, &[0x2000], memory);
        assert_eq!((call.name, call.ends), ("nanosleep", vec![End::Time]));
    }

    #[test]
    fn a_timed_futex_goes_on() {
        let memory = Fake::new().put(0x3000, timespec(0, 250));
        let call = ask(Arch::X86_64, Restarted::Futex, &[0x4000, 128, 0, 0x3000], memory);
        assert_eq!(call.ends, [End::Futex { addr: 0x4000, private: true }]);
        assert_eq!(call.timeout, Timeout::After(Duration::from_nanos(250)));
    }

    #[test]
    fn a_timespec_of_unknown_size_is_not_read() {
        let memory = Fake::new().put(0x3000, timespec32(1, 1)).put(0x3008, timespec32(1, 1));
        let call = ask(Arch::I386, Restarted::Futex, &[0x4000, 0, 0, 0x3000], memory);
        assert_eq!(call.timeout, Timeout::Some);
        let memory = Fake::new().put(0x3000, timespec32(1, 1));
        let call = ask(Arch::I386, Restarted::Nanosleep, &[0x3000], memory);
        assert_eq!(call.timeout, Timeout::After(Duration::new(1, 1)), "it has no twin");
    }
}
