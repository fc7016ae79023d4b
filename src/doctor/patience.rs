//! How long is waited for what should end. Pure.
//!
//! A machine that gives nothing time to run gives it neither to what is waited for. So it is waited
//! in turns, in each of which everybody else could run, and not by the clock; and what takes too
//! long by the clock all the same is told from what was seen to stay.

use std::time::Duration;

/// Between two turns.
pub const PAUSE: Duration = Duration::from_millis(5);
/// No longer than this, however few turns that were.
pub const LONGEST: Duration = Duration::from_secs(30);

/// What to do after some turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another turn.
    Wait,
    /// It had its time, and is seen to stay.
    Stays,
    /// There were too few turns to tell.
    Starved,
}

/// What to do after `turns` that took `passed`, where there may be `patience` of them.
#[must_use]
pub fn next(turns: u32, passed: Duration, patience: u32) -> Next {
    if turns >= patience {
        Next::Stays
    } else if passed >= LONGEST {
        Next::Starved
    } else {
        Next::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_had_few_turns_in_a_long_time_is_not_said_to_stay() {
        let long = Duration::from_secs(3600);
        for (turns, passed, wanted) in [
            (0, Duration::ZERO, Next::Wait),
            (199, Duration::from_secs(29), Next::Wait),
            (200, Duration::from_secs(1), Next::Stays),
            (200, long, Next::Stays),
            (199, LONGEST, Next::Starved),
            (1, long, Next::Starved),
        ] {
            assert_eq!(next(turns, passed, 200), wanted, "{turns} in {passed:?}");
        }
    }
}
