use super::Arch;

/// The kernel's name of the system call with this number, or `"?"` where the table has none (a
/// call newer than the table, or one of the x32 convention, whose numbers have bit 30 set).
pub(super) fn name(arch: Arch, nr: u64) -> &'static str {
    let Ok(nr) = usize::try_from(nr) else { return "?" };
    let name = match arch {
        Arch::X86_64 => syscalls::x86_64::Sysno::new(nr).map(|call| call.name()),
        Arch::I386 => syscalls::x86::Sysno::new(nr).map(|call| call.name()),
        Arch::Aarch64 => syscalls::aarch64::Sysno::new(nr).map(|call| call.name()),
    };
    name.unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_means_another_call_elsewhere() {
        assert_eq!(name(Arch::X86_64, 3), "close");
        assert_eq!(name(Arch::I386, 3), "read");
        assert_eq!(name(Arch::Aarch64, 63), "read");
        assert_eq!(name(Arch::X86_64, 219), "restart_syscall");
        assert_eq!(name(Arch::I386, 0), "restart_syscall");
        assert_eq!(name(Arch::Aarch64, 128), "restart_syscall");
    }

    #[test]
    fn a_number_in_no_table_has_no_name() {
        for arch in [Arch::X86_64, Arch::I386, Arch::Aarch64] {
            assert_eq!(name(arch, 100_000), "?");
            assert_eq!(name(arch, u64::MAX), "?");
        }
        assert_eq!(name(Arch::X86_64, 0x4000_0000), "?");
    }
}
