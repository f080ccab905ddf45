//! Pipes and fifos, by who holds the other end.

use std::fs::{self, OpenOptions};
use std::io::{self, PipeReader, PipeWriter};
use std::path::PathBuf;
use std::{env, process};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::sys::stat::Mode;
use nix::unistd::{dup2_stdin, mkfifo, write};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{child, compute, outsider, read, ready};
use crate::sys;
use crate::{Group::Pipes, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Pipes, "pipe-self", "read(2) of a pipe of which it is the only writer", of_self),
    Probe::new(Pipes, "pipe-eof", "read(2) of a pipe without a writer, which ends at once", eof),
    Probe::new(
        Pipes,
        "pipe-outside",
        "read(2) of fd 0, a pipe whose writer is not of the job",
        outside,
    ),
    Probe::new(Pipes, "pipe-outside-busy", "the same, and the writer computes", outside_busy),
    Probe::new(
        Pipes,
        "pipe-child-busy",
        "read(2) of a pipe whose writer is a child that computes",
        child_busy,
    ),
    Probe::new(
        Pipes,
        "pipe-child-reader",
        "read(2) of a pipe whose writer is a child that reads fd 0",
        child_reader,
    ),
    Probe::new(Pipes, "pipe-full", "write(2) to a full pipe of its own", write_full),
    Probe::new(
        Pipes,
        "pipe-full-outside",
        "write(2) to a full pipe whose reader is not of the job",
        write_full_outside,
    ),
    Probe::new(Pipes, "pipe-splice", "splice(2) from one pipe of its own to another", splice_pipes),
    Probe::new(Pipes, "fifo-open-read", "open(2) of a fifo for reading", fifo_open_read),
    Probe::new(Pipes, "fifo-open-write", "open(2) of a fifo for writing", fifo_open_write),
    Probe::new(Pipes, "fifo-read", "read(2) of a fifo of which it is the only writer", fifo_read),
];

fn pipe() -> Result<(PipeReader, PipeWriter), Failure> {
    io::pipe().to("make a pipe")
}

/// A pipe of the least size with no room left.
pub(crate) fn full() -> Result<(PipeReader, PipeWriter), Failure> {
    let (reader, writer) = pipe()?;
    let size = fcntl(&writer, FcntlArg::F_SETPIPE_SZ(4096)).to("set the pipe's size")?;
    write(&writer, &vec![0; size as usize]).to("fill the pipe")?;
    Ok((reader, writer))
}

fn of_self(_: &Args) -> Outcome {
    let (reader, _writer) = pipe()?;
    ready(&[])?;
    read(&reader)
}

fn eof(_: &Args) -> Outcome {
    let (reader, writer) = pipe()?;
    drop(writer);
    ready(&[])?;
    read(&reader)
}

fn outside(_: &Args) -> Outcome {
    let (reader, writer) = pipe()?;
    dup2_stdin(&reader).to("replace fd 0")?;
    drop(reader);
    let outsider = outsider(move |lifeline| {
        let _writer = writer;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    read(sys::stdin())
}

fn outside_busy(_: &Args) -> Outcome {
    let (reader, writer) = pipe()?;
    dup2_stdin(&reader).to("replace fd 0")?;
    drop(reader);
    let outsider = outsider(move |lifeline| {
        let _writer = writer;
        lifeline.compute()
    })?;
    ready(&[("outside", outsider)])?;
    read(sys::stdin())
}

fn child_busy(_: &Args) -> Outcome {
    let (reader, writer) = pipe()?;
    let child = child(move || {
        let _writer = writer;
        compute()
    })?;
    ready(&[("child", child)])?;
    read(&reader)
}

fn child_reader(_: &Args) -> Outcome {
    let (reader, writer) = pipe()?;
    let child = child(move || {
        let _writer = writer;
        read(sys::stdin())
    })?;
    ready(&[("child", child)])?;
    read(&reader)
}

fn write_full(_: &Args) -> Outcome {
    let (_reader, writer) = full()?;
    ready(&[])?;
    write(&writer, b"x").to("write")?;
    Ok(())
}

fn write_full_outside(_: &Args) -> Outcome {
    let (reader, writer) = full()?;
    let outsider = outsider(move |lifeline| {
        let _reader = reader;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    write(&writer, b"x").to("write")?;
    Ok(())
}

fn splice_pipes(_: &Args) -> Outcome {
    let (from, _from_writer) = pipe()?;
    let (_to_reader, to) = pipe()?;
    ready(&[])?;
    splice(&from, None, &to, None, 4096, SpliceFFlags::empty()).to("splice")?;
    Ok(())
}

/// A fifo that is removed when the probe has ended, however it ended.
fn fifo() -> Result<PathBuf, Failure> {
    let path = env::temp_dir().join(format!("awaitty-probe-{}", process::id()));
    mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).to("make a fifo")?;
    let owned = path.clone();
    outsider(move |lifeline| {
        lifeline.hold()?;
        fs::remove_file(owned).to("remove the fifo")
    })?;
    Ok(path)
}

fn fifo_open_read(_: &Args) -> Outcome {
    let path = fifo()?;
    ready(&[])?;
    OpenOptions::new().read(true).open(path).to("open the fifo")?;
    Ok(())
}

fn fifo_open_write(_: &Args) -> Outcome {
    let path = fifo()?;
    ready(&[])?;
    OpenOptions::new().write(true).open(path).to("open the fifo")?;
    Ok(())
}

fn fifo_read(_: &Args) -> Outcome {
    let fifo = nix::fcntl::open(&fifo()?, OFlag::O_RDWR, Mode::empty()).to("open the fifo")?;
    ready(&[])?;
    read(&fifo)
}
