//! Brings a situation about, and looks.

use std::fmt::Write as _;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use awaitty::verdict::{Line, State, Verdict};
use awaitty::watch::{Change, Monitor, OpenOptions, Sight, Target, Watched};
use crossbeam_channel::{Receiver, RecvTimeoutError, never};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;

use crate::expect::Expect;
use crate::situation::{Beside, See, Situation, Step};
use crate::user::{self, Ordinary};

/// For a step. Two Java machines start within it with both cores loaded.
const DEADLINE: Duration = Duration::from_secs(30);
/// For so long nothing else may be said once the expected state has come. That is part of what is
/// expected, and no synchronisation.
const HOLDS: Duration = Duration::from_millis(300);
/// The programs' path, whatever the path of whoever runs the tests.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What marks every process of a situation: its directory.
const MARK: &str = "AWAITTY_SITUATION";

static PACKAGES: Mutex<()> = Mutex::new(());

/// A situation's directory, which is everybody's home in it.
struct Home(PathBuf);

impl Home {
    fn new(situation: &Situation, owner: Option<&Ordinary>) -> Home {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        // Short: unix sockets are made in it, and their paths have 108 bytes.
        let path = std::env::temp_dir().join(format!("awaitty-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let home = Home(path);
        let own = |path: &Path| {
            if let Some(Ordinary { uid, gid, .. }) = owner {
                chown(path, Some(uid.as_raw()), Some(gid.as_raw())).unwrap();
            }
        };
        own(&home.0);
        for (name, text) in situation.files {
            let path = home.0.join(name);
            std::fs::write(&path, text).unwrap();
            own(&path);
        }
        home
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Servers of tmux and screen outlive their terminal.
        for pid in self.processes() {
            let pid = nix::unistd::Pid::from_raw(pid);
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Home {
    /// Whatever carries the mark.
    fn processes(&self) -> Vec<i32> {
        let mark = format!("{MARK}={}", self.0.display());
        let marked = |pid: &i32| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|&b| b == 0).any(|v| v == mark.as_bytes()))
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(marked)
            .collect()
    }
}

/// What is there beside the program, for as long as this lives.
enum Neighbour {
    Nobody,
    Server(TcpListener),
    Lock { _held: Flock<File> },
    Packages { _alone: MutexGuard<'static, ()> },
}

impl Neighbour {
    fn new(beside: Beside, home: &Home) -> Neighbour {
        match beside {
            Beside::Nothing | Beside::NoReader => Neighbour::Nobody,
            Beside::SilentServer => {
                // Connections are made in its queue; nobody ever takes them from there.
                Neighbour::Server(TcpListener::bind("127.0.0.1:0").unwrap())
            }
            Beside::HeldLock => {
                let file = File::create(home.0.join("held.lock")).unwrap();
                let held = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno);
                Neighbour::Lock { _held: held.unwrap() }
            }
            Beside::PackageLock => Neighbour::Packages {
                _alone: PACKAGES.lock().unwrap_or_else(PoisonError::into_inner),
            },
        }
    }
}

/// A situation that runs.
struct Stage {
    watched: Watched,
    changes: Receiver<Change>,
    output: Receiver<Vec<u8>>,
    /// Does anybody take the output?
    drained: bool,
    /// Everything printed, and how much of it was there when something was last typed.
    text: Vec<u8>,
    typed_at: usize,
    /// Something was typed, and nothing seen since.
    typed: bool,
    /// Every change in short, the last one, and the expectation before the last typing.
    said: Vec<String>,
    last: Option<Change>,
    before: Option<See>,
    password: String,
    _neighbour: Neighbour,
    // The last to go: by then the terminal is hung up.
    home: Home,
}

/// Plays all steps; what went wrong, otherwise.
pub(crate) fn play(monitor: &Monitor, situation: &Situation) -> Result<(), String> {
    let owner = user::ordinary(situation.user);
    let home = Home::new(situation, owner.as_ref());
    let neighbour = Neighbour::new(situation.beside, &home);
    let command = command(situation, owner.as_ref(), &home, &neighbour);
    let options = OpenOptions { output: true, ..OpenOptions::default() };
    let watched = monitor.open(command, options).map_err(|error| error.to_string())?;
    let mut stage = Stage {
        changes: watched.changes(),
        output: watched.output().unwrap(),
        watched,
        drained: situation.beside != Beside::NoReader,
        text: Vec::new(),
        typed_at: 0,
        typed: false,
        said: Vec::new(),
        last: None,
        before: None,
        password: owner.map(|owner| owner.password).unwrap_or_default(),
        _neighbour: neighbour,
        home,
    };
    for (at, step) in situation.steps.iter().enumerate() {
        stage.step(monitor, step).map_err(|why| stage.told(at + 1, step, &why))?;
    }
    Ok(())
}

fn command(
    situation: &Situation,
    owner: Option<&Ordinary>,
    home: &Home,
    neighbour: &Neighbour,
) -> Command {
    let [program, args @ ..] = situation.command else { unreachable!("a command has a program") };
    let mut command = match owner.filter(|_| Uid::effective().is_root()) {
        Some(other) => {
            let mut command = other.wrapper();
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(args.iter().map(|arg| user::named(arg)));
    let name = owner.map_or("root", |owner| owner.name.as_str());
    command.env_clear().current_dir(&home.0).env("HOME", &home.0).env("TMPDIR", &home.0);
    command.envs([("PATH", PATH), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8")]);
    command.envs([("PS1", "$ "), ("INPUTRC", "/dev/null"), ("SHELL", "/bin/sh")]);
    command.env(MARK, &home.0).env("USER", name).env("LOGNAME", name);
    if let Neighbour::Server(server) = neighbour {
        command.env("PORT", server.local_addr().unwrap().port().to_string());
    }
    command.envs(situation.env.iter().copied());
    command
}

impl Stage {
    fn step(&mut self, monitor: &Monitor, step: &Step) -> Result<(), String> {
        match step {
            Step::See(see) => {
                self.comes(see)?;
                self.typed = false;
                if matches!(see.state, Expect::Running { .. }) {
                    // It may have been on its way there, and have been running then too.
                    self.moves_on(monitor, see)?;
                    self.comes(see)?;
                }
                self.before = Some(*see);
                self.holds(see)
            }
            Step::Type(text) => {
                self.drained = true;
                self.take_output();
                self.typed_at = self.text.len();
                self.typed = true;
                let text = text.replace("{password}", &self.password);
                // What was told before is not told of what is typed now.
                while let Ok(change) = self.changes.try_recv() {
                    self.note(change);
                }
                self.watched.write(text.as_bytes()).map_err(|error| error.to_string())
            }
            Step::Print(text) => self.prints(text),
        }
    }

    /// The output as it comes, if anybody is to take it.
    fn source(&self) -> Receiver<Vec<u8>> {
        if self.drained { self.output.clone() } else { never() }
    }

    fn take_output(&mut self) {
        while let Ok(piece) = self.source().try_recv() {
            self.keep(&piece);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        // `yes` is drained too: the end is enough for the tale.
        const KEPT: usize = 1 << 20;
        if self.text.len() > KEPT {
            self.text.clear();
            self.typed_at = 0;
        }
        self.text.extend_from_slice(piece);
    }

    fn note(&mut self, change: Change) {
        let how = if change.verdict.exact { "" } else { "?" };
        self.said.push(format!(
            "{:.3} {:?}{how}",
            change.t.as_secs_f64(),
            change.verdict.state.name()
        ));
        self.last = Some(change);
    }

    /// The next change; `None` when there is none until `end`.
    fn next(&mut self, end: Instant) -> Result<Option<Change>, String> {
        let mut source = self.source();
        loop {
            crossbeam_channel::select! {
                recv(source) -> piece => match piece {
                    Ok(piece) => self.keep(&piece),
                    Err(_) => source = never(),
                },
                recv(self.changes) -> change => match change {
                    Ok(change) => {
                        self.note(change.clone());
                        return Ok(Some(change));
                    }
                    Err(_) if Instant::now() < end => return Err("the watch has ended".to_owned()),
                    Err(_) => return Ok(None),
                },
                recv(crossbeam_channel::at(end)) -> _ => return Ok(None),
            }
        }
    }

    /// It is said, and nothing that is wrong is said with certainty on the way.
    fn comes(&mut self, see: &See) -> Result<(), String> {
        let end = Instant::now() + DEADLINE;
        // Without typing, what was said already may be it.
        if !self.typed && self.last.as_ref().is_some_and(|last| see.fits(&last.verdict)) {
            return Ok(());
        }
        loop {
            let Some(change) = self.next(end)? else {
                return Err(format!("not within {DEADLINE:?}"));
            };
            let verdict = &change.verdict;
            if see.fits(verdict) {
                return Ok(());
            }
            let again = self.before.is_some_and(|before| before.fits(verdict));
            let asks = see.asks_terminal && verdict.waits_for_input();
            if verdict.exact && verdict.is_settled() && !again && !asks {
                return Err("something else was said to be exact".to_owned());
            }
        }
    }

    fn holds(&mut self, see: &See) -> Result<(), String> {
        if matches!(see.state, Expect::Exited(_) | Expect::Killed(_)) {
            return Ok(());
        }
        let end = Instant::now() + HOLDS;
        while let Some(change) = self.next(end)? {
            if !see.fits(&change.verdict) {
                return Err("it came, and did not hold".to_owned());
            }
        }
        Ok(())
    }

    /// What a running job waits on changes all the time and is no news, so other watches ask.
    fn moves_on(&mut self, monitor: &Monitor, see: &See) -> Result<(), String> {
        let end = Instant::now() + DEADLINE;
        let target = Target::Pid(self.watched.pid());
        while Instant::now() < end {
            let other = monitor.attach(&target, Sight::default()).map_err(|e| e.to_string())?;
            let verdict = other.wait_until(|_| true, DEADLINE).map_err(|e| e.to_string())?;
            if see.state.fits(&verdict.state) {
                return Ok(());
            }
            if !matches!(verdict.state, State::Running(_)) && verdict.exact {
                return Err(format!("another watch says {}", line(&verdict)));
            }
            self.take_output();
        }
        Err(format!("it runs, but never on that within {DEADLINE:?}"))
    }

    fn prints(&mut self, text: &str) -> Result<(), String> {
        let end = Instant::now() + DEADLINE;
        let source = self.source();
        loop {
            let printed = String::from_utf8_lossy(&self.text[self.typed_at..]);
            if printed.contains(text) {
                return Ok(());
            }
            match source.recv_deadline(end) {
                Ok(piece) => self.keep(&piece),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("not within {DEADLINE:?}"));
                }
                Err(RecvTimeoutError::Disconnected) => return Err("the output ended".to_owned()),
            }
        }
    }

    /// The step, what was said instead, what was printed last, and what the kernel says.
    fn told(&mut self, number: usize, step: &Step, why: &str) -> String {
        self.take_output();
        let from = self.text.len().saturating_sub(400);
        let mut told = format!("step {number}, {step}: {why}");
        let from_change = self.said.len().saturating_sub(TOLD);
        let _ = write!(told, "\n  changes: {}", self.said[from_change..].join(", "));
        if let Some(last) = &self.last {
            let _ = write!(told, "\n  said:    {}", line(&last.verdict));
        }
        let _ = write!(told, "\n  printed: {:?}", String::from_utf8_lossy(&self.text[from..]));
        for process in self.home.processes() {
            let _ = write!(told, "\n  kernel:  {}", truth(process));
        }
        told
    }
}

fn line(verdict: &Verdict) -> String {
    serde_json::to_string(&Line::new(0, 0.0, None, verdict)).unwrap_or_default()
}

/// Changes, and threads of a process, that are told of when something is wrong.
const TOLD: usize = 8;

/// A process as the kernel shows it: its threads' states and system calls.
fn truth(pid: i32) -> String {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut told = format!("{pid} {}:", read(format!("/proc/{pid}/comm")));
    for task in
        std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(TOLD)
    {
        let of = |file: &str| read(task.path().join(file).display().to_string());
        let stat = of("stat");
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = fields.split_whitespace().take(6).collect();
        let call = of("syscall");
        let first = call.split(' ').nth(1).and_then(|fd| {
            let fd = u32::from_str_radix(fd.trim_start_matches("0x"), 16).ok()?;
            std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()
        });
        let _ = write!(told, " [{} | {call} | {first:?}]", fields.join(" "));
    }
    told
}
