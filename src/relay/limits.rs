//! The limits of time, and what is recorded: what a declaration says of one run.
//!
//! Pure. The limit of a start counts from the first request to a process, not from its start: a host
//! may ask late.

use std::time::Duration;

use tokio::time::Instant;

use super::{Audit, Settings};

/// The limits of time, and how far the one of the start is.
#[derive(Debug)]
pub(super) struct Limits {
    start: Option<Duration>,
    pub(super) call: Option<Duration>,
    /// No answer came from this process yet.
    unheard: bool,
    start_due: Option<Instant>,
    /// It was late, which has been counted as a failure; its end is not another.
    late: bool,
    pub(super) audit: Audit,
}

impl Limits {
    /// Of one run.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            start: settings.start_limit,
            call: settings.call_limit,
            unheard: true,
            start_due: None,
            late: false,
            audit: settings.audit,
        }
    }

    /// A request goes to the server: from the first on it has so long to answer any.
    pub(super) fn asked(&mut self, now: Instant) {
        if self.unheard && self.start_due.is_none() {
            self.start_due = self.start.and_then(|limit| now.checked_add(limit));
        }
    }

    /// It answered.
    pub(super) fn heard(&mut self) {
        (self.unheard, self.start_due) = (false, None);
    }

    /// Whether it has answered.
    pub(super) fn has_heard(&self) -> bool {
        !self.unheard
    }

    /// Another process sits there, which is asked now or later.
    pub(super) fn anew(&mut self, now: Option<Instant>) {
        (self.unheard, self.start_due, self.late) = (true, None, false);
        if let Some(now) = now {
            self.asked(now);
        }
    }

    /// When the first answer is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.start_due
    }

    /// It has not come by now; how long it may take.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Duration> {
        self.start_due.filter(|due| *due <= now)?;
        (self.start_due, self.late) = (None, true);
        self.start
    }

    /// Whether the end of the process is that of one that was late.
    pub(super) fn was_late(&mut self) -> bool {
        std::mem::take(&mut self.late)
    }

    /// Whether calls are recorded.
    pub(super) fn is_audited(&self) -> bool {
        self.audit != Audit::Off
    }
}
