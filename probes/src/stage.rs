//! What the probes share: the ready line, reading, terminal modes, children and outsiders.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::process;
use std::time::{Duration, Instant};
use std::{hint, mem, thread};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use nix::sys::wait::waitpid;
use nix::unistd::{self, Pid};

use crate::failure::{Failure, Outcome, Step};
use crate::sys::{self, Fork};

/// Longer than anybody watches a probe.
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// Prints the ready line: one write(2), so that no buffer of ours is forked or interleaved.
pub(crate) fn ready(others: &[(&str, Pid)]) -> Outcome {
    ready_as(unistd::getpid(), others)
}

pub(crate) fn ready_as(pid: Pid, others: &[(&str, Pid)]) -> Outcome {
    let mut line = format!("ready {pid}");
    for (role, other) in others {
        line.push_str(&format!(" {role}={other}"));
    }
    line.push('\n');
    unistd::write(io::stdout(), line.as_bytes()).to("print the ready line")?;
    Ok(())
}

/// One read(2); end of file is as good as data.
pub(crate) fn read(from: impl AsFd) -> Outcome {
    let mut buffer = [0; 4096];
    unistd::read(from, &mut buffer).to("read")?;
    Ok(())
}

/// Blocks in nanosleep for longer than anybody watches.
pub(crate) fn sleep_long() {
    thread::sleep(HOUR);
}

/// Computes for ever.
pub(crate) fn compute() -> ! {
    loop {
        hint::spin_loop();
    }
}

/// Computes for this long.
pub(crate) fn compute_for(length: Duration) {
    let start = Instant::now();
    while start.elapsed() < length {
        hint::spin_loop();
    }
}

/// Terminal modes that are put back when this is dropped.
pub(crate) struct Modes {
    terminal: File,
    before: Termios,
}

impl Modes {
    /// Takes local flags away from the terminal on standard input.
    pub(crate) fn without(flags: LocalFlags) -> Result<Modes, Failure> {
        Modes::change(|termios| termios.local_flags.remove(flags))
    }

    /// As a relay sets it: every byte passes.
    pub(crate) fn raw() -> Result<Modes, Failure> {
        Modes::change(termios::cfmakeraw)
    }

    pub(crate) fn change(change: impl FnOnce(&mut Termios)) -> Result<Modes, Failure> {
        let terminal = io::stdin().as_fd().try_clone_to_owned().to("duplicate fd 0")?;
        let before = termios::tcgetattr(&terminal).to("get the terminal's modes")?;
        let mut after = before.clone();
        change(&mut after);
        termios::tcsetattr(&terminal, SetArg::TCSANOW, &after).to("set the terminal's modes")?;
        Ok(Modes { terminal: terminal.into(), before })
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        // The terminal may have hung up by now; there is nobody left to tell.
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
    }
}

/// Forks a child that runs `body`. What `body` owns belongs to the child alone: the parent drops
/// its copy. The child dies with its parent.
pub(crate) fn child(body: impl FnOnce() -> Outcome) -> Result<Pid, Failure> {
    let parent = unistd::getpid();
    match sys::fork().to("fork")? {
        Fork::Parent(child) => Ok(child),
        Fork::Child => finish(die_with(parent).and_then(|()| body())),
    }
}

/// Waits for a child to end.
pub(crate) fn wait_for(child: Pid) -> Outcome {
    waitpid(child, None).to("wait for the child")?;
    Ok(())
}

/// Has the kernel kill this process when `parent` ends.
pub(crate) fn die_with(parent: Pid) -> Outcome {
    prctl::set_pdeathsig(Signal::SIGKILL).to("set the parent death signal")?;
    if unistd::getppid() != parent {
        process::exit(0);
    }
    Ok(())
}

/// Ends a forked child without running what the parent registered to run at its own exit.
pub(crate) fn finish(outcome: Outcome) -> ! {
    let code = match outcome {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    };
    sys::exit_now(i32::from(code))
}

/// Ends when the probe does, and tells the probe when the outsider has taken its place.
pub(crate) struct Lifeline {
    probe: PipeReader,
    settled: PipeWriter,
}

impl Lifeline {
    /// The outsider is where the probe wants it.
    fn settle(&mut self) -> Outcome {
        let pid = unistd::getpid().as_raw().to_ne_bytes();
        unistd::write(&self.settled, &pid).to("tell the probe")?;
        Ok(())
    }

    /// Tells the probe to go on, and sleeps until it has ended.
    pub(crate) fn hold(mut self) -> Outcome {
        self.settle()?;
        read(&self.probe)
    }

    /// Tells the probe to go on, and computes until it has ended.
    pub(crate) fn compute(mut self) -> Outcome {
        self.settle()?;
        while !sys::readable_now(&self.probe).to("poll")? {
            compute_for(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// Starts a process that does not belong to the probe's job: an orphan in a session of its own,
/// without the terminal. It ends with the probe. What `body` owns is the outsider's alone.
pub(crate) fn outsider(body: impl FnOnce(Lifeline) -> Outcome) -> Result<Pid, Failure> {
    orphan(|lifeline| {
        unistd::setsid().to("make a session")?;
        leave_terminal()?;
        body(lifeline)
    })
}

/// Starts a process whose parent has ended, in the group and on the terminal of the probe.
pub(crate) fn orphan(body: impl FnOnce(Lifeline) -> Outcome) -> Result<Pid, Failure> {
    let (probe, lifeline) = io::pipe().to("make a pipe")?;
    let (mut reports, settled) = io::pipe().to("make a pipe")?;
    let between = match sys::fork().to("fork")? {
        Fork::Parent(between) => between,
        Fork::Child => {
            drop((lifeline, reports));
            finish(match sys::fork().to("fork") {
                Ok(Fork::Parent(_)) => Ok(()),
                Ok(Fork::Child) => body(Lifeline { probe, settled }),
                Err(failure) => Err(failure),
            })
        }
    };
    drop((probe, settled));
    // Closed by the kernel when the probe ends: that is what the orphan waits for.
    mem::forget(lifeline);
    wait_for(between)?;
    let mut pid = [0; 4];
    reports.read_exact(&mut pid).to("start a process outside of the job")?;
    Ok(Pid::from_raw(i32::from_ne_bytes(pid)))
}

fn leave_terminal() -> Outcome {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").to("open /dev/null")?;
    unistd::dup2_stdin(&null).to("replace fd 0")?;
    unistd::dup2_stdout(&null).to("replace fd 1")?;
    unistd::dup2_stderr(&null).to("replace fd 2")
}
