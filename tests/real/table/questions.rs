//! Programs that ask.

use crate::situation::{
    Beside, Situation, User, exited, key, line, screen, secret, situation, types,
};

const GIT: &[(&str, &str)] = &[(".gitconfig", "[user]\nname = me\nemail = me@localhost\n")];
/// Asks for a name and a password on the terminal; its own input is a pipe.
const CREDENTIAL: &str = "printf 'protocol=https\nhost=localhost\n\n' | git credential fill";
/// A package's question, with databases of its own: the machine's are left alone.
const ASK: &[(&str, &str)] = &[
    ("ask", "#!/bin/sh\n. /usr/share/debconf/confmodule\ndb_input high ask/name\ndb_go\n"),
    ("ask.templates", "Template: ask/name\nType: string\nDescription: The name?\n It is needed.\n"),
    (
        "debconf.conf",
        "Config: config\nTemplates: templates\n\n\
         Name: config\nDriver: File\nFilename: config.dat\n\n\
         Name: templates\nDriver: File\nFilename: templates.dat\n",
    ),
];

/// Packs `conf.deb` with one configuration file, installs it below `root`, changes the file, and
/// installs a newer one.
const CONFFILE: &str = r#"set -e
mkdir -p root/var/lib/dpkg/updates root/var/lib/dpkg/info root/var/log pack/DEBIAN pack/etc
: > root/var/lib/dpkg/status
pack() {
    {
        printf 'Package: conf\nVersion: %s\nArchitecture: all\n' $1
        printf 'Maintainer: me <me@localhost>\nDescription: test\n'
    } > pack/DEBIAN/control
    echo /etc/conf > pack/DEBIAN/conffiles
    echo $1 > pack/etc/conf
    chmod -R go-w,u+rwX pack
    dpkg-deb --root-owner-group -b pack conf.deb > packed
}
install="dpkg --root=$PWD/root --force-not-root --log=/dev/null -i conf.deb"
pack 1; $install
echo mine > root/etc/conf
pack 2; exec $install
"#;

pub(super) const TABLE: &[Situation] = &[
    // read in a script
    situation(
        "read",
        &["bash", "-c", "read -p 'Name? ' x; exit 3"],
        &[line().prompt("Name? ").reader("bash").step(), types("x\n"), exited(3)],
    ),
    situation(
        "read-s",
        &["bash", "-c", "read -s -p 'Word: ' x"],
        &[secret().prompt("Word: ").reader("bash").step(), types("x\n"), exited(0)],
    ),
    situation(
        "read-n1",
        &["bash", "-c", "read -n1 -p 'Key: ' x"],
        &[key().prompt("Key: ").reader("bash").step(), types("x"), exited(0)],
    ),
    situation(
        "read-t",
        &["bash", "-c", "read -t 60 -p 'Name? ' x"],
        &[line().prompt("Name? ").reader("bash").step(), types("x\n"), exited(0)],
    ),
    situation(
        "read-e",
        &["bash", "-c", "read -e -p 'Name? ' x"],
        &[key().prompt("Name? ").reader("bash").step(), types("x\n"), exited(0)],
    ),
    situation(
        "read-twice",
        &["bash", "-c", "read -p 'One? ' x; read -p 'Two? ' x"],
        &[
            line().prompt("One? ").step(),
            types("x\n"),
            line().prompt("Two? ").step(),
            types("x\n"),
            exited(0),
        ],
    ),
    situation(
        "read-dash",
        &["dash", "-c", "read -p 'Name? ' x"],
        &[line().prompt("Name? ").reader("dash").step(), types("x\n"), exited(0)],
    ),
    situation(
        "read-zsh",
        &["zsh", "-fc", "read 'x?Name? '"],
        &[line().prompt("Name? ").reader("zsh").step(), types("x\n"), exited(0)],
    ),
    situation(
        "read-type-ahead",
        &["bash", "-c", "sleep 1; read -p 'One? ' x; read -p 'Two? ' x"],
        &[types("x\n"), line().prompt("Two? ").step()],
    ),
    // Small ones
    situation(
        "cat",
        &["cat"],
        &[
            line().reader("cat").step(),
            types("x\n"),
            line().reader("cat").step(),
            types("\x04"),
            exited(0),
        ],
    ),
    situation("sort", &["sort"], &[line().reader("sort").step(), types("\x04"), exited(0)]),
    situation(
        "rm-i",
        &["rm", "-i", "file"],
        &[
            line().prompt("remove regular file 'file'? ").reader("rm").step(),
            types("y\n"),
            exited(0),
        ],
    )
    .files(&[("file", "text\n")]),
    situation(
        "perl",
        &["perl", "-e", "$| = 1; print 'Name? '; <STDIN>"],
        &[line().prompt("Name? ").reader("perl").step(), types("x\n"), exited(0)],
    ),
    situation(
        "xargs-p",
        &["bash", "-c", "echo file | xargs -p echo"],
        &[line().prompt("?...").reader("xargs").step(), types("n\n"), exited(0)],
    )
    .needs(&["xargs"]),
    situation(
        "getpass",
        &["python3", "-c", "import getpass; getpass.getpass('Word: ')"],
        &[secret().prompt("Word: ").reader("python3").step(), types("x\n"), exited(0)],
    ),
    situation(
        "ssh-keygen-file",
        &["ssh-keygen", "-t", "ed25519"],
        &[line().prompt("Enter file in which to save the key").reader("ssh-keygen").step()],
    ),
    situation(
        "ssh-keygen",
        &["ssh-keygen", "-t", "ed25519", "-f", "key"],
        &[
            secret()
                .prompt("Enter passphrase (empty for no passphrase): ")
                .reader("ssh-keygen")
                .step(),
            types("secret word\n"),
            secret().prompt("Enter same passphrase again: ").step(),
            types("secret word\n"),
            exited(0),
        ],
    ),
    situation(
        "openssl-genrsa",
        &["openssl", "genrsa", "-aes128", "2048"],
        &[secret().prompt("Enter PEM pass phrase:").reader("openssl").step()],
    ),
    situation(
        "openssl-req",
        &["openssl", "req", "-new", "-newkey", "ed25519", "-nodes", "-keyout", "key"],
        &[line().prompt("Country Name (2 letter code) [").reader("openssl").step()],
    ),
    situation(
        "7z-password",
        &["7z", "a", "-p", "archive.7z", "file"],
        &[secret().prompt("Enter password").step()],
    )
    .files(&[("file", "text\n")]),
    situation(
        "7z-overwrite",
        &["bash", "-c", "7z a archive.7z file >log && 7z x archive.7z"],
        &[line().prompt("? ").step(), types("q\n")],
    )
    .needs(&["7z"])
    .files(&[("file", "text\n")]),
    // git
    situation(
        "git-commit",
        &["bash", "-c", "git init -q; git commit --allow-empty"],
        &[screen().reader("vim").asks_terminal().step(), types(":cq\r"), exited(1)],
    )
    .needs(&["git", "vim"])
    .files(GIT)
    .env(&[("EDITOR", "vim -u NONE")]),
    situation(
        "git-add-p",
        &["bash", "-c", "git init -q; git add file; echo more >>file; git add -p"],
        &[line().prompt("Stage this hunk").step(), types("q\n"), exited(0)],
    )
    .needs(&["git"])
    .files(&[("file", "text\n")]),
    situation(
        "git-credential",
        &["bash", "-c", CREDENTIAL],
        &[
            line().prompt("Username for 'https://localhost': ").step(),
            types("me\n"),
            secret().prompt("Password for 'https://me@localhost': ").step(),
            types("secret\n"),
            exited(0),
        ],
    )
    .needs(&["git"]),
    situation(
        "git-log",
        &["bash", "-c", "git init -q; git commit -q --allow-empty -m one; git log"],
        &[screen().reader("less").asks_terminal().step(), types("q"), exited(0)],
    )
    .needs(&["git", "less"])
    .files(GIT)
    .env(&[("LESS", "R")]),
    // Packages
    situation(
        "npm-init",
        &["npm", "init"],
        &[key().prompt("package name: ").step(), types("\x03")],
    )
    .env(&[("npm_config_update_notifier", "false")]),
    situation(
        "apt-get",
        &["apt-get", "remove", "nano"],
        &[
            line().prompt("Do you want to continue? [Y/n] ").reader("apt-get").step(),
            types("n\n"),
            exited(1),
        ],
    )
    .needs(&["nano"])
    .user(User::Root)
    .beside(Beside::PackageLock),
    situation(
        "dpkg-conffile",
        &["bash", "-c", CONFFILE],
        &[
            line().prompt("(Y/I/N/O/D/Z) [default=N] ? ").reader("dpkg").step(),
            types("n\n"),
            exited(0),
        ],
    )
    .needs(&["dpkg", "dpkg-deb"])
    .user(User::Root),
    situation(
        "debconf-teletype",
        &["bash", "-c", "chmod +x ask; exec ./ask"],
        &[line().prompt("The name? ").step(), types("x\n"), exited(0)],
    )
    .needs(&["debconf"])
    .files(ASK)
    .env(&[("DEBCONF_SYSTEMRC", "debconf.conf"), ("DEBIAN_FRONTEND", "teletype")]),
    situation(
        "debconf-readline",
        &["bash", "-c", "chmod +x ask; exec ./ask"],
        &[line().prompt("The name? ").step(), types("x\n"), exited(0)],
    )
    .needs(&["debconf"])
    .files(ASK)
    .env(&[
        ("DEBCONF_SYSTEMRC", "debconf.conf"),
        ("DEBIAN_FRONTEND", "readline"),
        ("PERL_RL", "Stub"),
    ]),
    situation(
        "debconf-dialog",
        &["bash", "-c", "chmod +x ask; exec ./ask"],
        &[screen().reader("whiptail").step(), types("x\r"), exited(0)],
    )
    .needs(&["debconf", "whiptail"])
    .files(ASK)
    .env(&[("DEBCONF_SYSTEMRC", "debconf.conf"), ("DEBIAN_FRONTEND", "dialog")]),
];
