//! Interpreters and debuggers.

use awaitty::verdict::WaitingOn::{Cpu, Timer};

use crate::situation::{
    Situation, busy_reader, exited, key, line, prints, running, secret, situation, types,
};

const PYTHON: &[&str] = &["python3", "-q"];
const THREAD: &str = "
import sys, threading
print('Name? ', end='', flush=True)
threading.Thread(target=sys.stdin.readline).start()
";
const ASYNCIO: &str = "
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    loop.add_reader(0, lambda: (sys.stdin.readline(), loop.stop()))
    print('Name? ', end='', flush=True)
    await loop.create_future()
try:
    asyncio.run(main())
except RuntimeError:
    pass
";
const BESIDE_WORK: &str = "
import sys, threading
print('Name? ', end='', flush=True)
threading.Thread(target=sys.stdin.readline, daemon=True).start()
while True: pass
";

const QUESTION: &str = "
const { stdin: input, stdout: output } = process;
require('readline').createInterface({ input, output }).question('Name? ', () => process.exit(3));
";

pub(super) const TABLE: &[Situation] = &[
    situation(
        "python",
        PYTHON,
        &[
            key().prompt(">>> ").reader("python3").step(),
            types("1\n"),
            key().prompt(">>> ").reader("python3").step(),
            types("exit(4)\n"),
            exited(4),
        ],
    ),
    situation(
        "python-block",
        PYTHON,
        &[key().prompt(">>> ").step(), types("if True:\n"), key().prompt("... ").step()],
    ),
    situation(
        "python-input",
        PYTHON,
        &[key().prompt(">>> ").step(), types("input('Name? ')\n"), key().prompt("Name? ").step()],
    ),
    situation(
        "python-getpass",
        PYTHON,
        &[
            key().prompt(">>> ").step(),
            types("import getpass; getpass.getpass('Word: ')\n"),
            secret().prompt("Word: ").step(),
            types("x\n"),
            key().prompt(">>> ").step(),
        ],
    ),
    situation(
        "python-sleep",
        PYTHON,
        &[
            key().prompt(">>> ").step(),
            types("import time; time.sleep(100)\n"),
            running(&[Timer]),
            types("\x03"),
            key().prompt(">>> ").step(),
        ],
    ),
    situation(
        "python-loop",
        PYTHON,
        &[key().prompt(">>> ").step(), types("while True: pass\n\n"), running(&[Cpu])],
    ),
    situation(
        "python-script-input",
        &["python3", "-c", "input('Name? ')"],
        &[line().prompt("Name? ").reader("python3").step(), types("x\n"), exited(0)],
    ),
    situation(
        "python-thread",
        &["python3", "-c", THREAD],
        &[line().prompt("Name? ").reader("python3").step(), types("x\n"), exited(0)],
    ),
    situation(
        "python-asyncio",
        &["python3", "-c", ASYNCIO],
        &[line().prompt("Name? ").reader("python3").step(), types("x\n"), exited(0)],
    ),
    situation(
        "node",
        &["node"],
        &[
            key().prompt("> ").reader("node").step(),
            types("1\n"),
            key().prompt("> ").reader("node").step(),
            types(".exit\n"),
            exited(0),
        ],
    ),
    situation(
        "node-block",
        &["node"],
        &[key().prompt("> ").step(), types("if (true) {\n"), key().prompt("... ").step()],
    ),
    situation(
        "node-question",
        &["node", "-e", QUESTION],
        &[key().prompt("Name? ").reader("node").step(), types("x\n"), exited(3)],
    ),
    situation(
        "node-stdin",
        &["node", "-e", "process.stdin.once('data', () => process.exit(3))"],
        &[line().reader("node").step(), types("x\n"), exited(3)],
    ),
    situation("node-timer", &["node", "-e", "setTimeout(() => {}, 100000)"], &[running(&[Timer])]),
    situation(
        "sqlite3",
        &["sqlite3"],
        &[
            key().prompt("sqlite> ").reader("sqlite3").step(),
            types("select 1\n"),
            key().prompt("...> ").reader("sqlite3").step(),
            types(";\n.quit\n"),
            exited(0),
        ],
    ),
    situation(
        "gdb",
        &["gdb", "-q", "-nx"],
        &[key().prompt("(gdb) ").reader("gdb").step(), types("quit\n"), exited(0)],
    ),
    situation(
        "gdb-inferior",
        &["gdb", "-q", "-nx", "cat"],
        &[
            key().prompt("(gdb) ").reader("gdb").step(),
            types("run\n"),
            line().reader("cat").step(),
            types("\x03"),
            key().prompt("(gdb) ").reader("gdb").step(),
        ],
    ),
    situation(
        "psql-password",
        &["psql", "-h", "127.0.0.1", "-W", "-U", "me", "db"],
        &[secret().prompt("Password: ").reader("psql").step()],
    ),
    situation(
        "jshell",
        &["jshell"],
        // Its sweeper sleeps a day on a futex: a fallback, as long as nobody has seen it return.
        &[
            key().prompt("jshell> ").guessed().step(),
            types("1\n"),
            key().prompt("jshell> ").guessed().step(),
        ],
    ),
    situation(
        "perl-debugger",
        &["perl", "-de", "0"],
        &[line().prompt("DB<1> ").reader("perl").step(), types("q\n"), exited(0)],
    ),
    situation(
        "bc",
        &["bc", "-q"],
        &[
            key().reader("bc").step(),
            types("1\n"),
            key().reader("bc").step(),
            types("quit\n"),
            exited(0),
        ],
    ),
    situation(
        "ed",
        &["ed", "-p", "* "],
        &[line().prompt("* ").reader("ed").step(), types("q\n"), exited(0)],
    ),
    situation(
        "reader-beside-work",
        &["python3", "-c", BESIDE_WORK],
        &[prints("Name? "), busy_reader(&[Cpu])],
    ),
];
