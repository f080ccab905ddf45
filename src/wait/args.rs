use std::time::Duration;

use super::{Arch, Memory, Timeout};

/// A longer sleep than this does not fit into the kernel's `ktime_t`, which counts nanoseconds in
/// 63 bits: the kernel caps it there, 292 years away (`KTIME_SEC_MAX`). `sleep infinity` asks so.
const ENDLESS_SECONDS: u64 = i64::MAX as u64 / 1_000_000_000;

/// The arguments of one call, in the types that the kernel gives them, and the memory they point to.
pub(super) struct Args<'m> {
    arch: Arch,
    registers: [u64; 6],
    memory: &'m mut dyn Memory,
    wide_time: bool,
}

impl<'m> Args<'m> {
    pub(super) fn new(arch: Arch, registers: [u64; 6], memory: &'m mut dyn Memory) -> Self {
        Args { arch, registers, memory, wide_time: arch.word() == 8 }
    }

    /// The call's timespecs have 64-bit fields even on a 32-bit architecture: the `*_time64` calls
    /// of Linux 5.1.
    pub(super) fn widen_time(&mut self) {
        self.wide_time = true;
    }

    pub(super) fn arch(&self) -> Arch {
        self.arch
    }

    /// Puts another argument in the place of the `index`th.
    pub(super) fn replace(&mut self, index: usize, value: u32) {
        self.registers[index] = u64::from(value);
    }

    /// An `int`. The upper half of its register is whatever the caller left in it, so it is cut off
    /// as the kernel does.
    pub(super) fn int(&self, index: usize) -> i32 {
        self.registers[index] as i32
    }

    /// An `unsigned int`.
    pub(super) fn uint(&self, index: usize) -> u32 {
        self.registers[index] as u32
    }

    /// A pointer or an `unsigned long`.
    pub(super) fn word(&self, index: usize) -> u64 {
        match self.arch {
            Arch::I386 => u64::from(self.uint(index)),
            Arch::X86_64 | Arch::Aarch64 => self.registers[index],
        }
    }

    /// `length` bytes of the task's memory; `None` where they cannot be read in full.
    pub(super) fn bytes(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.memory.read(address, length).ok().filter(|bytes| bytes.len() == length)
    }

    /// A string of the task's memory, of less than `longest` bytes.
    pub(super) fn string(&mut self, address: u64, longest: usize) -> Option<Vec<u8>> {
        self.memory.string(address, longest).ok()
    }

    /// `N` bytes of the task's memory.
    pub(super) fn array<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        self.bytes(address, N)?.try_into().ok()
    }

    /// A `u32` of the task's memory.
    pub(super) fn u32_at(&mut self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// A `u64` of the task's memory.
    pub(super) fn u64_at(&mut self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// A timeout in milliseconds, negative for none: poll(2), epoll_wait(2).
    pub(super) fn milliseconds(&self, index: usize) -> Timeout {
        u64::try_from(self.int(index))
            .map_or(Timeout::Never, |length| Timeout::After(Duration::from_millis(length)))
    }

    /// A relative timeout behind a pointer to a timespec; without a pointer there is none.
    pub(super) fn timespec(&mut self, index: usize) -> Timeout {
        self.timespec_at(self.word(index))
    }

    /// The relative timeout in the timespec at `address`.
    pub(super) fn timespec_at(&mut self, address: u64) -> Timeout {
        self.timeout_at(address, |seconds, nanoseconds| {
            (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds, nanoseconds as u32))
        })
    }

    /// The relative timeout in the timeval at `address`: select(2). The kernel carries excess
    /// microseconds over into the seconds.
    pub(super) fn timeval_at(&mut self, address: u64) -> Timeout {
        self.timeout_at(address, |seconds, microseconds| {
            Duration::from_secs(seconds).checked_add(Duration::from_micros(microseconds))
        })
    }

    /// A point in time behind a pointer: when it comes is not said by its number alone, for the
    /// clock it is on may be any, set back, or stopped in a suspend.
    pub(super) fn deadline(&self, index: usize) -> Timeout {
        if self.word(index) == 0 { Timeout::Never } else { Timeout::Some }
    }

    /// A point in time on `CLOCK_MONOTONIC` behind a pointer.
    pub(super) fn monotonic(&mut self, index: usize) -> Timeout {
        match self.timespec(index) {
            Timeout::After(since_boot) => Timeout::Until(since_boot),
            other => other,
        }
    }

    fn timeout_at(&mut self, address: u64, length: fn(u64, u64) -> Option<Duration>) -> Timeout {
        if address == 0 {
            return Timeout::Never;
        }
        let fields = self.time_fields(address);
        match fields.and_then(|(seconds, fraction)| length(seconds, fraction)) {
            Some(length) if length.as_secs() >= ENDLESS_SECONDS => Timeout::Never,
            Some(length) => Timeout::After(length),
            None => Timeout::Some,
        }
    }

    /// Both fields of a timespec or timeval; `None` where they cannot be read or one is negative.
    fn time_fields(&mut self, address: u64) -> Option<(u64, u64)> {
        let (seconds, fraction) = if self.wide_time {
            let fields: [u8; 16] = self.array(address)?;
            let (seconds, fraction) = fields.split_at(8);
            (
                i64::from_le_bytes(seconds.try_into().ok()?),
                i64::from_le_bytes(fraction.try_into().ok()?),
            )
        } else {
            let fields: [u8; 8] = self.array(address)?;
            let (seconds, fraction) = fields.split_at(4);
            (
                i64::from(i32::from_le_bytes(seconds.try_into().ok()?)),
                i64::from(i32::from_le_bytes(fraction.try_into().ok()?)),
            )
        };
        // A 32-bit libc's struct has padding where the kernel's 64-bit field has its upper half.
        let fraction = match self.arch {
            Arch::I386 if self.wide_time => fraction & 0xffff_ffff,
            _ => fraction,
        };
        Some((u64::try_from(seconds).ok()?, u64::try_from(fraction).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, timespec, timespec32};
    use super::*;

    fn of(arch: Arch, memory: &mut Fake, wide: bool) -> Timeout {
        let mut args = Args::new(arch, [0x1000, 0, 0, 0, 0, 0], memory);
        if wide {
            args.widen_time();
        }
        args.timespec(0)
    }

    #[test]
    fn a_timespec_has_the_fields_of_its_call() {
        let length = Timeout::After(Duration::new(3, 7));
        let mut narrow = Fake::new().put(0x1000, timespec32(3, 7));
        let mut wide = Fake::new().put(0x1000, timespec(3, 7));
        assert_eq!(of(Arch::X86_64, &mut wide, false), length);
        assert_eq!(of(Arch::Aarch64, &mut wide, false), length);
        assert_eq!(of(Arch::I386, &mut narrow, false), length);
        assert_eq!(of(Arch::I386, &mut wide, true), length);
        assert_eq!(of(Arch::X86_64, &mut narrow, false), Timeout::Some, "too short to be read");
    }

    #[test]
    fn padding_after_32_bit_nanoseconds_is_no_number() {
        let mut memory = Fake::new().put(0x1000, timespec(3, 0x5a5a_5a5a_0000_0007));
        assert_eq!(of(Arch::I386, &mut memory, true), Timeout::After(Duration::new(3, 7)));
        assert_eq!(of(Arch::X86_64, &mut memory, false), Timeout::Some);
    }

    #[test]
    fn what_the_clock_cannot_hold_is_endless() {
        let mut memory = Fake::new().put(0x1000, timespec(i64::MAX, 999_999_999));
        assert_eq!(of(Arch::X86_64, &mut memory, false), Timeout::Never);
        let mut memory = Fake::new().put(0x1000, timespec(-1, 0));
        assert_eq!(of(Arch::X86_64, &mut memory, false), Timeout::Some);
    }

    #[test]
    fn a_timeval_carries_its_microseconds_over() {
        let mut memory = Fake::new().put(0x1000, timespec(1, 2_500_000));
        let mut args = Args::new(Arch::X86_64, [0; 6], &mut memory);
        assert_eq!(args.timeval_at(0x1000), Timeout::After(Duration::from_millis(3500)));
    }

    #[test]
    fn garbage_above_an_int_is_cut_off() {
        let mut memory = Fake::new();
        let args = Args::new(Arch::X86_64, [0xdead_beef_ffff_ffff, 0, 0, 0, 0, 0], &mut memory);
        assert_eq!(args.int(0), -1);
        assert_eq!(args.milliseconds(0), Timeout::Never);
        let args = Args::new(Arch::I386, [0xffff_ffff_ffff_e000, 0, 0, 0, 0, 0], &mut memory);
        assert_eq!(args.word(0), 0xffff_e000);
    }
}
