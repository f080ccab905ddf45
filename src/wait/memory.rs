/// The memory of the task whose call is decoded.
pub trait Memory {
    /// Reads `length` bytes at `address`.
    ///
    /// # Errors
    /// [`MemoryError`] when the kernel refuses, or nothing is mapped there.
    fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>, MemoryError>;

    /// Reads the string at `address`, without its NUL.
    ///
    /// # Errors
    /// As [`Memory::read`], and where there is no NUL within `longest` bytes.
    fn string(&mut self, address: u64, longest: usize) -> Result<Vec<u8>, MemoryError> {
        let read = |address, length| self.read(address, length);
        string(address, longest, read)?.ok_or(MemoryError)
    }
}

/// Most strings end within this, and a read that stays short does not run off the mapping.
const CHUNK: usize = 256;
/// The smallest page of these architectures: what is readable ends at a multiple of it.
const PAGE: u64 = 4096;

/// A string by reads of its memory, up to its NUL and never over the edge of a page in one go: the
/// next may not be mapped. `None` where there is no NUL within `longest` bytes.
pub(crate) fn string<E>(
    mut address: u64,
    longest: usize,
    mut read: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<Option<Vec<u8>>, E> {
    let mut string = Vec::new();
    while string.len() < longest {
        let rest_of_page = usize::try_from(PAGE - address % PAGE).unwrap_or(CHUNK);
        let length = CHUNK.min(rest_of_page).min(longest - string.len());
        let chunk = read(address, length)?;
        if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
            string.extend(&chunk[..end]);
            return Ok(Some(string));
        }
        let next = address.checked_add(length as u64);
        let (true, Some(next)) = (chunk.len() == length, next) else { return Ok(None) };
        string.extend(chunk);
        address = next;
    }
    Ok(None)
}

/// A task's memory could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the task's memory cannot be read")]
pub struct MemoryError;
