//! Looks at a scripted kernel: what a look finds, and what happens while it looks.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/fake_kernel.rs"]
mod fake_kernel;

use awaitty::observe::{
    Depth, Instantaneous, Looker, Observation, Opacity, Pid, ReadError, TaskFile, TaskState,
};
use awaitty::verdict::{By, Kind, State, StateName, Verdict};
use fake_kernel::{FakeKernel, FakeTask, Moment, pipe, scope};

const READ: u64 = 0;
const WAIT4: u64 = 61;
const ANY_CHILD: u64 = u64::MAX;
/// The leader of the session.
const LEADER: Pid = 10;
const CHILD: Pid = 11;

/// One process that reads its terminal.
fn reader() -> FakeKernel {
    let mut kernel = FakeKernel::new(LEADER);
    kernel.machine.start(LEADER, 1, LEADER, FakeTask::asleep(READ, 0));
    kernel
}

/// A parent that waits for a child that reads the terminal.
fn family() -> FakeKernel {
    let mut kernel = FakeKernel::new(LEADER);
    kernel.machine.start(LEADER, 1, LEADER, FakeTask::asleep(WAIT4, ANY_CHILD));
    kernel.machine.start(CHILD, LEADER, LEADER, FakeTask::asleep(READ, 0));
    kernel
}

/// Two processes, each reading the pipe that the other writes to.
fn pair() -> FakeKernel {
    let mut kernel = FakeKernel::new(LEADER);
    kernel.machine.start(LEADER, 1, LEADER, FakeTask::asleep(READ, 4));
    kernel.machine.start(CHILD, LEADER, LEADER, FakeTask::asleep(READ, 4));
    for (pid, from, to) in [(LEADER, 100, 200), (CHILD, 200, 100)] {
        let process = kernel.machine.processes.get_mut(&pid).unwrap();
        process.fds.extend([(4, pipe(from, false)), (5, pipe(to, true))]);
    }
    kernel
}

fn look(looker: &mut Looker, kernel: &mut FakeKernel) -> Observation {
    let judge = awaitty::verdict::Judge::new(kernel.clock);
    looker.look(kernel, Depth::Whole, &mut |task| judge.is_live(task))
}

fn judged(observation: &Observation) -> Verdict {
    let mut judge = awaitty::verdict::Judge::new(observation.at);
    judge.judge(observation, None, false, false).verdict
}

/// What a single look at this kernel comes to.
fn seen(mut kernel: FakeKernel) -> (Instantaneous, Verdict) {
    let observation = look(&mut Looker::new(scope(LEADER)), &mut kernel);
    (observation.instant, judged(&observation))
}

#[track_caller]
fn assert_moved(kernel: FakeKernel) {
    let (instant, verdict) = seen(kernel);
    assert_eq!(instant, Instantaneous::Moved);
    assert_eq!(verdict.state.name(), StateName::Running);
}

#[test]
fn a_read_of_the_terminal_is_input() {
    let (instant, verdict) = seen(reader());
    assert_eq!(instant, Instantaneous::Proved);
    assert!(verdict.exact);
    let input = verdict.input().unwrap();
    let reader = input.reader.as_ref().unwrap();
    assert_eq!((input.kind, input.exclusive), (Kind::Line, true));
    assert_eq!((reader.pid, reader.call.as_str(), reader.fd), (LEADER, "read", 0));
}

#[test]
fn the_modes_are_those_between_the_passes() {
    let mut kernel = reader();
    kernel.at(Moment::Read(LEADER, TaskFile::Syscall), |machine| {
        machine.modes = machine.modes.map(|modes| awaitty::observe::Modes { echo: false, ..modes });
    });
    assert_eq!(seen(kernel).1.input().unwrap().kind, Kind::Secret);
}

#[test]
fn a_parent_that_waits_for_the_reader_is_inert() {
    let (instant, verdict) = seen(family());
    assert_eq!(instant, Instantaneous::Proved);
    assert_eq!(verdict.input().unwrap().reader.as_ref().unwrap().pid, CHILD);
    assert!(verdict.exact);
}

#[test]
fn a_woken_task_still_shows_its_old_call() {
    let mut kernel = reader();
    kernel.at(Moment::BetweenPasses, |machine| machine.task(LEADER).letter = 'R');
    assert_moved(kernel);
}

#[test]
fn a_task_that_ran_and_sleeps_in_another_call_has_moved() {
    let mut kernel = reader();
    kernel.at(Moment::BetweenPasses, |machine| {
        let runs = machine.task(LEADER).runs;
        *machine.task(LEADER) = FakeTask { runs: runs + 1, ..FakeTask::asleep(WAIT4, ANY_CHILD) };
    });
    assert_moved(kernel);
}

#[test]
fn a_task_that_ran_and_is_back_proves_nothing_without_a_habit() {
    let mut kernel = reader();
    kernel.at(Moment::BetweenPasses, |machine| machine.task(LEADER).ran());
    let (instant, verdict) = seen(kernel);
    assert_eq!(instant, Instantaneous::Returned);
    assert_eq!(verdict.state.name(), StateName::Running);
}

/// The first pass finds each of the two asleep, because work goes to and fro between its reads.
#[test]
fn a_pair_that_passes_work_is_never_caught_asleep() {
    let mut kernel = pair();
    kernel.machine.task(LEADER).letter = 'R';
    kernel.at(Moment::Read(CHILD, TaskFile::Syscall), |machine| {
        machine.task(LEADER).letter = 'S';
        machine.task(CHILD).letter = 'R';
    });
    assert_moved(kernel);
    let (instant, verdict) = seen(pair());
    assert_eq!(instant, Instantaneous::Proved);
    assert_eq!(verdict.state.name(), StateName::Idle, "as long as nobody stirs it is a deadlock");
}

#[test]
fn a_child_that_appears_between_the_passes_is_not_overlooked() {
    let mut kernel = reader();
    kernel.at(Moment::BetweenPasses, |machine| {
        machine.start(CHILD, LEADER, LEADER, FakeTask::asleep(READ, 0));
    });
    assert_moved(kernel);
}

#[test]
fn a_thread_that_appears_between_the_passes_is_not_overlooked() {
    let mut kernel = reader();
    kernel.at(Moment::BetweenPasses, |machine| {
        let process = machine.processes.get_mut(&LEADER).unwrap();
        process.threads.insert(99, FakeTask::asleep(READ, 0));
    });
    assert_moved(kernel);
}

#[test]
fn a_process_that_vanishes_during_the_look_is_no_verdict() {
    for moment in [Moment::Read(CHILD, TaskFile::Syscall), Moment::BetweenPasses] {
        let mut kernel = family();
        kernel.at(moment, |machine| machine.reap(CHILD));
        assert_moved(kernel);
    }
}

#[test]
fn another_group_in_front_is_another_job() {
    let mut kernel = family();
    kernel.at(Moment::BetweenPasses, |machine| machine.foreground = CHILD);
    assert_moved(kernel);
}

#[test]
fn typed_input_is_about_to_wake_its_reader() {
    let mut kernel = reader();
    kernel.machine.readable = true;
    assert_eq!(seen(kernel).1.state.name(), StateName::Running);
}

#[test]
fn a_job_of_zombies_is_about_to_be_reaped() {
    let mut kernel = family();
    kernel.machine.foreground = CHILD;
    let child = kernel.machine.processes.get_mut(&CHILD).unwrap();
    child.group = CHILD;
    child.threads.insert(CHILD, FakeTask::zombie());
    assert_eq!(seen(kernel).1.state.name(), StateName::Running);
}

#[test]
fn without_permission_nothing_is_exact() {
    let mut kernel = reader();
    kernel.machine.task(LEADER).syscall = Err(ReadError::Denied);
    let mut looker = Looker::new(scope(LEADER));
    let observation = look(&mut looker, &mut kernel);
    assert_eq!(observation.tasks[0].state, TaskState::Opaque { why: Opacity::Denied });
    let verdict = judged(&observation);
    assert!(!verdict.exact && verdict.by == By::Heuristic && verdict.confidence < 1.0);
}

#[test]
fn context_switches_stand_in_for_run_counters() {
    let mut kernel = reader();
    kernel.machine.task(LEADER).runs = 0;
    assert_eq!(seen(kernel).0, Instantaneous::Proved);
    let mut kernel = reader();
    kernel.machine.task(LEADER).runs = 0;
    kernel.at(Moment::BetweenPasses, |machine| machine.task(LEADER).switches += 1);
    assert_eq!(seen(kernel).0, Instantaneous::Returned);
}

#[test]
fn a_second_look_at_a_sleeper_reads_no_call() {
    let mut kernel = family();
    let mut looker = Looker::new(scope(LEADER));
    let first = look(&mut looker, &mut kernel);
    kernel.reads.clear();
    let second = look(&mut looker, &mut kernel);
    assert_eq!(second.instant, Instantaneous::Proved);
    assert_eq!(second.tasks, first.tasks);
    assert!(kernel.reads.iter().all(|(_, file)| *file != TaskFile::Syscall));
}

#[test]
fn whatever_runs_after_the_proof_is_seen_by_the_next_look() {
    let mut kernel = family();
    let mut looker = Looker::new(scope(LEADER));
    assert_eq!(look(&mut looker, &mut kernel).instant, Instantaneous::Proved);
    kernel.machine.task(CHILD).ran();
    kernel.machine.task(CHILD).letter = 'R';
    let observation = look(&mut looker, &mut kernel);
    assert_eq!(judged(&observation).state.name(), StateName::Running);
}

#[test]
fn what_a_child_in_the_background_waits_on_counts_beside_a_reader() {
    let mut kernel = reader();
    let (parent, child, writer): (Pid, Pid, Pid) = (12, 13, 14);
    kernel.machine.start(
        parent,
        LEADER,
        LEADER,
        FakeTask::asleep(WAIT4, u64::from(child.unsigned_abs())),
    );
    kernel.machine.start(child, parent, child, FakeTask::asleep(READ, 4));
    kernel.machine.start(
        writer,
        LEADER,
        writer,
        FakeTask { letter: 'R', ..FakeTask::asleep(READ, 0) },
    );
    for (pid, write) in [(child, false), (writer, true)] {
        let process = kernel.machine.processes.get_mut(&pid).unwrap();
        process.fds.insert(4, pipe(100, write));
    }
    let (_, verdict) = seen(kernel);
    let State::Running(running) = verdict.state else { panic!("{verdict:?}") };
    assert!(running.accepts_input);
}

#[test]
fn a_background_reader_does_not_belong_to_the_job() {
    let mut kernel = family();
    kernel.machine.processes.get_mut(&CHILD).unwrap().group = CHILD;
    *kernel.machine.task(LEADER) = FakeTask::asleep(READ, 0);
    let (_, verdict) = seen(kernel);
    assert_eq!(verdict.job.len(), 1);
    assert_eq!(verdict.input().unwrap().reader.as_ref().unwrap().pid, LEADER);
}
