//! The live kernel's sources, asked about real programs in known states.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use awaitty::observe::{
    Kernel, Live, Modes, NetTable, ReadError, TaskFile, TaskId, TtyAccess, TtyId, TtyReady,
};
use awaitty::proc::{Schedstat, Stat, Status, Syscall, fdinfo, locks, maps, net, sched};
use awaitty::sys::tty;
use awaitty::wait::{Arch, Registers};
use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, unlockpt};
use nix::unistd::write;

/// A program that is killed and reaped when the test is done with it.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }

    fn task(&self) -> TaskId {
        let pid = self.0.id().cast_signed();
        TaskId { pid, tid: pid }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct Terminal {
    master: PtyMaster,
    slave: OwnedFd,
}

impl Terminal {
    fn open() -> Terminal {
        let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = tty::open_peer(&master, OFlag::O_RDWR).unwrap();
        Terminal { master, slave }
    }

    fn stdio(&self) -> Stdio {
        Stdio::from(self.slave.try_clone().unwrap())
    }

    fn id(&self) -> TtyId {
        let slave = std::fs::File::from(self.slave.try_clone().unwrap());
        let stat = slave.metadata().unwrap();
        TtyId { dev: stat.dev(), rdev: stat.rdev() }
    }

    fn master(&self) -> TtyAccess {
        TtyAccess::Master(self.master.as_raw_fd())
    }

    /// Waits for a character of output: what the program does just before it blocks.
    fn read(&self) -> u8 {
        let mut byte = [0];
        assert_eq!(nix::unistd::read(&self.master, &mut byte), Ok(1));
        byte[0]
    }
}

/// Asks until the task sleeps in a call; nothing in a test can know that otherwise.
fn blocked(kernel: &mut Live, task: TaskId) -> Registers {
    loop {
        let text = kernel.task_file(task, TaskFile::Syscall).unwrap();
        if let Some(Syscall::Call(registers)) = Syscall::parse(&text) {
            return registers;
        }
        std::thread::yield_now();
    }
}

fn shell_that_reads(terminal: &Terminal) -> Running {
    Running::start(
        Command::new("sh")
            .args(["-c", "printf .; read x"])
            .stdin(terminal.stdio())
            .stdout(terminal.stdio())
            .stderr(terminal.stdio()),
    )
}

#[test]
fn a_shell_that_reads_its_terminal() {
    let terminal = Terminal::open();
    let shell = shell_that_reads(&terminal);
    let (mut kernel, task) = (Live::new(), shell.task());
    assert_eq!(terminal.read(), b'.');
    let registers = blocked(&mut kernel, task);
    assert_eq!(registers.args[0], 0, "read(0, …)");
    assert_eq!(kernel.arch(task.pid), Ok(Arch::NATIVE));
    assert_eq!(kernel.threads(task.pid), Ok(vec![task.tid]));
    assert!(kernel.processes().unwrap().contains(&task.pid));

    let text = kernel.task_file(task, TaskFile::Stat).unwrap();
    let stat = Stat::parse(&text).unwrap();
    assert_eq!((&*stat.comm, stat.state, stat.threads), ("sh", b'S', 1));
    assert_eq!(stat.ppid, std::process::id().cast_signed());
    let text = kernel.task_file(task, TaskFile::Schedstat).unwrap();
    assert!(Schedstat::parse(&text).unwrap().counts());
    let text = kernel.task_file(task, TaskFile::Status).unwrap();
    assert_eq!(Status::parse(&text).unwrap().tracer, 0);
    let text = kernel.task_file(task, TaskFile::Sched).unwrap();
    assert!(sched::exec_start(&text).unwrap() <= kernel.now());
    assert_eq!(kernel.task_file(task, TaskFile::Children).unwrap(), "");
    assert!(kernel.task_file(task, TaskFile::Cmdline).unwrap().starts_with("sh\0-c\0"));
    assert_ne!(kernel.task_file(task, TaskFile::Wchan).unwrap(), "");

    let buffer = kernel.memory(task, registers.args[1], 4).unwrap();
    assert!(buffer.len() <= 4);
    let text = kernel.task_file(task, TaskFile::Maps).unwrap();
    assert_eq!(maps::at(&text, registers.args[1]).map(|mapping| mapping.shared), Some(false));
    assert_eq!(kernel.memory(task, 8, 4), Err(ReadError::Errno(nix::libc::EFAULT)));
    assert!(kernel.memory(task, registers.args[1], usize::MAX).is_err());
}

#[test]
fn its_terminal() {
    let terminal = Terminal::open();
    let shell = shell_that_reads(&terminal);
    let (mut kernel, task, id) = (Live::new(), shell.task(), terminal.id());
    assert_eq!(terminal.read(), b'.');
    blocked(&mut kernel, task);

    assert!(kernel.fds(task.pid).unwrap().contains(&0));
    let stat = kernel.fd_stat(task.pid, 0).unwrap();
    assert_eq!(TtyId { dev: stat.dev, rdev: stat.rdev }, id);
    assert!(kernel.fd_link(task.pid, 0).unwrap().starts_with("/dev/pts/"));
    assert_eq!(kernel.fd_link(task.pid, 77), Err(ReadError::Gone));
    assert_eq!(kernel.fdinfo(task.pid, 77), Err(ReadError::Gone));

    let through = TtyAccess::Process { pid: task.pid, fd: 0, id };
    let modes = Some(Modes { canonical: true, echo: true, signals: true, read_timeout: None });
    let quiet = TtyReady { readable: false, writable: true, undrained: Some(false) };
    for access in [terminal.master(), through] {
        assert_eq!(kernel.terminal(access).unwrap().modes, modes);
        let ready = kernel.tty_ready(access).unwrap();
        assert_eq!(TtyReady { undrained: Some(false), ..ready }, quiet);
    }
    assert_eq!(kernel.tty_ready(terminal.master()), Ok(quiet));
    let other = TtyId { rdev: id.rdev + 1, ..id };
    let elsewhere = TtyAccess::Process { pid: task.pid, fd: 0, id: other };
    assert_eq!(kernel.tty_ready(elsewhere), Err(ReadError::Gone));
    assert_eq!(kernel.tty_ready(TtyAccess::Master(-1)), Err(ReadError::Gone));

    let own = std::process::id().cast_signed();
    let master = terminal.master.as_raw_fd();
    assert_eq!(kernel.master_readable(own, master), Ok(false));
    // No newline: the shell goes on reading, and the master gets the echo.
    write(&terminal.master, b"y").unwrap();
    assert!(!kernel.tty_ready(through).unwrap().readable);
    assert_eq!(kernel.master_readable(own, master), Ok(true));
    let index = fdinfo::tty_index(&kernel.fdinfo(own, master).unwrap()).unwrap();
    assert_eq!(nix::libc::makedev(136, index), id.rdev);
}

#[test]
fn a_process_that_ends_is_gone_from_every_source() {
    let mut kernel = Live::new();
    let shell = Running::start(Command::new("cat").stdin(Stdio::piped()));
    let task = shell.task();
    blocked(&mut kernel, task);
    drop(shell);
    for file in [TaskFile::Syscall, TaskFile::Stat, TaskFile::Status, TaskFile::Maps] {
        for _again in 0..2 {
            assert_eq!(kernel.task_file(task, file), Err(ReadError::Gone), "{file:?}");
        }
    }
    assert_eq!(kernel.threads(task.pid), Err(ReadError::Gone));
    assert_eq!(kernel.fds(task.pid), Err(ReadError::Gone));
    assert_eq!(kernel.fd_stat(task.pid, 0), Err(ReadError::Gone));
    assert_eq!(kernel.arch(task.pid), Err(ReadError::Gone));
    assert_eq!(kernel.memory(task, 4096, 1), Err(ReadError::Gone));
    assert_eq!(kernel.net_table(task.pid, NetTable::Tcp), Err(ReadError::Gone));
    assert_eq!(kernel.net_namespace(task.pid), Err(ReadError::Gone));
    assert_eq!(kernel.unix_socket(task.pid, 1), Err(ReadError::Gone));
    let nowhere = "127.0.0.1:1".parse().unwrap();
    assert_eq!(kernel.tcp_connection(task.pid, nowhere, nowhere), Err(ReadError::Gone));
    assert_eq!(kernel.master_readable(task.pid, 0), Err(ReadError::Gone));
}

#[test]
fn a_zombie_and_a_kernel_thread() {
    let mut kernel = Live::new();
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id().cast_signed();
    let task = TaskId { pid, tid: pid };
    let flags = nix::sys::wait::WaitPidFlag::WEXITED | nix::sys::wait::WaitPidFlag::WNOWAIT;
    nix::sys::wait::waitid(nix::sys::wait::Id::Pid(nix::unistd::Pid::from_raw(pid)), flags)
        .unwrap();
    let text = kernel.task_file(task, TaskFile::Stat).unwrap();
    assert_eq!(Stat::parse(&text).unwrap().state, b'Z');
    assert_eq!(kernel.arch(pid), Err(ReadError::Unsupported));
    child.wait().unwrap();

    let kthreadd = TaskId { pid: 2, tid: 2 };
    if let Ok(text) = kernel.task_file(kthreadd, TaskFile::Stat)
        && Stat::parse(&text).unwrap().kernel_thread
        && let Ok(text) = kernel.task_file(kthreadd, TaskFile::Syscall)
    {
        assert_eq!(Syscall::parse(&text), Some(Syscall::KernelThread));
        assert_eq!(kernel.arch(2), Err(ReadError::Unsupported));
    }
}

#[test]
fn sockets_and_locks() {
    let mut kernel = Live::new();
    let own = std::process::id().cast_signed();
    let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let one = kernel.fd_stat(own, one.as_raw_fd()).unwrap();
    let peer = kernel.fd_stat(own, other.as_raw_fd()).unwrap();
    assert_eq!(kernel.unix_socket(own, one.ino).unwrap().peer, peer.ino);

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ino = kernel.fd_stat(own, listener.as_raw_fd()).unwrap().ino;
    let table = kernel.net_table(own, NetTable::Tcp).unwrap();
    let row = net::rows(&table).find(|row| row.ino == ino).unwrap();
    assert_eq!((row.local, row.state), (listener.local_addr().unwrap(), net::LISTEN));

    let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let (local, remote) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
    far.write_all(b"four").unwrap();
    near.peek(&mut [0; 4]).unwrap();
    let end = kernel.tcp_connection(own, local, remote).unwrap();
    let ino = kernel.fd_stat(own, near.as_raw_fd()).unwrap().ino;
    assert_eq!((end.ino, end.rx_queue, end.tx_queue), (ino, 4, 0));

    let path = std::env::temp_dir().join(format!("awaitty-lock-{own}"));
    let file = std::fs::File::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.lock().unwrap();
    let stat = kernel.fd_stat(own, file.as_raw_fd()).unwrap();
    assert_eq!((stat.read, stat.write), (false, true));
    let table = kernel.locks().unwrap();
    let lock = locks::locks(&table).find(|lock| (lock.dev, lock.ino) == (stat.dev, stat.ino));
    assert_eq!(lock.map(|lock| (lock.pid, lock.blocked)), Some((Some(own), false)));
}

#[test]
fn sockets_of_another_network_namespace_are_not_asked_for() {
    let mut kernel = Live::new();
    let mut cat = Command::new("unshare");
    cat.args(["--user", "--map-root-user", "--net", "cat"]);
    let mut cat = Running::start(cat.stdin(Stdio::piped()).stdout(Stdio::piped()));
    // The pipe breaks where namespaces are not to be had.
    let _ = cat.0.stdin.as_mut().unwrap().write_all(b"ready\n");
    let mut line = String::new();
    BufReader::new(cat.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        eprintln!("SKIPPED: no network namespace of one's own here");
        assert!(std::env::var_os("CI").is_none(), "a skip is an error in CI");
        return;
    }
    let pid = cat.task().pid;
    let own = std::process::id().cast_signed();
    assert_ne!(kernel.net_namespace(pid).unwrap(), kernel.net_namespace(own).unwrap());
    let nowhere = "127.0.0.1:1".parse().unwrap();
    assert_eq!(kernel.tcp_connection(pid, nowhere, nowhere), Err(ReadError::Unsupported));
    assert_eq!(kernel.unix_socket(pid, 1), Err(ReadError::Unsupported));
}

#[test]
fn epoll_sets_show_what_they_watch() {
    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
    let mut kernel = Live::new();
    let own = std::process::id().cast_signed();
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    epoll.add(&reader, EpollEvent::new(EpollFlags::EPOLLIN, 1)).unwrap();
    let text = kernel.fdinfo(own, epoll.0.as_fd().as_raw_fd()).unwrap();
    let entries: Vec<_> = fdinfo::epoll_entries(&text).collect();
    let pipe = kernel.fd_stat(own, reader.as_raw_fd()).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (entries[0].fd, entries[0].dev, entries[0].ino),
        (reader.as_raw_fd(), pipe.dev, pipe.ino)
    );
}

#[test]
fn more_tasks_than_are_kept() {
    let mut kernel = Live::with_kept_tasks(2);
    let mut cats: Vec<Running> = (0..4)
        .map(|_| Running::start(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped())))
        .collect();
    for cat in &mut cats {
        cat.0.stdin.as_mut().unwrap().write_all(b"ready\n").unwrap();
        let mut line = String::new();
        let output = cat.0.stdout.as_mut().unwrap();
        BufReader::new(output.by_ref()).read_line(&mut line).unwrap();
    }
    for _round in 0..3 {
        for cat in &cats {
            assert_eq!(blocked(&mut kernel, cat.task()).args[0], 0);
        }
    }
}
