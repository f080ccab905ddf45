//! A 32-bit probe for x86_64 machines, assembled on the spot: binutils suffice, no compiler for
//! i386 has to be installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("../i386/read.s");

/// Why there is no 32-bit probe.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Not a machine that runs i386 code, or `as` or `ld` is not installed. A test skips.
    #[error("cannot be built here: {0}")]
    Unsupported(String),
    /// A file could not be written.
    #[error("failed to write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// How the system put it.
        source: io::Error,
    },
}

/// Builds the 32-bit probe in `directory` and returns the program's path. It prints the ready line
/// and blocks in read(2) of fd 0. A kernel without IA32 emulation refuses to execute it (ENOEXEC).
///
/// # Errors
/// [`BuildError`].
pub fn build(directory: &Path) -> Result<PathBuf, BuildError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(BuildError::Unsupported("not an x86_64 machine".into()));
    }
    let [source, object, program] =
        ["read.s", "read.o", "awaitty-probe-i386"].map(|name| directory.join(name));
    fs::write(&source, SOURCE)
        .map_err(|error| BuildError::Write { path: source.clone(), source: error })?;
    succeed(Command::new("as").arg("--32").arg("-o").args([&object, &source]))?;
    succeed(Command::new("ld").args(["-m", "elf_i386", "-o"]).args([&program, &object]))?;
    Ok(program)
}

fn succeed(command: &mut Command) -> Result<(), BuildError> {
    let name = command.get_program().display().to_string();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(BuildError::Unsupported(format!("{name} failed: {}", said.trim())))
        }
        Err(error) => Err(BuildError::Unsupported(format!("{name} failed: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Stdio;

    #[test]
    fn it_prints_its_pid_and_ends_when_fed() {
        let directory = std::env::temp_dir().join(format!("awaitty-i386-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        match build(&directory) {
            Ok(program) => {
                let mut command = Command::new(program);
                let probe = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
                let ready = format!("ready {}\n", probe.id());
                let output = probe.wait_with_output().unwrap();
                assert_eq!(String::from_utf8_lossy(&output.stdout), ready);
                assert!(output.status.success());
            }
            Err(error) => eprintln!("skip: {error}"),
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
