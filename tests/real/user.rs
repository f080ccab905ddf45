//! Ordinary users, and what sudo lets them do. Both are made when first needed, and removed at the
//! end.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use nix::unistd::{Uid, User as Account};

use crate::situation::User;

static USERS: Mutex<Option<Users>> = Mutex::new(None);

/// Where a run as an ordinary user finds the password of its own.
const PASSWORD: &str = "AWAITTY_PASSWORD";

/// Two users, told apart by what sudo does for them.
struct Users {
    pty: String,
    no_pty: String,
    password: String,
    sudoers: PathBuf,
}

/// An ordinary user.
#[derive(Debug, Clone)]
pub(crate) struct Ordinary {
    pub(crate) name: String,
    pub(crate) uid: Uid,
    pub(crate) gid: nix::unistd::Gid,
    pub(crate) password: String,
}

impl Ordinary {
    /// Runs a command as this user, in the same process: a pre-exec of our own would not go through
    /// the library.
    pub(crate) fn wrapper(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={}", self.uid), format!("--regid={}", self.gid)]);
        command.args(["--clear-groups", "--"]);
        command
    }

    /// What a run of these tests as this user must know.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env(PASSWORD, &self.password);
    }
}

/// The user of a situation; `None` for whoever runs the tests.
pub(crate) fn ordinary(user: User) -> Option<Ordinary> {
    if matches!(user, User::Same | User::Root) {
        return None;
    }
    if !Uid::effective().is_root() {
        let account = Account::from_uid(Uid::effective()).unwrap().unwrap();
        let password = std::env::var(PASSWORD).unwrap_or_default();
        return Some(Ordinary { name: account.name, uid: account.uid, gid: account.gid, password });
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let users = users.get_or_insert_with(Users::make);
    let name = if user == User::Pty { &users.pty } else { &users.no_pty };
    let account = Account::from_name(name).unwrap().unwrap();
    Some(Ordinary {
        name: account.name,
        uid: account.uid,
        gid: account.gid,
        password: users.password.clone(),
    })
}

/// The text, with the names of users put in.
pub(crate) fn named(text: &str) -> String {
    let mut text = text.to_owned();
    for (place, user) in [("{pty}", User::Pty), ("{no-pty}", User::NoPty)] {
        if text.contains(place) {
            let name = ordinary(user).map(|user| user.name).unwrap_or_default();
            text = text.replace(place, &name);
        }
    }
    text
}

/// Removes the users and the rules, if there are any.
pub(crate) fn remove() {
    drop(USERS.lock().unwrap_or_else(PoisonError::into_inner).take());
}

impl Users {
    fn make() -> Users {
        let pid = std::process::id();
        let users = Users {
            pty: format!("awaitty-p{pid}"),
            no_pty: format!("awaitty-n{pid}"),
            password: random(),
            sudoers: PathBuf::from(format!("/etc/sudoers.d/awaitty-{pid}")),
        };
        for name in [&users.pty, &users.no_pty] {
            succeed(Command::new("useradd").args(["--no-create-home", "--shell=/bin/sh", name]));
            users.set_password(name);
        }
        // Without sudo its situations are skipped.
        if std::path::Path::new("/etc/sudoers.d").is_dir() {
            users.allow();
        }
        users
    }

    fn set_password(&self, name: &str) {
        let mut child = Command::new("chpasswd").stdin(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{name}:{}", self.password).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// No more than the situations need: the users exist for some minutes.
    fn allow(&self) {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o440)
            .open(&self.sudoers)
            .unwrap();
        for (name, flag) in [(&self.pty, "use_pty"), (&self.no_pty, "!use_pty")] {
            writeln!(
                file,
                "Defaults:{name} {flag}, timestamp_timeout=0, lecture=never, !mail_badpass\n\
                 Defaults>{name} {flag}\n\
                 {name} ALL=(root) /usr/bin/cat, /usr/bin/sleep, /usr/bin/id"
            )
            .unwrap();
        }
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.sudoers);
        for name in [&self.pty, &self.no_pty] {
            let _ = Command::new("userdel").arg(name).stderr(Stdio::null()).status();
        }
    }
}

fn random() -> String {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
