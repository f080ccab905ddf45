use super::{Arch, Call, Memory, Registers};

/// Decodes.
#[must_use]
pub fn decode(arch: Arch, registers: Registers, memory: &mut dyn Memory) -> Call {
    let _ = (arch, registers, memory);
    Call { name: "?", ends: vec![super::End::Unknown], timeout: super::Timeout::Never }
}
