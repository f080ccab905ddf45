//! `/proc/PID/task/TID/syscall`, proc_pid_syscall(5).

use crate::wait::Registers;

/// What the file says a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syscall {
    /// On a CPU, runnable, or no longer the same sleep from the start of the read to its end.
    Running,
    /// Off the CPU, but in no call: stopped or preempted in user mode, faulting, or a zombie.
    NotInCall,
    /// In this call. A task that was woken and has not run yet still shows it.
    Call(Registers),
    /// A kernel thread: zeros throughout, which would pass for `read(0, NULL, 0)` but for the
    /// stack pointer.
    KernelThread,
}

impl Syscall {
    /// Parses the file: `running`, `-1 SP PC`, or the number, six arguments, SP and PC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Syscall> {
        let line = text.strip_suffix('\n')?;
        if line == "running" {
            return Some(Syscall::Running);
        }
        let mut fields = line.split(' ');
        let nr: i32 = fields.next()?.parse().ok()?;
        let mut word = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        if nr == -1 {
            let (_sp, _pc) = (word()?, word()?);
            return Some(Syscall::NotInCall);
        }
        let nr = u64::try_from(nr).ok()?;
        let args = [word()?, word()?, word()?, word()?, word()?, word()?];
        let (sp, pc) = (word()?, word()?);
        if (nr, args, sp, pc) == (0, [0; 6], 0, 0) {
            return Some(Syscall::KernelThread);
        }
        Some(Syscall::Call(Registers { nr, args, stack: sp }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        assert_eq!(Syscall::parse("running\n"), Some(Syscall::Running));
        assert_eq!(Syscall::parse("-1 0x7ffd0a61c8 0x55e8\n"), Some(Syscall::NotInCall));
        assert_eq!(Syscall::parse("-1 0x0 0x0\n"), Some(Syscall::NotInCall), "a zombie");
        assert_eq!(
            Syscall::parse("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"),
            Some(Syscall::KernelThread)
        );
        let text = "7 0x7ffc12ab 0x1 0xffffffffffffffff 0x0 0x8 0x5 0x7ffc1000 0x7f21\n";
        let args = [0x7ffc_12ab, 1, u64::MAX, 0, 8, 5];
        assert_eq!(
            Syscall::parse(text),
            Some(Syscall::Call(Registers { nr: 7, args, stack: 0x7ffc_1000 }))
        );
    }

    #[test]
    fn a_read_of_nothing_is_no_kernel_thread() {
        let text = "0 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc1000 0x7f21\n";
        assert_eq!(
            Syscall::parse(text),
            Some(Syscall::Call(Registers { nr: 0, args: [0; 6], stack: 0x7ffc_1000 }))
        );
    }

    #[test]
    fn refuses_what_is_cut_off_or_foreign() {
        let whole = "7 0x1 0x1 0x1 0x1 0x1 0x1 0x7ffc1000 0x7f21\n";
        for length in 0..whole.len() {
            assert_eq!(Syscall::parse(&whole[..length]), None, "{length}");
        }
        for text in ["runnin\n", "-2 0x0 0x0\n", "7 1 2 3 4 5 6 7 8\n", "9999999999 0x0\n", "-1\n"]
        {
            assert_eq!(Syscall::parse(text), None, "{text:?}");
        }
    }
}
