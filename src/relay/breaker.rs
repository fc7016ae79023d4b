//! The breaker: a server that fails over and over is left alone for a while.
//!
//! Pure: what happened and the time go in, a new [`Breaker`] comes out. It is kept on disk by the
//! caller, so that a host that restarts finds it as it was; hence the time of day.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Consecutive failures that open it.
pub const FAILURES: u32 = 3;
/// How long it stays open.
pub const OPEN: Duration = Duration::from_secs(60);

/// What became of something that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A death, a time-out, an error of the server's own making, an answer that is none.
    Failed,
    /// A call was answered, be it with `isError`.
    Succeeded,
}

/// The state of one server's breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// Failures since the last success.
    pub failures: u32,
    /// Open until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Breaker {
    /// The state after this.
    #[must_use]
    pub fn after(self, verdict: Verdict, now: Timestamp) -> Self {
        match verdict {
            Verdict::Succeeded => Self::default(),
            // A call that was under way when it opened does not make it longer.
            Verdict::Failed if self.left(now).is_some() => Self {
                failures: self.failures.saturating_add(1),
                ..self
            },
            Verdict::Failed => {
                let failures = self.failures.saturating_add(1);
                let open = failures >= FAILURES;
                Self {
                    failures,
                    until: open.then(|| now.saturating_add(OPEN).unwrap_or(Timestamp::MAX)),
                }
            }
        }
    }

    /// How long it is still open; never longer than [`OPEN`], whatever was done to the clock.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        let left = Duration::try_from(self.until?.duration_since(now)).ok()?;
        (!left.is_zero()).then(|| left.min(OPEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn three_in_a_row_open_it_for_a_minute() {
        let mut breaker = Breaker::default();
        for second in 0..2 {
            breaker = breaker.after(Verdict::Failed, at(second));
            assert_eq!(breaker.left(at(second)), None);
        }
        breaker = breaker.after(Verdict::Failed, at(2));
        assert_eq!(breaker.left(at(2)), Some(OPEN));
        assert_eq!(breaker.left(at(32)), Some(Duration::from_secs(30)));
        assert_eq!(
            breaker.after(Verdict::Failed, at(32)).left(at(32)),
            Some(Duration::from_secs(30))
        );
        assert_eq!(breaker.left(at(62)), None);
        assert_eq!(
            breaker.after(Verdict::Failed, at(62)).left(at(62)),
            Some(OPEN),
            "the next failure opens it again"
        );
        assert_eq!(
            breaker.after(Verdict::Succeeded, at(62)),
            Breaker::default()
        );
    }

    #[test]
    fn a_clock_that_was_set_back_holds_nothing_up_for_longer() {
        let open = Breaker {
            failures: 3,
            until: Some(at(1_000_000)),
        };
        assert_eq!(open.left(at(0)), Some(OPEN));
    }

    proptest! {
        /// Open exactly where the last three or more were failures and the last opening is recent.
        #[test]
        fn it_opens_after_three_failures_and_never_before(words in proptest::collection::vec((any::<bool>(), 0i64..200), 0..60)) {
            let (mut breaker, mut row, mut now) = (Breaker::default(), 0_u32, 0);
            for (fails, later) in words {
                now += later;
                let before = breaker.left(at(now));
                let verdict = if fails { Verdict::Failed } else { Verdict::Succeeded };
                breaker = breaker.after(verdict, at(now));
                row = if fails { row + 1 } else { 0 };
                prop_assert_eq!(breaker.failures, row);
                match (fails, row >= FAILURES) {
                    (true, true) => prop_assert_eq!(breaker.left(at(now)), Some(before.unwrap_or(OPEN))),
                    _ => prop_assert_eq!(breaker.left(at(now)), None),
                }
            }
        }
    }
}
