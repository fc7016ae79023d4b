//! How long it is to the next look, and what many looks in a row say. Pure.
//!
//! A server that uses little is looked at seldom: as long as the fastest writer would need to
//! come to its limit. Near the limit the looks are close together; they never take more than a
//! small part of one processor.

use std::time::Duration;

/// Bytes a second that one processor fills with pages it did not have, and all of them together.
const ONE: u64 = 2 << 30;
const ALL: u64 = 32 << 30;
/// The shortest and the longest pause.
const LEAST: Duration = Duration::from_millis(20);
pub(super) const MOST: Duration = Duration::from_secs(1);
/// The pause is so many times what the look took.
const SHARE: u32 = 25;
/// The pause while the processes are at their limit, and so many looks in a row make a bomb.
const AT_LIMIT: Duration = Duration::from_millis(200);
const LOOKS: u32 = 10;
/// So many looks in a row at more than the limit, which nothing in the kernel held.
const LOOKS_ABOVE: u32 = 2;

/// Until the next look: so much is left, on so many processors; the last look took so long.
pub(super) fn pause(left: u64, processors: u64, took: Duration) -> Duration {
    let rate = ONE.saturating_mul(processors).clamp(ONE, ALL);
    let millis = left.saturating_mul(1_000).checked_div(rate).unwrap_or(0);
    Duration::from_millis(millis)
        .max(took.saturating_mul(SHARE))
        .clamp(LEAST, MOST)
}

/// Whether a server goes on at its limit of processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    at: u32,
    above: u32,
}

impl Crowd {
    /// So many processes and threads were seen. True where that makes a bomb: the kernel refuses
    /// the next one, and has for some time, or does not hold the limit at all.
    pub(super) fn seen(&mut self, count: u64, limit: u64) -> bool {
        // Processes that come and go while they are counted are missed or counted twice.
        let near = limit.saturating_sub(limit >> 6);
        let beyond = limit.saturating_add(limit >> 3);
        let next = |looks: u32, is: bool| if is { looks.saturating_add(1) } else { 0 };
        self.at = next(self.at, count >= near);
        self.above = next(self.above, count > beyond);
        self.at >= LOOKS || self.above >= LOOKS_ABOVE
    }

    /// The longest pause, by what was seen.
    pub(super) fn pause(&self) -> Duration {
        if self.at > 0 { AT_LIMIT } else { MOST }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_left_the_sooner_the_next_look() {
        let none = Duration::ZERO;
        assert_eq!(pause(u64::MAX, 1, none), MOST);
        assert_eq!(pause(4 << 30, 2, none), MOST);
        assert_eq!(pause(4 << 30, 16, none), Duration::from_millis(125));
        assert_eq!(pause(4 << 30, 1_000, none), Duration::from_millis(125));
        assert_eq!(pause(256 << 20, 2, none), Duration::from_millis(62));
        assert_eq!(pause(0, 2, none), LEAST);
        // A look that took long is not followed at once.
        let long = Duration::from_millis(10);
        assert_eq!(pause(0, 2, long), Duration::from_millis(250));
        assert_eq!(pause(0, 2, MOST), MOST);
    }

    #[test]
    fn a_peak_is_no_bomb() {
        let mut crowd = Crowd::default();
        for _ in 0..LOOKS * 3 {
            assert!(!crowd.seen(503, 512), "busy, and within its limit");
            assert_eq!(crowd.pause(), MOST);
        }
        for _ in 1..LOOKS {
            assert!(!crowd.seen(512, 512));
            assert_eq!(crowd.pause(), AT_LIMIT);
        }
        assert!(!crowd.seen(100, 512), "it came down");
        for _ in 1..LOOKS {
            assert!(!crowd.seen(508, 512));
        }
        assert!(crowd.seen(512, 512));
    }

    #[test]
    fn more_than_the_limit_is_a_bomb_at_once() {
        let mut crowd = Crowd::default();
        assert!(!crowd.seen(80, 64));
        assert!(!crowd.seen(70, 64));
        assert!(!crowd.seen(80, 64));
        assert!(crowd.seen(80, 64));
        assert!(!Crowd::default().seen(5, 4));
    }
}
