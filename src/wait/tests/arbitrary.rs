use proptest::prelude::*;

use super::super::{Memory, MemoryError, Registers, Restarted, decode, decode_restart, restarted};
use super::*;

/// Memory that is different at each address, and refuses or falls short now and then.
struct Noise(u64);

impl Memory for Noise {
    fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>, MemoryError> {
        let mut state = (self.0 ^ address) | 1;
        let mut noise = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        let available = match noise() {
            0..50 => return Err(MemoryError),
            50..60 => length / 2,
            _ => length,
        };
        Ok((0..available).map(|_| noise()).collect())
    }
}

fn arch() -> impl Strategy<Value = Arch> {
    prop_oneof![Just(Arch::X86_64), Just(Arch::I386), Just(Arch::Aarch64)]
}

/// Small numbers make flags, counts and descriptors, the edges overflow, the rest is pointers.
fn argument() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, any::<u64>(), u64::MAX - 64..=u64::MAX, 0x7fff_0000_u64..0x8001_0000]
}

fn registers() -> impl Strategy<Value = Registers> {
    let nr = prop_oneof![20 => 0_u64..480, 1 => any::<u64>()];
    (nr, proptest::array::uniform6(argument())).prop_map(|(nr, args)| Registers {
        nr,
        args,
        stack: 0,
    })
}

fn former() -> impl Strategy<Value = Restarted> {
    prop_oneof![
        Just(Restarted::Poll),
        Just(Restarted::Nanosleep),
        Just(Restarted::ClockNanosleep),
        Just(Restarted::Futex),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_call_has_an_end(arch in arch(), registers in registers(), seed in any::<u64>()) {
        let call = decode(arch, registers, &mut Noise(seed));
        prop_assert!(!call.ends.is_empty());
        prop_assert!(!call.name.is_empty());
        if call.ends.contains(&End::Time) {
            prop_assert!(call.timeout.is_finite());
        }
    }

    #[test]
    fn every_restarted_call_has_an_end(
        arch in arch(), registers in registers(), former in former(), seed in any::<u64>(),
    ) {
        let call = decode_restart(arch, registers, former, &mut Noise(seed));
        prop_assert!(!call.ends.is_empty());
    }

    #[test]
    fn without_memory_no_descriptor_of_a_set_is_made_up(
        arch in arch(), registers in registers(),
    ) {
        let call = decode(arch, registers, &mut Fake::new());
        if matches!(call.name, "poll" | "ppoll" | "select" | "_newselect" | "pselect6") {
            let made_up = call.ends.iter().any(|end| matches!(end, End::Fd { .. }));
            prop_assert!(!made_up);
        }
    }

    #[test]
    fn any_wchan_is_read(text in ".*") {
        let _ = restarted(&text);
    }
}
