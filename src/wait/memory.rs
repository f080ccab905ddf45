/// The memory of the task whose call is decoded.
pub trait Memory {
    /// Reads `length` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError`] when the kernel refuses, or nothing is mapped there.
    fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>, MemoryError>;
}

/// A task's memory could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the task's memory cannot be read")]
pub struct MemoryError;
