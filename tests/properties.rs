//! What holds of every verdict, whatever was observed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/arbitrary.rs"]
mod arbitrary;

use std::collections::BTreeMap;

use arbitrary::{length, observation, output, roles};
use awaitty::graph::{Cause, Graph, Liveness, TimerRole};
use awaitty::observe::{
    FileId, Instant, Instantaneous, Object, Observation, Opacity, Source, Task, TaskId, TaskState,
    Wait,
};
use awaitty::verdict::{
    By, Decision, Judge, Kind, Line, Open, Output, Shells, StateName, Verdict, decide, guess,
};
use awaitty::wait::{Interest, Timeout};
use proptest::prelude::*;
use proptest::sample::Index;

type Roles = BTreeMap<TaskId, TimerRole>;

/// A timer of which nothing is known moves its task.
fn role(roles: &Roles) -> impl Fn(&Task) -> TimerRole + '_ {
    |task| roles.get(&task.id).copied().unwrap_or(TimerRole::Moves)
}

fn decided(observation: &Observation, roles: &Roles, output: Option<&Output>) -> Decision {
    let graph = Graph::build(observation, &role(roles));
    decide(&graph, roles, &mut Shells::default(), output)
}

/// The first verdict of a judge who began to watch at time zero.
fn judged(observation: &Observation, output: Option<&Output>, guess_only: bool) -> Verdict {
    let mut judge = Judge::new(Instant::ZERO);
    judge.judge(observation, output, false, guess_only).verdict
}

/// Nothing ran while the look was made.
fn stood_still(observation: &Observation) -> bool {
    observation.instant != Instantaneous::Moved && !observation.in_flight
}

fn is_consistent(verdict: &Verdict) -> Result<(), TestCaseError> {
    prop_assert!((0.0..=1.0).contains(&verdict.confidence));
    prop_assert_eq!(verdict.exact, verdict.confidence == 1.0);
    if verdict.exact {
        prop_assert_eq!(verdict.by, By::Proc);
    }
    Ok(())
}

/// Can something outside of the job end the wait of task `at`, by however many others?
fn is_reached(graph: &Graph<'_>, at: usize, by: impl Fn(&Cause) -> bool + Copy) -> bool {
    let mut seen = vec![false; graph.causes.len()];
    let mut open = vec![at];
    while let Some(here) = open.pop() {
        if std::mem::replace(&mut seen[here], true) {
            continue;
        }
        for cause in &graph.causes[here] {
            match cause {
                Cause::Tasks(tasks) => open.extend(tasks),
                cause if by(cause) => return true,
                _ => {}
            }
        }
    }
    false
}

/// The same with one more thing that can end a wait.
fn with_source(observation: &Observation, at: usize, source: Source) -> Observation {
    let mut more = observation.clone();
    if let Some(Task { state: TaskState::Blocked(wait), .. }) = more.tasks.get_mut(at) {
        wait.sources.push(source);
    }
    more
}

/// One of the tasks of member processes.
fn member(observation: &Observation, at: Index) -> Option<usize> {
    let graph = Graph::build(observation, &|_| TimerRole::Moves);
    let members: Vec<usize> = graph.members().collect();
    (!members.is_empty()).then(|| *at.get(&members))
}

fn with_state(observation: &Observation, at: usize, state: TaskState) -> Observation {
    let mut other = observation.clone();
    if let Some(task) = other.tasks.get_mut(at) {
        task.state = state;
    }
    other
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn live_is_what_something_outside_reaches(observation in observation(), roles in roles()) {
        let graph = Graph::build(&observation, &role(&roles));
        for at in 0..observation.tasks.len() {
            let live = is_reached(&graph, at, |cause| matches!(cause, Cause::Outside(_)));
            let unseen = is_reached(&graph, at, |cause| *cause == Cause::Unseen);
            let expected = match (live, unseen) {
                (true, _) => Liveness::Live,
                (false, true) => Liveness::Unknown,
                (false, false) => Liveness::Inert,
            };
            prop_assert_eq!(graph.liveness[at], expected);
            prop_assert_eq!(graph.root_of(at).is_some(), live);
        }
    }

    #[test]
    fn one_more_way_on_makes_no_task_less_live(
        observation in observation(), roles in roles(), at in 0_usize..6,
    ) {
        let before = Graph::build(&observation, &role(&roles)).liveness;
        let disk = Source::Object {
            fd: 9,
            interest: Interest::READ,
            object: Object::File {
                file: FileId { dev: 1, ino: 1 },
                path: "/file".to_owned(),
            },
        };
        for more in [
            with_source(&observation, at, Source::Time),
            with_source(&observation, at, disk),
            with_source(&observation, at, Source::Unknown { what: String::new() }),
            with_state(&observation, at, TaskState::Runnable),
        ] {
            let after = Graph::build(&more, &role(&roles)).liveness;
            for (before, after) in before.iter().zip(after) {
                // What was not to be seen may be seen to be live, never to be dead.
                prop_assert!(after >= *before, "{:?} became {:?}", before, after);
            }
        }
    }

    #[test]
    fn in_a_cycle_each_waits_for_the_next(observation in observation(), roles in roles()) {
        let graph = Graph::build(&observation, &role(&roles));
        let cycle = graph.cycle();
        for (index, &at) in cycle.iter().enumerate() {
            let next = cycle[(index + 1) % cycle.len()];
            let waits = graph.causes[at]
                .iter()
                .any(|cause| matches!(cause, Cause::Tasks(tasks) if tasks.contains(&next)));
            prop_assert!(waits);
        }
    }

    #[test]
    fn a_runnable_member_makes_the_job_run(
        observation in observation(), output in output(), at: Index, guess_only: bool,
    ) {
        if let Some(member) = member(&observation, at) {
            let observation = with_state(&observation, member, TaskState::Runnable);
            let verdict = judged(&observation, output.as_ref(), guess_only);
            prop_assert_eq!(verdict.state.name(), StateName::Running);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_never_exact(
        observation in observation(), roles in roles(), output in output(), at: Index,
    ) {
        let Some(member) = member(&observation, at) else { return Ok(()) };
        let opaque = TaskState::Opaque { why: Opacity::Denied };
        let observation = with_state(&observation, member, opaque);
        let live = Graph::build(&observation, &role(&roles)).job() == Liveness::Live;
        if live || !stood_still(&observation) {
            return Ok(());
        }
        match decided(&observation, &roles, output.as_ref()) {
            Decision::Verdict(verdict) => prop_assert!(!verdict.exact, "{:?}", verdict),
            Decision::Closed { why } => prop_assert!(!why.is_empty()),
            Decision::Remote => {}
        }
    }

    #[test]
    fn exact_is_proved(observation in observation(), roles in roles(), output in output()) {
        if let Decision::Verdict(verdict) = decided(&observation, &roles, output.as_ref()) {
            is_consistent(&verdict)?;
            if verdict.exact && verdict.is_settled() {
                prop_assert_eq!(observation.instant, Instantaneous::Proved);
                prop_assert!(!observation.in_flight);
            }
        }
    }

    #[test]
    fn exact_input_is_empty_input(
        observation in observation(), roles in roles(), output in output(),
    ) {
        if let Decision::Verdict(verdict) = decided(&observation, &roles, output.as_ref())
            && verdict.exact
            && let Some(input) = verdict.input()
            && input.kind != Kind::Pipe
        {
            let outer = observation.terminal.as_ref().and_then(|terminal| terminal.readable);
            prop_assert_eq!(outer, Some(false));
            prop_assert!(observation.inner.iter().all(|inner| inner.readable != Some(true)));
        }
    }

    #[test]
    fn a_judge_is_consistent_from_look_to_look(
        looks in proptest::collection::vec((observation(), output(), any::<bool>()), 1..5),
        guess_only: bool,
    ) {
        let mut judge = Judge::new(Instant::ZERO);
        for (observation, output, consumed) in &looks {
            let judgement = judge.judge(observation, output.as_ref(), *consumed, guess_only);
            is_consistent(&judgement.verdict)?;
            if guess_only {
                prop_assert_eq!(judgement.verdict.by, By::Heuristic);
            }
        }
    }

    #[test]
    fn a_guess_is_never_certain(
        observation in observation(), output in output(), quiet in length(),
        ran: bool, remote: bool,
    ) {
        let open =
            Open { observation: &observation, output: output.as_ref(), quiet, ran, why: "", remote };
        let verdict = guess(&open);
        is_consistent(&verdict)?;
        prop_assert!(!verdict.exact && verdict.confidence < 1.0);
        prop_assert_eq!(verdict.by, By::Heuristic);
    }

    #[test]
    fn json_reads_back(
        observation in observation(), output in output(), guess_only: bool,
        seq: u64, t in length(), tty: Option<String>,
    ) {
        let verdict = judged(&observation, output.as_ref(), guess_only);
        let line = Line::new(seq, t.as_secs_f64(), tty, &verdict);
        let text = serde_json::to_string(&line).unwrap();
        prop_assert!(!text.contains('\n'));
        prop_assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    }

    #[test]
    fn any_text_is_compared_with_a_prompt(text in ".*") {
        let _ = awaitty::verdict::is_prompt_like(&text);
    }
}

#[test]
fn a_wait_for_nothing_at_all_is_inert() {
    let wait = Wait { call: "poll", sources: Vec::new(), timeout: Timeout::Never, stack: 0 };
    let task = Task {
        id: TaskId { pid: 1, tid: 1 },
        comm: "poll".to_owned(),
        state: TaskState::Blocked(wait),
        runs: None,
        cpu: None,
    };
    let observation = Observation { tasks: vec![task], ..Observation::default() };
    let graph = Graph::build(&observation, &|_| TimerRole::Moves);
    assert_eq!(graph.liveness, [Liveness::Inert]);
}
