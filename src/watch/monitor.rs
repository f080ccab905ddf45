//! One thread that watches many terminals: it reads what they print, and looks when it is time.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::EventFd;

use super::WatchError;
use super::handle::{Shared, Watched};
use super::job::{Job, Origin, Own, Pumped, Sight};
use super::orders::{Leash, Order, Orders};
use super::tap::Tap;
use super::target::Target;
use crate::observe::Live;
use crate::pty::{Pty, Screen, Size};
use crate::sys::inotify::{TtyEvent, TtyWatch};
use crate::sys::{clock, epoll, pidfd};

/// Pieces of output that wait for whoever takes them; a piece has at most 4 KiB.
const OUTPUT_PIECES: usize = 64;
/// Tokens of the monitor's own descriptors; a job's are above.
const ORDERS: u64 = 0;
const INOTIFY: u64 = 1;
const FIRST_JOB: u64 = 2;
/// The two descriptors of a job: its master or its end, told apart by the lowest bit.
const END: u64 = 1;
/// How soon a reader that had no room for output is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// Descriptors handled in one turn.
const EVENTS: usize = 64;

/// How to open a terminal.
#[derive(Debug, Default)]
pub struct OpenOptions {
    /// The window.
    pub size: Size,
    /// Keep the output for [`Watched::output`]; otherwise it goes to the screen model only.
    pub output: bool,
    /// The output is shown on a real terminal, which answers the program's queries (cursor position,
    /// device attributes) itself. Otherwise they are answered here.
    pub shown: bool,
    /// What the engine may see.
    pub sight: Sight,
    /// Hears everything: what [`crate::fixture::Recorder`] writes to a file.
    pub tap: Option<Box<dyn Tap>>,
}

/// Watches terminals, all on one thread of its own. The thread ends with the last handle.
///
/// ```
/// use std::process::Command;
/// use std::time::Duration;
/// use awaitty::verdict::Kind;
/// use awaitty::watch::{Monitor, OpenOptions};
///
/// let monitor = Monitor::start()?;
/// let mut command = Command::new("sh");
/// command.args(["-c", "printf 'Continue? [Y/n] '; read answer"]);
/// let terminal = monitor.open(command, OpenOptions::default())?;
/// let verdict = terminal.wait_until(|verdict| verdict.waits_for_input(), Duration::from_secs(30))?;
/// let input = verdict.input().ok_or("it waits for input")?;
/// assert_eq!(input.kind, Kind::Line);
/// assert_eq!(input.prompt.as_deref(), Some("Continue? [Y/n] "));
/// terminal.write(b"y\n")?;
/// terminal.wait_until(|verdict| verdict.has_exited(), Duration::from_secs(30))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Monitor {
    orders: Leash,
    thread: std::thread::JoinHandle<()>,
    next: std::sync::atomic::AtomicU64,
}

impl Monitor {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`WatchError::Monitor`] at the limit of descriptors, [`WatchError::Ended`] at that of threads.
    pub fn start() -> Result<Monitor, WatchError> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let bell = Arc::new(EventFd::new().map_err(WatchError::Monitor)?);
        let orders = Orders { sender, bell: Arc::clone(&bell) };
        let mut watch = Loop::new(receiver, bell).map_err(WatchError::Monitor)?;
        let thread = std::thread::Builder::new()
            .name("awaitty-watch".to_owned())
            .spawn(move || watch.run())
            .map_err(|_| WatchError::Ended)?;
        Ok(Monitor { orders: Leash(orders), thread, next: std::sync::atomic::AtomicU64::new(0) })
    }

    /// Ends every watch and waits until the thread is done: what still ran on the terminals of our own
    /// has been killed when this returns. Dropping the handles comes to the same, but later.
    pub fn shutdown(self) {
        if self.orders.0.send(Order::Shutdown).is_ok() {
            // A thread that panicked is done too.
            let _ = self.thread.join();
        }
    }

    fn next_job(&self) -> u64 {
        self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// Starts `command` on a new terminal and watches it until it ends.
    ///
    /// # Errors
    /// [`WatchError::Spawn`] when it cannot be executed.
    pub fn open(&self, command: Command, options: OpenOptions) -> Result<Watched, WatchError> {
        let pty = Pty::spawn(command, options.size)?;
        let (tty, pid) = (pty.name().to_owned(), pty.pid());
        let (sender, receiver) = crossbeam_channel::bounded(OUTPUT_PIECES);
        let own = Own {
            end: pidfd::open(pid).ok(),
            screen: Screen::new(options.size),
            answers: !options.shown,
            pty,
            input: std::collections::VecDeque::new(),
            output: options.output.then_some(sender),
            held: None,
            hung_up: false,
            listens: EpollFlags::empty(),
            tap: options.tap,
        };
        let shared = Arc::new(Shared::default());
        let job =
            Job::own(own, options.size, options.sight, Arc::clone(&shared), clock::monotonic());
        let output = options.output.then_some(receiver);
        self.add(job, shared, output, Some(tty), pid)
    }

    /// Watches what is there already: a process's terminal, or a terminal by its path.
    ///
    /// # Errors
    /// [`WatchError`], by what was not found.
    pub fn attach(&self, target: &Target, sight: Sight) -> Result<Watched, WatchError> {
        let mut live = Live::new();
        let found = target.find(&mut live)?;
        let pid = found.ends_with;
        let end = pidfd::open(pid).map_err(|errno| match errno {
            Errno::ESRCH => WatchError::NoProcess(pid),
            other => WatchError::Monitor(other),
        })?;
        let tty = found.scope.terminal.as_ref().map(|terminal| terminal.name.clone());
        let shared = Arc::new(Shared::default());
        let origin = Origin::Foreign { ends_with: pid, end, watch: None };
        let job = Job::new(origin, found.scope, sight, Arc::clone(&shared), clock::monotonic());
        self.add(job, shared, None, tty, pid)
    }

    fn add(
        &self,
        job: Job,
        shared: Arc<Shared>,
        output: Option<Receiver<Vec<u8>>>,
        tty: Option<String>,
        pid: i32,
    ) -> Result<Watched, WatchError> {
        let number = self.next_job();
        self.orders.0.send(Order::Add(number, Box::new(job)))?;
        Ok(Watched { job: number, shared, orders: self.orders.0.clone(), output, tty, pid })
    }
}

/// The thread.
struct Loop {
    epoll: Epoll,
    orders: Receiver<Order>,
    bell: Arc<EventFd>,
    inotify: Option<TtyWatch>,
    kernel: Live,
    jobs: BTreeMap<u64, Job>,
    stopping: bool,
    cpu: Duration,
}

/// More terminals need more kept files; [`Live`] bounds them by the limit of descriptors as well.
const KEPT_TASKS: usize = 1024;

impl Loop {
    fn new(orders: Receiver<Order>, bell: Arc<EventFd>) -> nix::Result<Loop> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(bell.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, ORDERS))?;
        // Without inotify (its instances are limited by user) timers alone tell.
        let inotify = TtyWatch::new().ok();
        if let Some(inotify) = &inotify {
            epoll.add(inotify, EpollEvent::new(EpollFlags::EPOLLIN, INOTIFY))?;
        }
        Ok(Loop {
            epoll,
            orders,
            bell,
            inotify,
            kernel: Live::with_kept_tasks(KEPT_TASKS),
            jobs: BTreeMap::new(),
            stopping: false,
            cpu: Duration::ZERO,
        })
    }

    fn run(&mut self) {
        // Waits of 50 µs are not to be rounded up by the default slack of as much again.
        let _ = clock::set_timer_slack(Duration::from_nanos(1));
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            self.look();
            self.jobs.retain(|_, job| !job.over || matches!(job.origin, Origin::Own(_)));
            if self.stopping && self.jobs.is_empty() {
                return;
            }
            let now = clock::monotonic();
            let due =
                self.jobs.values().filter(|job| !job.over).map(|job| job.schedule.due()).min();
            let held = self.deliver_held().then_some(RETRY);
            let timeout = due.map(|due| due.saturating_sub(now)).into_iter().chain(held).min();
            self.cpu = clock::thread_cpu();
            let count = match epoll::wait(&self.epoll, &mut events, timeout) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            for event in &events[..count] {
                self.event(event.data());
            }
        }
    }

    /// Hands on the output that had no room; true if some still has none.
    fn deliver_held(&mut self) -> bool {
        let waiting = |job: &Job| matches!(&job.origin, Origin::Own(own) if own.held.is_some());
        let numbers: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| waiting(job)).map(|(number, _)| *number).collect();
        for &number in &numbers {
            if let Some(Job { origin: Origin::Own(own), schedule, .. }) = self.jobs.get_mut(&number)
            {
                let now = clock::monotonic();
                if own.pump(now) != Pumped::Nothing {
                    schedule.event(now);
                }
            }
            self.listen_for_room(number);
        }
        numbers.iter().any(|number| self.jobs.get(number).is_some_and(waiting))
    }

    /// Looks at every job whose look is due.
    fn look(&mut self) {
        let now = clock::monotonic();
        let Loop { jobs, kernel, cpu, .. } = self;
        for job in jobs.values_mut().filter(|job| !job.over && job.schedule.due() <= now) {
            let mut spent = || {
                let before = std::mem::replace(cpu, clock::thread_cpu());
                cpu.saturating_sub(before)
            };
            job.look(kernel, &mut spent);
        }
    }

    fn event(&mut self, token: u64) {
        let now = clock::monotonic();
        match token {
            ORDERS => {
                // The count says nothing that the channel does not say.
                let _ = self.bell.read();
                while let Ok(order) = self.orders.try_recv() {
                    self.order(order, now);
                }
            }
            INOTIFY => self.terminals_used(now),
            token => self.job_event((token - FIRST_JOB) >> 1, token & END == END, now),
        }
    }

    fn job_event(&mut self, number: u64, end: bool, now: Duration) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        if end {
            job.schedule.event(now);
            // A pidfd stays readable: it has said all that it ever will.
            match &job.origin {
                Origin::Own(own) => own.end.as_ref().map(|end| self.epoll.delete(end)),
                Origin::Foreign { end, .. } => Some(self.epoll.delete(end)),
            };
        } else if let Origin::Own(own) = &mut job.origin
            && own.pump(now) != Pumped::Nothing
        {
            job.schedule.event(now);
        }
        self.listen_for_room(number);
    }

    fn order(&mut self, order: Order, now: Duration) {
        match order {
            Order::Add(number, job) => self.add(number, *job),
            Order::Drop(number) => {
                if let Some(job) = self.jobs.remove(&number) {
                    self.leave(&job);
                }
            }
            Order::Write(number, bytes) => {
                if let Some(job) = self.jobs.get_mut(&number) {
                    if let Origin::Own(own) = &mut job.origin {
                        own.input.extend(bytes);
                        own.flush(now);
                    }
                    job.input_given(now);
                }
                self.listen_for_room(number);
            }
            Order::Resize(number, size) => {
                if let Some(job) = self.jobs.get_mut(&number) {
                    job.resize(size, now);
                }
            }
            Order::Signal(number, signal) => {
                if let Some(Job { origin: Origin::Own(own), .. }) = self.jobs.get(&number) {
                    own.pty.signal_foreground(signal);
                }
            }
            Order::HangUp(number) => {
                if let Some(Job { origin: Origin::Own(own), .. }) = self.jobs.get(&number) {
                    own.pty.hang_up();
                }
            }
            Order::Leave(number) => {
                if let Some(job) = self.jobs.remove(&number) {
                    self.leave(&job);
                    if let Origin::Own(own) = job.origin {
                        own.pty.leave();
                    }
                }
            }
            Order::Stop => self.stopping = true,
            Order::Shutdown => {
                self.jobs.clear();
                self.stopping = true;
            }
        }
    }

    fn add(&mut self, number: u64, mut job: Job) {
        let token = FIRST_JOB + (number << 1);
        // What cannot be listened to is looked at by the clock.
        match &mut job.origin {
            Origin::Own(own) => {
                own.listens = EpollFlags::EPOLLIN;
                let _ = self.epoll.add(own.pty.as_fd(), EpollEvent::new(own.listens, token));
                if let Some(end) = &own.end {
                    let _ = self.epoll.add(end, EpollEvent::new(EpollFlags::EPOLLIN, token | END));
                }
            }
            Origin::Foreign { ends_with, end, watch } => {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, token | END);
                let _ = self.epoll.add(&*end, event);
                *watch = self.inotify.as_ref().and_then(|inotify| {
                    (0..3).find_map(|fd| {
                        let path = format!("/proc/{ends_with}/fd/{fd}");
                        let is_tty = std::fs::File::open(&path)
                            .is_ok_and(|file| std::io::IsTerminal::is_terminal(&file));
                        is_tty.then(|| inotify.add(path.as_ref()).ok()).flatten()
                    })
                });
            }
        }
        self.jobs.insert(number, job);
    }

    /// While input waits for room in the terminal, its master is asked for that too; while output
    /// waits for its reader, the master is left alone.
    fn listen_for_room(&mut self, number: u64) {
        let Some(Job { origin: Origin::Own(own), .. }) = self.jobs.get_mut(&number) else { return };
        if own.hung_up {
            // A hung-up master stays readable for ever.
            let _ = self.epoll.delete(own.pty.as_fd());
            return;
        }
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN, own.held.is_none());
        flags.set(EpollFlags::EPOLLOUT, !own.input.is_empty());
        if flags == std::mem::replace(&mut own.listens, flags) {
            return;
        }
        let mut event = EpollEvent::new(flags, FIRST_JOB + (number << 1));
        let changed = self.epoll.modify(own.pty.as_fd(), &mut event);
        if changed == Err(Errno::ENOENT) {
            let _ = self.epoll.add(own.pty.as_fd(), event);
        }
    }

    fn terminals_used(&mut self, now: Duration) {
        let events = self.inotify.as_ref().and_then(|inotify| inotify.drain().ok());
        for event in events.unwrap_or_default() {
            for job in self.jobs.values_mut() {
                let Origin::Foreign { watch, .. } = &job.origin else { continue };
                match event {
                    TtyEvent::Read(which) if *watch == Some(which) => job.input_read(now),
                    TtyEvent::Written(which) | TtyEvent::Vanished(which)
                        if *watch == Some(which) =>
                    {
                        job.schedule.event(now);
                    }
                    TtyEvent::Lost => job.schedule.event(now),
                    _ => {}
                }
            }
        }
    }

    fn leave(&self, job: &Job) {
        if let (Origin::Foreign { watch: Some(watch), .. }, Some(inotify)) =
            (&job.origin, &self.inotify)
        {
            let shared = |other: &Job| matches!(&other.origin, Origin::Foreign { watch: Some(theirs), .. } if theirs == watch);
            if !self.jobs.values().any(shared) {
                let _ = inotify.remove(*watch);
            }
        }
    }
}
