//! The least of an io_uring that can wait: one submission, one completion.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::c_void;
use nix::sys::mman::{self, MapFlags, ProtFlags};

// linux/io_uring.h
const OP_POLL_ADD: u8 = 6;
const OP_READ: u8 = 22;
const ENTER_GETEVENTS: u32 = 1;
const OFFSET_SQ_RING: i64 = 0;
const OFFSET_SQES: i64 = 0x1000_0000;

#[repr(C)]
#[derive(Default)]
struct SqOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    user_addr: u64,
}

#[repr(C)]
#[derive(Default)]
struct Params {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    sq_off: SqOffsets,
    cq_off: [u64; 5],
}

#[repr(C)]
struct Submission {
    opcode: u8,
    flags: u8,
    ioprio: u16,
    fd: i32,
    off: u64,
    addr: u64,
    len: u32,
    op_flags: u32,
    rest: [u64; 4],
}

/// A ring of one entry.
pub(crate) struct Ring {
    fd: OwnedFd,
    sq: NonNull<c_void>,
    sqes: NonNull<c_void>,
    offsets: SqOffsets,
}

// SAFETY: the mappings are the process's, never unmapped, and reached by whoever owns the ring.
unsafe impl Send for Ring {}

impl Ring {
    pub(crate) fn new() -> io::Result<Ring> {
        let mut params = Params::default();
        // SAFETY: `params` has the layout of struct io_uring_params, which the kernel fills.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, &mut params) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        let sq = map(&fd, params.sq_off.array as usize + size_of::<u32>(), OFFSET_SQ_RING)?;
        let sqes = map(&fd, size_of::<Submission>(), OFFSET_SQES)?;
        Ok(Ring { fd, sq, sqes, offsets: params.sq_off })
    }

    /// Submits a read of `from` and sleeps in io_uring_enter(2) until it completes.
    pub(crate) fn read(&self, from: impl AsFd) -> io::Result<()> {
        let fd = from.as_fd().as_raw_fd();
        // Leaked: the kernel may still write to it when the wait was interrupted.
        let buffer = Box::leak(Box::new([0u8; 4096]));
        let (addr, len) = (buffer.as_mut_ptr() as u64, buffer.len() as u32);
        // The offset -1 is the current position, which is what a terminal allows.
        self.enter(OP_READ, fd, addr, len, u64::MAX, 0)
    }

    /// Submits a poll of `on` for reading and sleeps in io_uring_enter(2) until it completes.
    pub(crate) fn poll(&self, on: impl AsFd) -> io::Result<()> {
        self.enter(OP_POLL_ADD, on.as_fd().as_raw_fd(), 0, 0, 0, libc::POLLIN as u32)
    }

    fn enter(
        &self,
        opcode: u8,
        fd: RawFd,
        addr: u64,
        len: u32,
        off: u64,
        op_flags: u32,
    ) -> io::Result<()> {
        let submission =
            Submission { opcode, flags: 0, ioprio: 0, fd, off, addr, len, op_flags, rest: [0; 4] };
        // SAFETY: the mapping holds one entry of this layout (struct io_uring_sqe), and the array
        // of indices one word; the kernel reads neither before the tail is moved.
        unsafe {
            self.sqes.cast::<Submission>().write(submission);
            self.sq.byte_add(self.offsets.array as usize).cast::<u32>().write(0);
        }
        // SAFETY: the kernel's offset of an aligned word that both sides use atomically.
        let tail =
            unsafe { self.sq.byte_add(self.offsets.tail as usize).cast::<AtomicU32>().as_ref() };
        tail.fetch_add(1, Ordering::Release);
        let ring = self.fd.as_raw_fd();
        // SAFETY: one submission, one completion to wait for, no signal mask. `addr` is
        // null or a leaked buffer.
        let done = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, ring, 1, 1, ENTER_GETEVENTS, 0usize, 0usize)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn map(ring: &OwnedFd, length: usize, offset: i64) -> io::Result<NonNull<c_void>> {
    let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
    // SAFETY: a new mapping at an address of the kernel's choice; it is never unmapped.
    Ok(unsafe { mman::mmap(None, length, access, flags, ring, offset) }?)
}
