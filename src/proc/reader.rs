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
    /// `status`
    Status,
    /// `wchan`
    Wchan,
}

impl Kept {
    const COUNT: usize = 6;

    fn name(self) -> &'static str {
        match self {
            Kept::Syscall => "syscall",
            Kept::Stat => "stat",
            Kept::Schedstat => "schedstat",
            Kept::Children => "children",
            Kept::Status => "status",
            Kept::Wchan => "wchan",
        }
    }

    fn printed(self) -> Printed {
        match self {
            // A PID and a blank.
            Kept::Children => Printed::Records(16),
            _ => Printed::AtOnce,
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

    /// The file's content, in `buffer`.
    ///
    /// # Errors
    /// `ENOENT` and `ESRCH` when the task is gone, or the kernel has no such file; `EACCES` and
    /// `EPERM` without permission.
    pub fn read<'b>(
        &mut self,
        pid: i32,
        tid: i32,
        file: Kept,
        buffer: &'b mut Vec<u8>,
    ) -> nix::Result<&'b [u8]> {
        self.reads += 1;
        let task = (pid, tid);
        if let Some(files) = self.tasks.get_mut(&task) {
            files.last_read = self.reads;
            if let Some(fd) = &files.files[file as usize] {
                let answer = read_from_start(fd, file.printed(), buffer);
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
        let content = read_from_start(&fd, file.printed(), buffer)?;
        self.keep(task, file, fd);
        Ok(content)
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
pub fn whole<'b>(path: &str, buffer: &'b mut Vec<u8>) -> nix::Result<&'b [u8]> {
    read_from_start(&open_file(path)?, Printed::Unknown, buffer)
}

fn open_file(path: &str) -> nix::Result<OwnedFd> {
    open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
}

/// How the kernel prints a file, which tells the last read from one that has more behind it
/// (fs/seq_file.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// In one piece (`single_open()`): a short read is the last.
    AtOnce,
    /// Record by record, as many as fit into a page of the kernel's: a read is the last if another
    /// record of this length would have fitted.
    Records(usize),
    /// Records of any length: an empty read is the last.
    Unknown,
}

/// The least that a page has on any machine, and by how much the buffer grows.
const PAGE: usize = 4096;

impl Printed {
    fn ended(self, count: usize, room: usize) -> bool {
        match self {
            _ if count == 0 => true,
            Printed::AtOnce => count < room,
            Printed::Records(longest) => count < room && count + longest <= PAGE,
            Printed::Unknown => false,
        }
    }
}

/// The buffer only grows: to fill it with zeros for every read would cost more than many a read.
fn read_from_start<'b>(
    fd: &OwnedFd,
    printed: Printed,
    buffer: &'b mut Vec<u8>,
) -> nix::Result<&'b [u8]> {
    let mut length = 0;
    loop {
        if buffer.len() < length + PAGE {
            buffer.resize((length + PAGE).max(2 * length), 0);
        }
        let offset = libc::off_t::try_from(length).map_err(|_| Errno::EFBIG)?;
        let room = buffer.len() - length;
        match pread(fd, &mut buffer[length..], offset) {
            Ok(count) => {
                length += count;
                if printed.ended(count, room) {
                    return Ok(&buffer[..length]);
                }
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
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
        assert_eq!(reader.read(pid, pid, Kept::Children, &mut buffer), Ok(&[][..]));
        assert_eq!(reader.open_files(), 2);
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
        assert!(!reader.read(own, own, Kept::Stat, &mut buffer).unwrap().is_empty());
        assert_eq!(reader.open_files(), 0);
    }

    #[test]
    fn large_files_come_whole() {
        let mut buffer = Vec::new();
        let maps = whole("/proc/self/maps", &mut buffer).unwrap();
        assert!(maps.len() > PAGE);
        assert_eq!(maps.last(), Some(&b'\n'));
    }

    #[test]
    fn what_was_read_before_is_not_read_again() {
        let mut buffer = vec![b'x'; 3 * PAGE];
        let comm = whole("/proc/self/comm", &mut buffer).unwrap();
        assert!(!comm.contains(&b'x'), "{comm:?}");
    }

    #[test]
    fn a_list_is_at_its_end_where_another_record_would_have_fitted() {
        let records = Printed::Records(16);
        assert!(records.ended(PAGE - 16, 2 * PAGE));
        assert!(!records.ended(PAGE - 15, 2 * PAGE));
        assert!(!records.ended(10, 10));
        assert!(records.ended(0, 10));
        assert!(!Printed::Unknown.ended(10, PAGE));
    }
}
