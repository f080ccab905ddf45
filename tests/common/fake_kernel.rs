//! A kernel that never was: processes from a table, and changes that happen at a moment of a look
//! which no machine could be made to hit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

use awaitty::observe::{
    FdStat, FileId, Instant, Kernel, Modes, NetTable, Outer, Pid, ReadError, Root, Scope, TaskFile,
    TaskId, TcpConnection, TtyAccess, TtyId, TtyReady, TtyState, UnixSocket,
};
use awaitty::wait::Arch;
use nix::libc::{S_IFCHR, S_IFIFO};
use nix::sys::stat::makedev;

/// The terminal that everything here sits on.
pub(crate) fn tty() -> TtyId {
    TtyId { dev: 24, rdev: makedev(136, 3) }
}

/// The terminal's job, with a way to its master.
pub(crate) fn scope(leader: Pid) -> Scope {
    let access = Some(TtyAccess::Master(9));
    let terminal = Outer { id: tty(), name: "/dev/pts/3".to_owned(), access };
    Scope { root: Root::Session(leader), terminal: Some(terminal) }
}

/// What `/proc/PID/task/TID` shows of a thread.
#[derive(Debug, Clone)]
pub(crate) struct FakeTask {
    pub(crate) letter: char,
    pub(crate) syscall: Result<String, ReadError>,
    /// The third field of `schedstat`; 0: this kernel does not count.
    pub(crate) runs: u64,
    /// The context switches of `status`.
    pub(crate) switches: u64,
}

impl FakeTask {
    /// Asleep in the call of this number (x86_64), the other arguments being zero.
    pub(crate) fn asleep(nr: u64, first: u64) -> FakeTask {
        let syscall = Ok(format!("{nr} {first:#x} 0x7f00 0x0 0x0 0x0 0x0 0x7ffd0000 0x7f21\n"));
        FakeTask { letter: 'S', syscall, runs: 7, switches: 7 }
    }

    /// Ended, not reaped.
    pub(crate) fn zombie() -> FakeTask {
        FakeTask { letter: 'Z', syscall: Ok("-1 0x0 0x0\n".into()), runs: 7, switches: 7 }
    }

    /// Back asleep as before, but it was on a CPU meanwhile.
    pub(crate) fn ran(&mut self) {
        self.runs += 1;
        self.switches += 1;
    }
}

/// One process.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeProcess {
    pub(crate) ppid: Pid,
    pub(crate) group: Pid,
    pub(crate) children: Vec<Pid>,
    pub(crate) threads: BTreeMap<Pid, FakeTask>,
    pub(crate) fds: BTreeMap<RawFd, FdStat>,
}

/// What of the kernel's state a change may reach.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) processes: BTreeMap<Pid, FakeProcess>,
    pub(crate) foreground: Pid,
    pub(crate) modes: Option<Modes>,
    pub(crate) readable: bool,
}

impl Machine {
    /// Adds a process with one thread; its parent learns of it.
    pub(crate) fn start(&mut self, pid: Pid, ppid: Pid, group: Pid, task: FakeTask) {
        let fds = (0..3).map(|fd| (fd, terminal())).collect();
        let threads = BTreeMap::from([(pid, task)]);
        let process = FakeProcess { ppid, group, children: Vec::new(), threads, fds };
        self.processes.insert(pid, process);
        if let Some(parent) = self.processes.get_mut(&ppid) {
            parent.children.push(pid);
        }
    }

    /// Takes a process away as if it had been reaped.
    pub(crate) fn reap(&mut self, pid: Pid) {
        self.processes.remove(&pid);
        self.processes.values_mut().for_each(|process| process.children.retain(|it| *it != pid));
    }

    /// The main thread of a process.
    pub(crate) fn task(&mut self, pid: Pid) -> &mut FakeTask {
        self.processes.get_mut(&pid).unwrap().threads.get_mut(&pid).unwrap()
    }
}

/// A descriptor of the terminal.
pub(crate) fn terminal() -> FdStat {
    let tty = tty();
    FdStat { mode: S_IFCHR | 0o620, dev: tty.dev, ino: 6, rdev: tty.rdev, read: true, write: true }
}

/// One end of a pipe.
pub(crate) fn pipe(ino: u64, write: bool) -> FdStat {
    FdStat { mode: S_IFIFO | 0o600, dev: 14, ino, rdev: 0, read: !write, write }
}

/// A moment of a look: when the answer to this question has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A file of a process's main thread was read.
    Read(Pid, TaskFile),
    /// The terminal was asked for typed input, which lies between the passes.
    BetweenPasses,
}

type Change = Box<dyn FnOnce(&mut Machine)>;

/// The machine, the clock, and what is going to happen.
#[derive(Default)]
pub(crate) struct FakeKernel {
    pub(crate) machine: Machine,
    pub(crate) clock: Instant,
    /// What was read so far.
    pub(crate) reads: Vec<(TaskId, TaskFile)>,
    changes: Vec<(Moment, Change)>,
}

impl FakeKernel {
    /// A terminal in cooked mode with this process group in front.
    pub(crate) fn new(foreground: Pid) -> FakeKernel {
        let cooked = Modes { canonical: true, echo: true, signals: true, read_timeout: None };
        let machine = Machine { foreground, modes: Some(cooked), ..Machine::default() };
        FakeKernel { machine, clock: Duration::from_secs(100), ..FakeKernel::default() }
    }

    /// Lets something happen at a moment, once.
    pub(crate) fn at(&mut self, moment: Moment, change: impl FnOnce(&mut Machine) + 'static) {
        self.changes.push((moment, Box::new(change)));
    }

    fn reached(&mut self, moment: Moment) {
        if let Some(at) = self.changes.iter().position(|(when, _)| *when == moment) {
            let (_, change) = self.changes.remove(at);
            change(&mut self.machine);
        }
    }

    fn process(&self, pid: Pid) -> Result<&FakeProcess, ReadError> {
        self.machine.processes.get(&pid).ok_or(ReadError::Gone)
    }

    fn text(&self, id: TaskId, file: TaskFile) -> Result<String, ReadError> {
        let process = self.process(id.pid)?;
        let task = process.threads.get(&id.tid).ok_or(ReadError::Gone)?;
        let TaskId { pid, tid } = id;
        Ok(match file {
            TaskFile::Stat => {
                let FakeProcess { ppid, group, threads, .. } = process;
                let (letter, rdev, front) = (task.letter, tty().rdev, self.machine.foreground);
                let (zeros, count) = ("0 ".repeat(10), threads.len());
                format!(
                    "{tid} (fake) {letter} {ppid} {group} 10 {rdev} {front} 0 {zeros}{count} 0 {pid} 0 0\n"
                )
            }
            TaskFile::Schedstat => format!("{} 0 {}\n", task.runs * 1000, task.runs),
            TaskFile::Status => format!(
                "TracerPid:\t0\nUid:\t0\t0\t0\t0\nSigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\nSigIgn:\t0\n\
                 SigCgt:\t0\nvoluntary_ctxt_switches:\t{}\n",
                task.switches
            ),
            TaskFile::Syscall => task.syscall.clone()?,
            TaskFile::Children if tid == pid => {
                process.children.iter().map(|child| format!("{child} ")).collect()
            }
            TaskFile::Children => String::new(),
            _ => return Err(ReadError::Unsupported),
        })
    }
}

impl Kernel for FakeKernel {
    fn now(&mut self) -> Instant {
        self.clock += Duration::from_micros(1);
        self.clock
    }

    fn processes(&mut self) -> Result<Vec<Pid>, ReadError> {
        Ok(self.machine.processes.keys().copied().collect())
    }

    fn threads(&mut self, pid: Pid) -> Result<Vec<Pid>, ReadError> {
        Ok(self.process(pid)?.threads.keys().copied().collect())
    }

    fn task_file(&mut self, task: TaskId, file: TaskFile) -> Result<String, ReadError> {
        let text = self.text(task, file);
        self.reads.push((task, file));
        if task.pid == task.tid {
            self.reached(Moment::Read(task.pid, file));
        }
        text
    }

    fn arch(&mut self, _: Pid) -> Result<Arch, ReadError> {
        Ok(Arch::X86_64)
    }

    fn fds(&mut self, pid: Pid) -> Result<Vec<RawFd>, ReadError> {
        Ok(self.process(pid)?.fds.keys().copied().collect())
    }

    fn fd_stat(&mut self, pid: Pid, fd: RawFd) -> Result<FdStat, ReadError> {
        self.process(pid)?.fds.get(&fd).copied().ok_or(ReadError::Gone)
    }

    fn fd_link(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        let stat = self.fd_stat(pid, fd)?;
        Ok(if stat.rdev == 0 { format!("pipe:[{}]", stat.ino) } else { "/dev/pts/3".to_owned() })
    }

    fn fdinfo(&mut self, _: Pid, _: RawFd) -> Result<String, ReadError> {
        Ok("pos:\t0\nflags:\t02\n".to_owned())
    }

    fn memory(&mut self, _: TaskId, _: u64, _: usize) -> Result<Vec<u8>, ReadError> {
        Err(ReadError::Denied)
    }

    fn path_stat(&mut self, _: Pid, _: RawFd, _: &str) -> Result<FdStat, ReadError> {
        Err(ReadError::Gone)
    }

    fn locks(&mut self) -> Result<String, ReadError> {
        Ok(String::new())
    }

    fn net_table(&mut self, _: Pid, _: NetTable) -> Result<String, ReadError> {
        Ok(String::new())
    }

    fn net_namespace(&mut self, _: Pid) -> Result<FileId, ReadError> {
        Err(ReadError::Unsupported)
    }

    fn tcp_connection(
        &mut self,
        _: Pid,
        _: SocketAddr,
        _: SocketAddr,
    ) -> Result<TcpConnection, ReadError> {
        Err(ReadError::Unsupported)
    }

    fn unix_socket(&mut self, _: Pid, _: u64) -> Result<UnixSocket, ReadError> {
        Err(ReadError::Gone)
    }

    fn terminal(&mut self, _: TtyAccess) -> Result<TtyState, ReadError> {
        let Machine { modes, foreground, .. } = self.machine;
        Ok(TtyState { modes, foreground: Some(foreground) })
    }

    fn tty_ready(&mut self, _: TtyAccess) -> Result<TtyReady, ReadError> {
        let readable = self.machine.readable;
        self.reached(Moment::BetweenPasses);
        Ok(TtyReady { readable, writable: true, undrained: Some(false) })
    }

    fn receive_timeout(&mut self, _: Pid, _: RawFd) -> Result<Option<Duration>, ReadError> {
        Ok(None)
    }

    fn master_readable(&mut self, _: Pid, _: RawFd) -> Result<bool, ReadError> {
        Ok(false)
    }
}
