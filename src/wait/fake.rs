//! The memory of a task that never was: what the tests of this room wrote, and nothing else.

use std::collections::BTreeMap;

use super::{Arch, Call, Memory, MemoryError, Registers, decode};

/// Byte by address.
#[derive(Default)]
pub(super) struct Fake(BTreeMap<u64, u8>);

impl Fake {
    pub(super) fn new() -> Self {
        Fake::default()
    }

    pub(super) fn put(mut self, address: u64, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend((address..).zip(bytes.as_ref().iter().copied()));
        self
    }
}

impl Memory for Fake {
    fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>, MemoryError> {
        (0..length as u64)
            .map(|offset| address.checked_add(offset).and_then(|at| self.0.get(&at).copied()))
            .collect::<Option<_>>()
            .ok_or(MemoryError)
    }
}

/// The number of the call with this name.
pub(super) fn number(arch: Arch, name: &str) -> u64 {
    (0..600)
        .find(|nr| super::table::name(arch, *nr) == name)
        .unwrap_or_else(|| panic!("{arch} has no {name}"))
}

/// Decodes the call of this name with these first arguments, the others being zero.
pub(super) fn ask(arch: Arch, name: &str, args: &[u64], memory: Fake) -> Call {
    decode(arch, registers(arch, name, args), &mut { memory })
}

pub(super) fn registers(arch: Arch, name: &str, given: &[u64]) -> Registers {
    let mut args = [0; 6];
    args[..given.len()].copy_from_slice(given);
    Registers { nr: number(arch, name), args, stack: 0 }
}

/// A timespec or timeval with 64-bit fields.
pub(super) fn timespec(seconds: i64, fraction: i64) -> Vec<u8> {
    [seconds.to_le_bytes(), fraction.to_le_bytes()].concat()
}

/// A timespec or timeval with 32-bit fields.
pub(super) fn timespec32(seconds: i32, fraction: i32) -> Vec<u8> {
    [seconds.to_le_bytes(), fraction.to_le_bytes()].concat()
}
