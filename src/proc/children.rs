/// The children of one thread from `/proc/PID/task/TID/children` (proc_pid_task(5)): PIDs with a
/// space after each. The file is exact only while no child ends, so a look that must be sure asks
/// twice.
pub fn children(text: &str) -> impl Iterator<Item = i32> {
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(children("12 4194303 ").collect::<Vec<_>>(), [12, 4_194_303]);
        assert_eq!(children("").count(), 0);
        assert_eq!(children("x -1 0 99999999999 7").collect::<Vec<_>>(), [7]);
    }
}
