//! What grows while a start that fetches is waited for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::fetch::{Growth, Places, Waiting};
use super::tree::{self, Size};
use crate::surface::read::Progress;

/// No answer for so long, and nothing that grows: it is not fetching.
pub(super) const STALLED: Duration = Duration::from_secs(300);
/// Counting takes no more than this part of the time.
const SHARE: u32 = 20;

/// Looks at what grows while the server is waited for.
pub(super) struct Watch<'a> {
    home: &'a Path,
    places: &'a Places,
    counted: Vec<&'static str>,
    waiting: &'a Waiting<'a>,
    seen: RefCell<Seen>,
}

#[derive(Default)]
struct Seen {
    size: Size,
    names: BTreeSet<String>,
    /// When it last grew.
    grew: Duration,
    /// Not counted before.
    next: Duration,
    stalled: bool,
}

impl<'a> Watch<'a> {
    /// What lies there before it begins.
    pub(super) fn new(home: &'a Path, places: &'a Places, waiting: &'a Waiting<'a>) -> Self {
        let mut counted = places.keeps.to_vec();
        if !counted.iter().any(|place| place.is_empty()) {
            counted.push("tmp");
        }
        let seen = Seen {
            size: tree::size(home, &counted),
            names: tree::names(home, places.shows),
            ..Seen::default()
        };
        Self {
            home,
            places,
            counted,
            waiting,
            seen: RefCell::new(seen),
        }
    }

    /// Counts, and tells who waits.
    pub(super) fn tell(&self, progress: Progress) {
        let Progress::Waiting { since, .. } = progress else {
            return;
        };
        let mut seen = self.seen.borrow_mut();
        if since < seen.next {
            return;
        }
        let begun = Instant::now();
        let size = tree::size(self.home, &self.counted);
        let names = tree::names(self.home, self.places.shows);
        seen.next = since.saturating_add(begun.elapsed().saturating_mul(SHARE));
        if size != seen.size {
            seen.grew = since;
        }
        seen.size = size;
        let fresh = names.difference(&seen.names).cloned().collect();
        seen.names = names;
        (self.waiting.tell)(&Growth { since, size, fresh });
        if since.saturating_sub(seen.grew) > STALLED {
            seen.stalled = true;
            self.waiting.interrupted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was given up since nothing grew.
    pub(super) fn is_stalled(&self) -> bool {
        self.seen.borrow().stalled
    }
}
