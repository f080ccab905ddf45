//! Reads of the files that every look asks for, through descriptors that stay open: pread(2) on
//! one costs a quarter of open, read and close.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::Mode;
use nix::sys::uio::pread;

/// The files of `/proc/PID/task/TID` worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// `syscall`
    Syscall,
    /// `stat`
    Stat,
    /// `schedstat`
    Schedstat,
    /// `children`
    Children,
}

impl Kept {
    const COUNT: usize = 4;

    fn name(self) -> &'static str {
        match self {
            Kept::Syscall => "syscall",
            Kept::Stat => "stat",
            Kept::Schedstat => "schedstat",
            Kept::Children => "children",
        }
    }
}

/// Keeps the files of the tasks that were read last.
///
/// A kept descriptor stays with the task that it was opened for: when that has ended and its number
/// is another's, reads fail with `ESRCH`, and the descriptor is dropped.
#[derive(Debug)]
pub struct Reader {
    tasks: HashMap<(i32, i32), Files>,
    most_tasks: usize,
    most_files: usize,
    open: usize,
    reads: u64,
}

#[derive(Debug, Default)]
struct Files {
    files: [Option<OwnedFd>; Kept::COUNT],
    last_read: u64,
}

impl Files {
    fn open(&self) -> usize {
        self.files.iter().flatten().count()
    }
}

impl Reader {
    /// Keeps files of at most `most_tasks` tasks, and never more than a quarter of the descriptors
    /// that this process may have.
    #[must_use]
    pub fn new(most_tasks: usize) -> Reader {
        let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _hard)| soft / 4);
        let most_files = usize::try_from(limit).unwrap_or(usize::MAX);
        Reader { tasks: HashMap::new(), most_tasks, most_files, open: 0, reads: 0 }
    }

    /// Replaces what is in `buffer` by the file's content.
    ///
    /// # Errors
    /// `ENOENT` and `ESRCH` when the task is gone, or the kernel has no such file; `EACCES` and
    /// `EPERM` without permission.
    pub fn read(
        &mut self,
        pid: i32,
        tid: i32,
        file: Kept,
        buffer: &mut Vec<u8>,
    ) -> nix::Result<()> {
        self.reads += 1;
        let task = (pid, tid);
        if let Some(files) = self.tasks.get_mut(&task) {
            files.last_read = self.reads;
            if let Some(fd) = &files.files[file as usize] {
                let answer = content(fd, file, buffer);
                if answer.is_err() {
                    self.forget(task);
                }
                return answer;
            }
        }
        let path = format!("/proc/{pid}/task/{tid}/{}", file.name());
        let fd = match open_file(&path) {
            Err(Errno::EMFILE | Errno::ENFILE) => {
                self.forget_all();
                open_file(&path)
            }
            answer => answer,
        }?;
        content(&fd, file, buffer)?;
        self.keep(task, file, fd);
        Ok(())
    }

    /// How many descriptors are open.
    #[must_use]
    pub fn open_files(&self) -> usize {
        self.open
    }

    fn keep(&mut self, task: (i32, i32), file: Kept, fd: OwnedFd) {
        while self.open >= self.most_files
            || (self.tasks.len() >= self.most_tasks && !self.tasks.contains_key(&task))
        {
            let Some(oldest) = self.least_recently_read() else { return };
            self.forget(oldest);
        }
        let files = self.tasks.entry(task).or_default();
        files.last_read = self.reads;
        files.files[file as usize] = Some(fd);
        self.open += 1;
    }

    /// A scan: it runs only when a new task comes in at the limit, and beside an open(2).
    fn least_recently_read(&self) -> Option<(i32, i32)> {
        self.tasks.iter().min_by_key(|(_, files)| files.last_read).map(|(task, _)| *task)
    }

    fn forget(&mut self, task: (i32, i32)) {
        self.open -= self.tasks.remove(&task).map_or(0, |files| files.open());
    }

    fn forget_all(&mut self) {
        self.tasks.clear();
        self.open = 0;
    }
}

/// The content of a whole file of `/proc`.
///
/// # Errors
/// As open(2) and read(2).
pub fn whole(path: &str, buffer: &mut Vec<u8>) -> nix::Result<()> {
    read_from_start(&open_file(path)?, false, buffer)
}

fn open_file(path: &str) -> nix::Result<OwnedFd> {
    open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
}

fn content(fd: &OwnedFd, file: Kept, buffer: &mut Vec<u8>) -> nix::Result<()> {
    read_from_start(fd, file != Kept::Children, buffer)
}

/// Reads up to the end, or, of a file that the kernel prints in one piece (`single_open()`), up to
/// the first short read: that saves a system call.
fn read_from_start(fd: &OwnedFd, one_piece: bool, buffer: &mut Vec<u8>) -> nix::Result<()> {
    const STEP: usize = 4096;
    let mut length = 0;
    loop {
        if buffer.len() < length + STEP {
            buffer.resize((length + STEP).max(2 * length), 0);
        }
        let offset = libc::off_t::try_from(length).map_err(|_| Errno::EFBIG)?;
        match pread(fd, &mut buffer[length..], offset) {
            Ok(0) => break,
            Ok(count) => {
                length += count;
                if one_piece && length < buffer.len() {
                    break;
                }
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    buffer.truncate(length);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_task_that_ended_is_dropped() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id().cast_signed();
        let mut reader = Reader::new(8);
        let mut buffer = Vec::new();
        reader.read(pid, pid, Kept::Stat, &mut buffer).unwrap();
        reader.read(pid, pid, Kept::Children, &mut buffer).unwrap();
        assert_eq!((reader.open_files(), buffer.len()), (2, 0));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(reader.read(pid, pid, Kept::Stat, &mut buffer), Err(Errno::ESRCH));
        assert_eq!(reader.open_files(), 0);
        assert_eq!(reader.read(pid, pid, Kept::Stat, &mut buffer), Err(Errno::ENOENT));
    }

    #[test]
    fn the_task_read_longest_ago_makes_room() {
        let mut reader = Reader { most_files: 3, ..Reader::new(2) };
        let mut buffer = Vec::new();
        let own = std::process::id().cast_signed();
        for (pid, file) in [(own, Kept::Stat), (1, Kept::Stat), (1, Kept::Schedstat)] {
            reader.read(pid, pid, file, &mut buffer).unwrap();
        }
        assert_eq!(reader.open_files(), 3);
        reader.read(own, own, Kept::Schedstat, &mut buffer).unwrap();
        assert_eq!(reader.tasks.keys().collect::<Vec<_>>(), [&(own, own)]);
        assert_eq!(reader.open_files(), 2);
    }

    #[test]
    fn without_room_it_still_reads() {
        let mut reader = Reader { most_files: 0, ..Reader::new(2) };
        let mut buffer = Vec::new();
        let own = std::process::id().cast_signed();
        reader.read(own, own, Kept::Stat, &mut buffer).unwrap();
        assert!(!buffer.is_empty());
        assert_eq!(reader.open_files(), 0);
    }

    #[test]
    fn large_files_come_whole() {
        let mut buffer = Vec::new();
        whole("/proc/self/maps", &mut buffer).unwrap();
        assert_eq!(buffer.last(), Some(&b'\n'));
    }
}
