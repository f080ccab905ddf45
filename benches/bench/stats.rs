//! Order statistics: distributions of latencies have long tails, and a mean says nothing of them.

/// Samples in ascending order.
pub(crate) struct Sorted(Vec<f64>);

impl Sorted {
    pub(crate) fn new(mut samples: Vec<f64>) -> Sorted {
        samples.sort_unstable_by(f64::total_cmp);
        Sorted(samples)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The smallest sample that `part` of all samples do not exceed (the nearest rank).
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}
