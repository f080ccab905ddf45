use super::Cause;

/// A cycle of tasks that wait for one another, found by depth-first search from `starts`.
pub(super) fn find(causes: &[Vec<Cause>], starts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut done = vec![false; causes.len()];
    for start in starts {
        let mut path: Vec<(usize, Vec<usize>)> = vec![(start, next(causes, start))];
        while let Some((here, rest)) = path.last_mut() {
            let here = *here;
            let Some(to) = rest.pop() else {
                done[here] = true;
                path.pop();
                continue;
            };
            if let Some(from) = path.iter().position(|(task, _)| *task == to) {
                return path[from..].iter().map(|(task, _)| *task).collect();
            }
            if !done[to] {
                let further = next(causes, to);
                path.push((to, further));
            }
        }
    }
    Vec::new()
}

fn next(causes: &[Vec<Cause>], task: usize) -> Vec<usize> {
    causes[task]
        .iter()
        .flat_map(|cause| match cause {
            Cause::Tasks(tasks) => tasks.clone(),
            _ => Vec::new(),
        })
        .collect()
}
