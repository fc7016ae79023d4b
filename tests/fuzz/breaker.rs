//! The breaker is open for at most its time, after three failures at least, and reads back as it is.
//!
//! Two bytes a step: what happened, and how much later.

use jiff::{SignedDuration, Timestamp};

use super::super::breaker::{Breaker, FAILURES, OPEN, Verdict};
use super::driver::signature;

pub fn target(input: &[u8]) -> u64 {
    let mut now = Timestamp::from_second(1_800_000_000).unwrap();
    let (mut breaker, mut row, mut ways) = (Breaker::default(), 0_u32, Vec::new());
    for step in input.chunks_exact(2) {
        let [what, later] = [step[0], step[1]];
        // The clock may be set back, too.
        let seconds = i64::from(later) - if what & 4 == 0 { 0 } else { 128 };
        now = now
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap();
        let before = breaker.left(now);
        let verdict = if what & 1 == 0 {
            Verdict::Failed
        } else {
            Verdict::Succeeded
        };
        breaker = breaker.after(verdict, now);
        row = if verdict == Verdict::Failed {
            row + 1
        } else {
            0
        };
        assert_eq!(breaker.failures, row);
        let left = breaker.left(now);
        assert!(left.is_none_or(|left| left <= OPEN && !left.is_zero()));
        match verdict {
            Verdict::Succeeded => assert_eq!(left, None),
            Verdict::Failed if row >= FAILURES => assert_eq!(left, Some(before.unwrap_or(OPEN))),
            Verdict::Failed => assert_eq!(left, None),
        }
        let text = serde_json::to_string(&breaker).unwrap();
        assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), breaker);
        ways.push(u8::from(left.is_some()) + 2 * u8::try_from(row.min(9)).unwrap());
    }
    // What stands in the file may be anything.
    if let Ok(read) = serde_json::from_slice::<Breaker>(input) {
        assert!(read.left(now).is_none_or(|left| left <= OPEN));
        let _ = read.after(Verdict::Failed, now);
    }
    signature(&ways)
}
