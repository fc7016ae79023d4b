//! A timer of the kernel's that is set seldom, and so costs a turn nothing.
//!
//! The runtime's own would be given to each wait as its limit, which the kernel then has to set and
//! to take back: as much as a twentieth of a short call. This one is a descriptor (`timerfd_create(2)`)
//! among those that are waited for; one that is put off is left to go off in vain once.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// Wakes its task at one time, which can be set anew.
#[derive(Debug)]
pub struct Clock {
    timer: AsyncFd<OwnedFd>,
    at: Instant,
    /// When the kernel's timer goes off, which is not after `at`.
    goes_off: Option<Instant>,
}

impl Clock {
    /// One whose time has come. Must be made within a runtime with I/O enabled.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "for types that hand out another descriptor each time, which an owned one does not; what comes in its place is unsafe"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Self {
            timer,
            at: Instant::now(),
            goes_off: None,
        })
    }

    /// Sets its time.
    pub fn set(&mut self, at: Instant) {
        self.at = at;
        self.goes_off = self.goes_off.filter(|goes_off| *goes_off <= at);
    }

    /// Ready from its time on; the task is woken then.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.goes_off.is_none() {
                let left = self.at.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Poll::Ready(());
                }
                if self.start(left).is_err() {
                    // Without it, the time is looked at in each turn.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.goes_off = Some(self.at);
            }
            match self.timer.poll_read_ready(cx) {
                Poll::Pending => return Poll::Pending,
                // It is not read: to set it anew takes back that it went off.
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                // The runtime ends.
                Poll::Ready(Err(_)) => return Poll::Ready(()),
            }
            self.goes_off = None;
        }
    }

    fn start(&self, left: Duration) -> io::Result<()> {
        let it_value = Timespec {
            // Further away than the kernel counts is never.
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let it_interval = Timespec::default();
        let times = Itimerspec {
            it_interval,
            it_value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;

    use super::*;

    #[test]
    fn it_is_ready_from_its_time_on_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut clock = Clock::new().unwrap();
            poll_fn(|cx| clock.poll(cx)).await;
            let wait = async |clock: &mut Clock, at: Instant| {
                clock.set(at);
                poll_fn(|cx| clock.poll(cx)).await;
                assert!(Instant::now() >= at);
            };
            let in_ms = |ms| Instant::now() + Duration::from_millis(ms);
            wait(&mut clock, in_ms(3)).await;
            // Put off, it goes off in vain first; brought forward, it is not waited for longer.
            for first in [1, 3_600_000] {
                clock.set(in_ms(first));
                let polled = clock.poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending() || first == 1);
                wait(&mut clock, in_ms(4)).await;
            }
            // What is over is ready at once, each time.
            wait(&mut clock, Instant::now()).await;
            wait(&mut clock, Instant::now()).await;
            clock.set(Instant::now() + Duration::from_secs(u64::MAX >> 32));
            assert!(poll_fn(|cx| Poll::Ready(clock.poll(cx))).await.is_pending());
        });
    }
}
