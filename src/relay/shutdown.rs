//! When a run ends, step by step.
//!
//! Pure: what happens goes in with the time at which it does, what is to be done comes out when
//! it is due. The host's end of stdin allows under 2 s in all: 1.0 s for the server to end by
//! itself, SIGTERM, 0.5 s, SIGKILL, and what is left for the last bytes.

use std::time::Duration;

use tokio::time::Instant;

use super::{End, Over};

/// From the host's end of stdin to SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(1_000);
/// From SIGTERM to SIGKILL.
pub(super) const TERM: Duration = Duration::from_millis(500);
/// From SIGKILL, or the server's end, to our own where the host waits for that.
pub(super) const FLUSH: Duration = Duration::from_millis(250);
/// How long a host that reads nothing holds up our end after the server's; and how long we wait
/// for the first request where the server ended before there was one.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a server that closed its stdout may take to end before open requests are answered.
pub(super) const MUTE: Duration = Duration::from_millis(250);

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Answer what waits: the server closed its stdout and lives.
    Tell,
    /// SIGTERM to the group.
    Terminate,
    /// SIGKILL to the group.
    Kill,
    /// Nothing of stderr is waited for any longer.
    Mumble,
    /// End, whatever is not done.
    Leave,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Until SIGTERM.
    Grace(Instant),
    /// Until SIGKILL.
    Term(Instant),
    /// Until the end, with the server not yet reaped.
    Killed(Instant),
    /// Until the end, the server reaped.
    Flush(Instant),
    Over,
}

/// The state of the end.
#[derive(Debug)]
pub(super) struct Shutdown {
    phase: Phase,
    end: Option<End>,
    /// Not later than this: somebody waits for our end.
    by: Option<Instant>,
    tell: Option<Instant>,
    stderr: Option<Instant>,
}

impl Shutdown {
    /// Nothing has happened.
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Running,
            end: None,
            by: None,
            tell: None,
            stderr: None,
        }
    }

    /// What began the end; the first counts.
    pub(super) fn end(&self) -> Option<End> {
        self.end
    }

    /// Until when all may take, where somebody waits for our end.
    pub(super) fn by(&self) -> Option<Instant> {
        self.by
    }

    /// The host closed its end of our stdin or stdout.
    pub(super) fn host_left(&mut self, now: Instant) {
        if matches!(self.end, Some(End::HostLeft | End::Signalled(_))) {
            return;
        }
        self.end.get_or_insert(End::HostLeft);
        let by = now + GRACE + TERM + FLUSH;
        self.hurry(by);
        match self.phase {
            Phase::Running => self.phase = Phase::Grace(now + GRACE),
            Phase::Flush(at) => self.phase = Phase::Flush(at.min(now + FLUSH)),
            _ => {}
        }
    }

    /// The supervisor got a signal. A second one does not wait.
    pub(super) fn signalled(&mut self, now: Instant, number: i32) -> Option<Action> {
        self.end.get_or_insert(End::Signalled(number));
        self.hurry(now + TERM + FLUSH);
        match self.phase {
            Phase::Running | Phase::Grace(_) => {
                self.phase = Phase::Term(now + TERM);
                Some(Action::Terminate)
            }
            Phase::Term(_) => {
                self.phase = Phase::Killed(now + FLUSH);
                Some(Action::Kill)
            }
            Phase::Flush(at) => {
                self.phase = Phase::Flush(at.min(now + FLUSH));
                None
            }
            Phase::Killed(_) | Phase::Over => None,
        }
    }

    /// The server is over a limit: it is killed at once. Who asked is answered when it is gone,
    /// which takes a moment where there are many processes.
    pub(super) fn over_limit(&mut self, now: Instant, over: Over) -> Option<Action> {
        // One that closed its pipes would be started again.
        if matches!(self.end, None | Some(End::ServerClosed)) {
            self.end = Some(End::Over(over));
        }
        // It closes them by being killed.
        self.tell = None;
        match self.phase {
            Phase::Running | Phase::Grace(_) | Phase::Term(_) => {
                self.phase = Phase::Killed(self.by.unwrap_or(now + PATIENCE));
                Some(Action::Kill)
            }
            Phase::Killed(_) | Phase::Flush(_) | Phase::Over => None,
        }
    }

    /// The server closed its stdout (`mute`) or its stdin and has not ended.
    pub(super) fn server_closed(&mut self, now: Instant, mute: bool) {
        let over = matches!(self.end, Some(End::Over(_)));
        let gone = matches!(self.phase, Phase::Flush(_) | Phase::Over);
        if mute && self.tell.is_none() && !over && !gone {
            self.tell = Some(now + MUTE);
        }
        // As a rule it is about to end, which then is what began the end.
        if self.phase == Phase::Running {
            self.phase = Phase::Grace(now + GRACE);
        }
    }

    /// The server's main process ended.
    pub(super) fn exited(&mut self, now: Instant) {
        self.end.get_or_insert(End::ServerEnded);
        self.tell = None;
        self.stderr = Some(now + FLUSH);
        let until = self.by.map_or(now + PATIENCE, |by| by.max(now + FLUSH));
        self.phase = Phase::Flush(until);
    }

    /// Whether that was told.
    pub(super) fn has_exited(&self) -> bool {
        matches!(self.phase, Phase::Flush(_) | Phase::Over)
    }

    /// The server ended, and is not started again.
    pub(super) fn not_started(&mut self) {
        self.end.get_or_insert(End::NotStarted);
    }

    /// The host took something: one that reads slowly is waited for as long as it reads.
    pub(super) fn progress(&mut self, now: Instant) {
        if let (Phase::Flush(until), None) = (&mut self.phase, self.by) {
            *until = now + PATIENCE;
        }
    }

    /// When to ask again what is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running | Phase::Over => None,
            Phase::Grace(at) | Phase::Term(at) | Phase::Killed(at) | Phase::Flush(at) => Some(at),
        };
        [phase, self.tell, self.stderr].into_iter().flatten().min()
    }

    /// What is due by now, one thing a call.
    pub(super) fn due(&mut self, now: Instant) -> Option<Action> {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.tell) {
            self.tell = None;
            self.end.get_or_insert(End::ServerClosed);
            return Some(Action::Tell);
        }
        if due(self.stderr) {
            self.stderr = None;
            return Some(Action::Mumble);
        }
        match self.phase {
            Phase::Grace(at) if at <= now => {
                self.end.get_or_insert(End::ServerClosed);
                self.phase = Phase::Term(now + TERM);
                Some(Action::Terminate)
            }
            Phase::Term(at) if at <= now => {
                self.phase = Phase::Killed(now + FLUSH);
                Some(Action::Kill)
            }
            Phase::Killed(at) | Phase::Flush(at) if at <= now => {
                self.phase = Phase::Over;
                Some(Action::Leave)
            }
            _ => None,
        }
    }

    fn hurry(&mut self, by: Instant) {
        self.by = Some(self.by.map_or(by, |earlier| earlier.min(by)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Every action with the time since the start, where nothing else happens.
    fn script(shutdown: &mut Shutdown, start: Instant) -> Vec<(Duration, Action)> {
        let mut all = Vec::new();
        while let Some(at) = shutdown.deadline() {
            let action = shutdown.due(at).expect("a deadline has something due");
            all.push((at - start, action));
        }
        all
    }

    #[test]
    fn a_stubborn_server_is_gone_in_under_two_seconds() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new();
        assert_eq!((shutdown.deadline(), shutdown.due(start)), (None, None));
        shutdown.host_left(start);
        let want = [
            (ms(1_000), Action::Terminate),
            (ms(1_500), Action::Kill),
            (ms(1_750), Action::Leave),
        ];
        assert_eq!(script(&mut shutdown, start), want);
        assert_eq!(shutdown.end(), Some(End::HostLeft));
    }

    #[test]
    fn a_signal_starts_at_sigterm_and_a_second_one_kills() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new();
        assert_eq!(shutdown.signalled(start, 15), Some(Action::Terminate));
        assert_eq!(shutdown.signalled(start, 2), Some(Action::Kill));
        assert_eq!(shutdown.signalled(start, 2), None);
        assert_eq!(script(&mut shutdown, start), [(FLUSH, Action::Leave)]);
        assert_eq!(shutdown.end(), Some(End::Signalled(15)));
    }

    #[test]
    fn a_server_that_closes_its_stdout_is_told_of_and_ended() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new();
        shutdown.server_closed(start, true);
        let want = [
            (MUTE, Action::Tell),
            (GRACE, Action::Terminate),
            (GRACE + TERM, Action::Kill),
            (ms(1_750), Action::Leave),
        ];
        assert_eq!(script(&mut shutdown, start), want);
        assert_eq!(shutdown.end(), Some(End::ServerClosed));
        let mut shutdown = Shutdown::new();
        shutdown.server_closed(start, true);
        shutdown.exited(start + ms(1));
        assert_eq!(
            shutdown.end(),
            Some(End::ServerEnded),
            "it closed it by ending"
        );
    }

    #[test]
    fn a_host_that_reads_is_waited_for_and_one_that_left_is_not() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new();
        shutdown.exited(start);
        shutdown.progress(start + ms(4_000));
        assert_eq!(shutdown.due(start + ms(300)), Some(Action::Mumble));
        assert_eq!(shutdown.deadline(), Some(start + ms(9_000)));
        shutdown.host_left(start + ms(5_000));
        assert_eq!(shutdown.deadline(), Some(start + ms(5_250)));
        shutdown.progress(start + ms(5_100));
        assert_eq!(shutdown.due(start + ms(5_250)), Some(Action::Leave));
        assert_eq!(shutdown.end(), Some(End::ServerEnded));
    }

    #[test]
    fn after_the_hosts_end_a_server_that_ended_leaves_the_rest_of_the_time() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new();
        shutdown.host_left(start);
        shutdown.exited(start + ms(100));
        assert_eq!(shutdown.due(start + ms(400)), Some(Action::Mumble));
        shutdown.progress(start + ms(500));
        assert_eq!(script(&mut shutdown, start), [(ms(1_750), Action::Leave)]);
    }

    #[test]
    fn a_server_over_a_limit_is_killed_and_its_end_waited_for() {
        let start = Instant::now();
        let over = Over::Memory { limit: 1 };
        let mut shutdown = Shutdown::new();
        assert_eq!(shutdown.over_limit(start, over), Some(Action::Kill));
        assert_eq!(shutdown.over_limit(start, over), None);
        assert_eq!(shutdown.deadline(), Some(start + PATIENCE));
        // Its pipes close as it is killed, which is not told, though its end takes long.
        shutdown.server_closed(start + ms(1), true);
        assert_eq!(shutdown.due(start + ms(600)), None);
        shutdown.exited(start + ms(700));
        assert_eq!(shutdown.end(), Some(End::Over(over)));
        // One that had closed them is over its limit all the same, and is not started again.
        let mut shutdown = Shutdown::new();
        shutdown.server_closed(start, false);
        assert_eq!(shutdown.due(start + GRACE), Some(Action::Terminate));
        assert_eq!(shutdown.end(), Some(End::ServerClosed));
        assert_eq!(shutdown.over_limit(start + GRACE, over), Some(Action::Kill));
        assert_eq!(shutdown.end(), Some(End::Over(over)));
        // A host that has left is not kept waiting, and is what began the end.
        let mut shutdown = Shutdown::new();
        shutdown.host_left(start);
        assert_eq!(
            shutdown.over_limit(start + ms(100), over),
            Some(Action::Kill)
        );
        assert_eq!(script(&mut shutdown, start), [(ms(1_750), Action::Leave)]);
        assert_eq!(shutdown.end(), Some(End::HostLeft));
    }
}
