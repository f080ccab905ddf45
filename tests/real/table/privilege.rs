//! Programs with more privilege than who started them, and the terminals between.

use awaitty::verdict::WaitingOn::Timer;

use crate::situation::{
    Situation, Step, User, exited, line, prompt, running, secret, situation, types, unknown,
};

const SUDO_CAT: &[&str] = &["sudo", "cat"];
const CAT: Step = line().reader("cat").step();
const PASSWORD: Step = secret().prompt("[sudo] password for ").reader("sudo").step();
/// Only the terminal's flags tell whoever may not look into sudo.
const PASSWORD_GUESSED: Step = secret().guessed().prompt("[sudo] password for ").step();

pub(super) const TABLE: &[Situation] = &[
    // Root's own
    situation("sudo-pty", &["sudo", "-u", "{pty}", "cat"], &[CAT, types("\x04"), exited(0)])
        .user(User::Root),
    situation("sudo-no-pty", &["sudo", "-u", "{no-pty}", "cat"], &[CAT, types("\x04"), exited(0)])
        .user(User::Root),
    situation("sudo-pty-sleep", &["sudo", "-u", "{pty}", "sleep", "100"], &[running(&[Timer])])
        .user(User::Root),
    situation(
        "sudo-no-pty-sleep",
        &["sudo", "-u", "{no-pty}", "sleep", "100"],
        &[running(&[Timer])],
    )
    .user(User::Root),
    situation(
        "sudo-pty-secret",
        &["sudo", "-u", "{pty}", "bash", "-c", "read -s -p 'Word: ' x"],
        &[secret().prompt("Word: ").reader("bash").step(), types("x\n"), exited(0)],
    )
    .user(User::Root),
    situation(
        "su",
        &["su", "--shell=/bin/sh", "--command=cat", "{pty}"],
        &[CAT, types("\x04"), exited(0)],
    )
    .user(User::Root),
    situation(
        "su-pty",
        &["su", "--pty", "--shell=/bin/sh", "--command=cat", "{pty}"],
        &[CAT, types("\x04"), exited(0)],
    )
    .user(User::Root),
    situation(
        "runuser",
        &["runuser", "-u", "{pty}", "--", "cat"],
        &[CAT, types("\x04"), exited(0)],
    )
    .user(User::Root),
    situation(
        "setpriv",
        &["setpriv", "--reuid={pty}", "--clear-groups", "cat"],
        &[CAT, types("\x04"), exited(0)],
    )
    .user(User::Root),
    situation(
        "passwd",
        &["passwd", "{pty}"],
        &[secret().prompt("New password: ").reader("passwd").step(), types("\x03")],
    )
    .user(User::Root),
    // An ordinary user's, watched by root
    situation("user-cat", &["cat"], &[CAT, types("\x04"), exited(0)]).user(User::Pty),
    situation(
        "user-sudo-pty",
        SUDO_CAT,
        &[PASSWORD, types("{password}\n"), CAT, types("\x04"), exited(0)],
    )
    .user(User::Pty),
    situation(
        "user-sudo-no-pty",
        SUDO_CAT,
        &[PASSWORD, types("{password}\n"), CAT, types("\x04"), exited(0)],
    )
    .user(User::NoPty),
    situation(
        "user-sudo-sleep",
        &["sudo", "sleep", "100"],
        &[PASSWORD, types("{password}\n"), running(&[Timer])],
    )
    .user(User::Pty),
    situation("user-sudo-wrong", SUDO_CAT, &[PASSWORD, types("wrong\n"), PASSWORD]).user(User::Pty),
    situation(
        "user-su",
        &["su", "--command=cat"],
        &[secret().prompt("Password: ").reader("su").step()],
    )
    .user(User::Pty),
    // The same, watched by that user
    situation("its-cat", &["cat"], &[CAT, types("\x04"), exited(0)])
        .user(User::Pty)
        .watched_by_its_user(),
    situation(
        "its-bash",
        &["bash", "--noprofile", "--norc"],
        &[prompt().prompt("$ ").reader("bash").step()],
    )
    .user(User::Pty)
    .watched_by_its_user(),
    situation(
        "its-sudo-pty",
        SUDO_CAT,
        &[PASSWORD_GUESSED, types("{password}\n"), unknown().step(), types("\x04"), exited(0)],
    )
    .user(User::Pty)
    .watched_by_its_user(),
    situation(
        "its-sudo-no-pty",
        SUDO_CAT,
        &[PASSWORD_GUESSED, types("{password}\n"), unknown().step(), types("\x04"), exited(0)],
    )
    .user(User::NoPty)
    .watched_by_its_user(),
    situation(
        "its-sudo-sleep",
        &["sudo", "sleep", "100"],
        &[PASSWORD_GUESSED, types("{password}\n"), unknown().step()],
    )
    .user(User::Pty)
    .watched_by_its_user(),
    situation(
        "its-su",
        &["su", "--command=cat"],
        &[secret().guessed().prompt("Password: ").step()],
    )
    .user(User::Pty)
    .watched_by_its_user(),
];
