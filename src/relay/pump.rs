//! One turn of each direction: write what waits, split what was read, read what is there.
//!
//! A direction is read only when all that it forwards is written, and the host only while our
//! own answers to it are within their bound. Answers of ours to the server never hold the other
//! direction up: a server that does not read while it writes would stand still for ever.

use std::task::Context;

use tokio::time::Instant;

use super::frame::{Frame, Progress};
use super::gate::{Step, Withheld};
use super::lane::{Lane, OWN_LIMIT};
use super::port::{Inlet, Outlet, Read, Wrote};
use super::run::Run;
use crate::audit::Event;

impl Run<'_> {
    /// Takes note of what the runtime found ready while it had its turn.
    pub(super) fn watch_ports(&mut self, cx: &mut Context<'_>) {
        let inlets = [
            &mut self.host_in,
            &mut self.server_out,
            &mut self.server_err,
        ];
        for inlet in inlets.into_iter().flatten() {
            inlet.watch(cx);
        }
        let outlets = [&mut self.host_out, &mut self.host_err, &mut self.server_in];
        for outlet in outlets.into_iter().flatten() {
            outlet.watch(cx);
        }
    }

    /// Whether an end is to be watched anew whenever it was used.
    pub(super) fn shares(&self) -> bool {
        let outlets = [&self.host_out, &self.host_err];
        self.host_in.as_ref().is_some_and(Inlet::is_shared)
            || outlets.into_iter().flatten().any(Outlet::is_shared)
    }

    /// Host to server. True if anything moved.
    pub(super) fn up(&mut self) -> bool {
        if self.host_in.as_ref().is_some_and(Inlet::hung_up) {
            self.shutdown.host_left(Instant::now());
        }
        if self.up.inbox().is_large() {
            widen(&mut self.host_in, &mut self.server_in);
        }
        let mut moved = self.flush_up() | self.split_up();
        let got = match (&mut self.host_in, self.up.room()) {
            (Some(host), Some(room)) => {
                let most = if self.settled {
                    self.left_of_host.min(room.len())
                } else {
                    room.len()
                };
                host.read(room.get_mut(..most).unwrap_or_default())
            }
            _ => Read::Blocked,
        };
        match got {
            Read::Some(count) => {
                moved = true;
                self.up.filled(count);
                if let Some(rules) = self.owner.rules(self.gate.now.of_day) {
                    self.gate.set_rules(rules);
                }
                if self.settled {
                    self.left_of_host = self.left_of_host.saturating_sub(count);
                }
                self.split_up();
            }
            Read::Blocked => self.quiet |= self.settled && self.up.inbox().is_exhausted(),
            Read::End => {
                moved |= self.host_in.take().is_some();
                let step = self.gate.unfinished_from_host(self.up.inbox().rest());
                self.follow(step);
                self.quiet |= self.settled;
                self.shutdown.host_left(Instant::now());
            }
        }
        moved |= self.flush_up();
        let said = self.up.is_written() && self.up.inbox().is_exhausted();
        if self.host_in.is_none() && said && !self.gate.reading.is_under_way() {
            self.server_in = None;
        }
        moved
    }

    /// Server to host. True if anything moved.
    pub(super) fn down(&mut self) -> bool {
        if self.host_out.as_ref().is_some_and(Outlet::is_closed) {
            self.host_gone();
        }
        if self.down.inbox().is_large() {
            widen(&mut self.server_out, &mut self.host_out);
        }
        let mut moved = self.flush_down() | self.split_down();
        let got = match (&mut self.server_out, self.down.room()) {
            (Some(server), Some(room)) => {
                let most = if self.process.is_none() {
                    self.left_of_server.min(room.len())
                } else {
                    room.len()
                };
                server.read(room.get_mut(..most).unwrap_or_default())
            }
            _ => return moved,
        };
        match got {
            Read::Some(count) => {
                moved = true;
                self.down.filled(count);
                // What waits for a list may go on with it.
                if self.gate.reading.is_under_way()
                    && let Some(rules) = self.owner.rules(self.gate.now.of_day)
                {
                    self.gate.set_rules(rules);
                }
                if self.process.is_none() {
                    self.left_of_server = self.left_of_server.saturating_sub(count);
                }
                self.split_down();
            }
            Read::Blocked if self.process.is_some() => {}
            Read::Blocked | Read::End => {
                moved = true;
                self.server_out = None;
                let Self {
                    down, gate, record, ..
                } = self;
                let rest = down.inbox().rest();
                let step = gate.unfinished_from_server(rest);
                if matches!(&step, Step::Withhold(withheld) if withheld.quarantine) {
                    record.quarantine(rest);
                }
                self.follow(step);
                if self.process.is_some() {
                    self.shutdown.server_closed(Instant::now(), true);
                }
            }
        }
        self.flush_down() | moved
    }

    /// The server's stderr, and ours. True if anything moved.
    pub(super) fn errors(&mut self) -> bool {
        let mut moved = false;
        if let Some(server) = &mut self.server_err {
            match server.read(&mut self.scratch) {
                Read::Some(count) => {
                    moved = true;
                    self.record
                        .server(self.scratch.get(..count).unwrap_or_default());
                    let bytes = u64::try_from(count).unwrap_or(u64::MAX);
                    self.gate.counters.stderr_bytes =
                        self.gate.counters.stderr_bytes.saturating_add(bytes);
                    if self.process.is_none() {
                        self.left_of_stderr = self.left_of_stderr.saturating_sub(count);
                        if self.left_of_stderr == 0 {
                            self.server_err = None;
                        }
                    }
                }
                Read::Blocked if self.process.is_some() => {}
                Read::Blocked | Read::End => {
                    moved = true;
                    self.server_err = None;
                }
            }
        }
        while !self.record.pending().is_empty() {
            let slice = std::io::IoSlice::new(self.record.pending());
            match self.host_err.as_mut().map(|host| host.write(&[slice])) {
                Some(Wrote::Some(count)) => self.record.wrote(count),
                Some(Wrote::Blocked) => break,
                Some(Wrote::Closed) | None => {
                    self.host_err = None;
                    self.record.discard();
                }
            }
            moved = true;
        }
        moved
    }

    fn split_up(&mut self) -> bool {
        let mut moved = false;
        while self.hears_host()
            && self.down.own() < OWN_LIMIT
            && let Some(frame) = self.up.next()
        {
            moved = true;
            let step = match frame {
                Frame::Line(range) => {
                    let text = self
                        .up
                        .inbox()
                        .bytes(range.start..range.end.saturating_sub(1));
                    let step = self.gate.host_line(text);
                    self.heed();
                    if step == Step::Forward {
                        self.up.forward(range);
                        continue;
                    }
                    step
                }
                Frame::Long(progress) => {
                    let told = self.up.told;
                    let step = if told {
                        None
                    } else {
                        self.gate.long_from_host(self.up.inbox().seen(), progress)
                    };
                    self.up.told = progress != Progress::Ends && (told || step.is_some());
                    step.unwrap_or(Step::Skip)
                }
            };
            self.follow(step);
        }
        moved
    }

    fn split_down(&mut self) -> bool {
        let mut moved = false;
        while let Some(frame) = self.down.next() {
            moved = true;
            let step = match frame {
                Frame::Line(range) => {
                    let text = self
                        .down
                        .inbox()
                        .bytes(range.start..range.end.saturating_sub(1));
                    match self.gate.server_line(text) {
                        Step::Forward => {
                            self.down.forward(range);
                            Step::Skip
                        }
                        step => {
                            if matches!(&step, Step::Withhold(withheld) if withheld.quarantine) {
                                self.record.quarantine(text);
                            }
                            step
                        }
                    }
                }
                Frame::Long(progress) => {
                    let told = self.down.told;
                    let step = if told {
                        None
                    } else {
                        self.gate
                            .long_from_server(self.down.inbox().seen(), progress)
                    };
                    self.down.told = progress != Progress::Ends && (told || step.is_some());
                    step.unwrap_or(Step::Skip)
                }
            };
            self.follow(step);
        }
        moved
    }

    /// Sends what follows from a line that is not passed on, and says the first of its kind.
    fn follow(&mut self, step: Step) {
        self.heed();
        let Step::Withhold(Withheld {
            to_host,
            to_server,
            note,
            ..
        }) = step
        else {
            return;
        };
        self.down.add(to_host);
        self.add_up(to_server);
        if let Some((fault, text)) = note
            && !self.told.contains(&fault)
        {
            self.told.push(fault);
            self.record.say(&text);
            let event = Event::Fault {
                fault: fault.as_str(),
                exit: None,
            };
            self.owner.record(event, self.gate.now.of_day);
        }
    }

    /// Lines of ours for the server, as far as it takes any.
    pub(super) fn add_up(&mut self, lines: Vec<u8>) {
        if self.up.own() < OWN_LIMIT {
            self.up.add(lines);
        } else {
            self.gate.counters.unsent += 1;
        }
    }

    /// First what is said again, then what waits for the server.
    fn flush_up(&mut self) -> bool {
        let (mut moved, mut closed) = flush(&mut self.again, &mut self.server_in);
        if self.again.is_written() && self.speaks_to_server() {
            let more = flush(&mut self.up, &mut self.server_in);
            (moved, closed) = (moved | more.0, closed | more.1);
        }
        if closed && self.process.is_some() {
            self.shutdown.server_closed(Instant::now(), false);
        }
        moved
    }

    fn flush_down(&mut self) -> bool {
        let (moved, closed) = flush(&mut self.down, &mut self.host_out);
        if closed {
            self.host_gone();
        }
        if moved && self.shutdown.has_exited() {
            self.shutdown.progress(Instant::now());
        }
        moved
    }

    /// The host reads us no more, and so will not miss what we do not read of it.
    fn host_gone(&mut self) {
        self.host_out = None;
        self.host_in = None;
        self.quiet = true;
        self.down.discard();
        self.shutdown.host_left(Instant::now());
    }
}

fn widen(from: &mut Option<Inlet>, to: &mut Option<Outlet>) {
    if let Some(inlet) = from {
        inlet.widen();
    }
    if let Some(outlet) = to {
        outlet.widen();
    }
}

/// Writes what waits, as much as is taken. Whether anything moved, and whether it is closed.
fn flush(lane: &mut Lane, outlet: &mut Option<Outlet>) -> (bool, bool) {
    let mut moved = false;
    while !lane.is_written() {
        let Some(out) = outlet else {
            lane.discard();
            return (true, false);
        };
        let (slices, count) = lane.slices();
        match out.write(slices.get(..count).unwrap_or_default()) {
            Wrote::Some(count) => lane.wrote(count),
            Wrote::Blocked => break,
            Wrote::Closed => {
                *outlet = None;
                lane.discard();
                return (true, true);
            }
        }
        moved = true;
    }
    (moved, false)
}
