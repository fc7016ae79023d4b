//! Which of the attempts of a run were refused by us, and what grants them.
//!
//! The rule: what fails for the server and would not fail for the person outside is ours. What
//! fails outside too (it is nowhere, it belongs to somebody else) is the server's own affair and
//! is left out, unless the server itself names it.

use std::net::IpAddr;
use std::path::Path;

use nix::errno::Errno;
use nix::libc;

use super::attempt::{Attempt, Bound, Target, Trace};
use super::finding::{Finding, What};
use super::offer::Offer;
use super::said::Said;
use super::{paths, world};
use crate::confine::{Mechanism, Promise};
use crate::declaration::{Limits, Network};
use crate::launch::Explanation;

/// So many forks that fail are a bomb.
const BOMB: u64 = 64;

/// What attempts are judged by.
pub(super) struct Judge<'a> {
    pub(super) offer: &'a Offer<'a>,
    pub(super) said: &'a Said<'a>,
    pub(super) trace: &'a Trace,
}

impl Judge<'_> {
    pub(super) const fn explanation(&self) -> &Explanation {
        self.offer.explanation
    }

    /// Everything that was refused by us, in the order in which it was tried last, each once.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for attempt in &self.trace.attempts {
            let Some(mut finding) = self.one(attempt) else {
                continue;
            };
            finding.answer = Some(
                attempt
                    .errno
                    .to_string()
                    .split(':')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            );
            finding.times = attempt.times;
            finding.by.clone_from(&attempt.by);
            finding.last = attempt.last;
            add(&mut found, finding);
        }
        found.sort_by_key(|finding| finding.last);
        found
    }

    fn one(&self, attempt: &Attempt) -> Option<Finding> {
        let errno = attempt.errno;
        match &attempt.target {
            Target::Path(path, intent) => paths::judge(self, path, *intent, errno),
            Target::Local(path) => self.local(path, errno),
            Target::Abstract(name) => self.hidden(name, errno),
            Target::Remote(ip, port) => self.remote(*ip, *port, errno),
            Target::Listen(ip, port) => self.listen(*ip, *port, errno),
            Target::Socket(family, kind) => self.socket(*family, *kind, errno),
            Target::Namespace(call, user) => Some(self.namespace(call, *user)),
            Target::Call(name) => self.call(name, errno),
            Target::Bound(bound, size) => self.bound(*bound, *size, attempt.times),
        }
    }

    fn local(&self, path: &Path, errno: Errno) -> Option<Finding> {
        let plan = &self.explanation().plan;
        let own = path.starts_with(&plan.home)
            || plan.dir.as_ref().is_some_and(|dir| path.starts_with(dir));
        if own {
            return None;
        }
        if errno == Errno::ECONNREFUSED || world::kind(path) != Some(world::Kind::Socket) {
            let note = "nobody listens there, for you neither; no flag brings it: what it belongs to is to be started";
            let mut finding =
                Finding::new(What::Socket, crate::text::path(path), note).outside_too();
            finding.right = Some("connect");
            finding.seen = Some(path.to_owned());
            return Some(finding);
        }
        let note = "a local socket lets whoever reaches it use the service behind it as you, so none outside is reached";
        let mut finding =
            Finding::new(What::Socket, crate::text::path(path), note).promise(Promise::N2);
        finding.right = Some("connect");
        finding.seen = Some(path.to_owned());
        // Its own are those in the directory it may write.
        let directory = path.parent().and_then(world::resolved);
        if let (Some(directory), None) = (directory, &plan.dir) {
            let flags = ["--dir".to_owned(), directory.to_string_lossy().into_owned()];
            if self.offer.refused(&flags).is_none() {
                finding.note = format!(
                    "{note}, but those in the one directory that it may write; this one lies in {}",
                    crate::text::path(&directory)
                );
                finding.flags = flags.to_vec();
            }
        }
        Some(finding)
    }

    fn hidden(&self, name: &str, errno: Errno) -> Option<Finding> {
        let there = world::listens_abstract(name.trim_end_matches("\\u{0}"));
        (errno == Errno::EPERM || there).then(|| {
            let note = "a local socket outside; nothing grants one";
            let mut finding =
                Finding::new(What::Socket, format!("@{name}"), note).promise(Promise::N2);
            finding.right = Some("connect");
            finding
        })
    }

    fn remote(&self, ip: IpAddr, port: u16, errno: Errno) -> Option<Finding> {
        let loopback = ip.is_loopback();
        let nobody = loopback && errno == Errno::ECONNREFUSED && !world::listens(ip, port);
        if nobody || self.explanation().plan.network != Network::None {
            let note = if loopback {
                "nobody listens there, for you neither; no flag brings it: what it belongs to is to be started"
            } else {
                "this machine does not reach it; no flag brings it"
            };
            let mut finding = Finding::new(What::Host, address(ip, port), note).outside_too();
            finding.right = Some("connect");
            return Some(finding);
        }
        let (what, note) = if port == 53 {
            (
                "names of hosts (DNS)".to_owned(),
                "it looks up hosts, and has no network",
            )
        } else if loopback {
            (
                address(ip, port),
                "a port of this machine's; the server has a loopback of its own",
            )
        } else {
            (address(ip, port), "it has no network")
        };
        let mut finding = Finding::new(What::Host, what, note)
            .promise(Promise::N1)
            .flags(["--net", "full"]);
        finding.right = Some("connect");
        Some(finding)
    }

    fn listen(&self, ip: IpAddr, port: u16, errno: Errno) -> Option<Finding> {
        let mut finding = if errno == Errno::EACCES && port > 0 && port < 1024 {
            let note = "ports below 1024 are the system's, and a server has no privilege; \
                        have it listen at one from 1024 up, by a setting of its own";
            Finding::new(What::Port, port.to_string(), note).promise(Promise::N3)
        } else if errno == Errno::EADDRNOTAVAIL && self.explanation().plan.network == Network::None
        {
            Finding::new(
                What::Port,
                address(ip, port),
                "it has no network but a loopback",
            )
            .promise(Promise::N1)
            .flags(["--net", "full"])
        } else {
            return None;
        };
        finding.right = Some("listen");
        Some(finding)
    }

    fn socket(&self, family: i32, kind: i32, errno: Errno) -> Option<Finding> {
        let internet = matches!(family, libc::AF_INET | libc::AF_INET6);
        let mechanisms = &self.explanation().confinement.mechanisms;
        if internet && kind != libc::SOCK_RAW {
            let closed = mechanisms.contains(&Mechanism::SeccompNoNetwork);
            return (closed && errno == Errno::EPERM).then(|| {
                Finding::new(What::Host, "the network", "it has no network")
                    .promise(Promise::N1)
                    .flags(["--net", "full"])
            });
        }
        if family == libc::AF_UNIX {
            return mechanisms.contains(&Mechanism::SeccompNoUnix).then(|| {
                let note = "this machine refuses namespaces, so all local sockets are closed, the server's own too; nothing grants them here";
                Finding::new(What::Socket, "local sockets", note).promise(Promise::N2)
            });
        }
        (errno == Errno::EPERM).then(|| {
            let what = match (family, kind) {
                (libc::AF_PACKET, _) => "packet sockets".to_owned(),
                (_, libc::SOCK_RAW) if internet => "raw sockets".to_owned(),
                (libc::AF_NETLINK, _) => "netlink sockets".to_owned(),
                (libc::AF_VSOCK, _) => "vsock sockets".to_owned(),
                _ => format!("sockets of family {family}"),
            };
            Finding::new(What::Socket, what, "they are open to no server").promise(Promise::N3)
        })
    }

    fn namespace(&self, call: &str, user: bool) -> Finding {
        let root = nix::unistd::geteuid().is_root();
        let finding = |note: &str| {
            let mut finding = Finding::new(What::Namespace, call, note).promise(Promise::R4);
            finding.right = Some("namespaces of its own");
            finding
        };
        if self.explanation().lowered.namespaces.is_none() {
            return finding("this machine refuses namespaces");
        }
        if !user && !root {
            return finding(
                "without a user namespace of its own an ordinary user may not make others, confined or not",
            );
        }
        let flags = ["--allow", "nested-sandbox"];
        if self.offer.refused(&flags.map(str::to_owned)).is_some() {
            return finding("nothing grants them here");
        }
        finding("a sandbox of its own, as browsers make; it opens more of the kernel to it")
            .flags(flags)
    }

    fn call(&self, name: &'static str, errno: Errno) -> Option<Finding> {
        // A call that the filters know by its arguments is refused for other reasons too.
        if errno != Errno::EPERM && errno != Errno::ENOSYS {
            return None;
        }
        let reason = crate::confine::linux::seccomp::reason(name)?;
        let (promise, note) = reason.split_once(": ")?;
        let mut finding = Finding::new(What::Call, name, note);
        finding.promise = promise.parse().ok();
        finding.right = Some("call");
        Some(finding)
    }

    pub(super) fn bound(&self, bound: Bound, size: u64, times: u64) -> Option<Finding> {
        let (limits, default) = (self.explanation().plan.limits, Limits::DEFAULT);
        let shown = crate::text::size;
        let bytes = |bytes: u64| format!("{}GiB", (bytes >> 30).saturating_add(1));
        let (name, what, now, default, more) = match bound {
            Bound::Memory => {
                let now = limits.memory;
                let more = now.saturating_mul(2).max(now.saturating_add(size));
                let what = format!("memory: {} in each process", shown(now));
                (
                    "memory",
                    what,
                    now,
                    default.memory,
                    bytes(more.saturating_sub(1)),
                )
            }
            Bound::Processes if self.explanation().lowered.namespaces.is_none() => return None,
            Bound::Processes => {
                let now = limits.processes;
                let what = format!("processes: {now} with all threads");
                let more = now.saturating_mul(2).to_string();
                ("processes", what, now, default.processes, more)
            }
            Bound::Files => {
                let now = limits.files;
                let what = format!("files: {now} open at a time in each process");
                let more = now.saturating_mul(2).to_string();
                ("files", what, now, default.files, more)
            }
            Bound::FileSize => {
                let now = limits.file_size;
                let what = format!("file size: {}", shown(now));
                let more = bytes(now.saturating_mul(2).saturating_sub(1));
                ("file_size", what, now, default.file_size, more)
            }
            Bound::Space => {
                let note = "a file system is full: its own /tmp, /var/tmp and /dev/shm hold 1 GiB each, in memory; \
                            what is larger belongs into its private home, where TMPDIR is, or into --dir";
                return Some(Finding::new(What::Limit, "room", note).promise(Promise::R5));
            }
        };
        let finding = Finding::new(What::Limit, what, "it asked for more").promise(Promise::R5);
        if bound == Bound::Processes && (times >= BOMB || self.multiplies()) {
            let note = format!(
                "it starts processes without end ({} in this run), which would fill any limit; nothing grants that",
                self.trace.processes
            );
            // Also where it comes up meanwhile: it is ended for it a moment later.
            return Some(Finding { note, ..finding }.cause());
        }
        let more = format!("{name}={more}");
        Some(if now < default {
            finding.flags(["--no-limit", name])
        } else {
            finding.flags(["--limit", &more])
        })
    }

    /// Whether what it starts is started by what it started: no more than the limit itself, and
    /// that is the default or above.
    fn multiplies(&self) -> bool {
        let limit = self.explanation().plan.limits.processes;
        limit >= Limits::DEFAULT.processes && self.trace.processes >= limit.saturating_sub(8)
    }
}

fn address(ip: IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(ip, port).to_string()
}

/// Adds a finding, or counts it with the same one.
fn add(found: &mut Vec<Finding>, new: Finding) {
    let same = |known: &&mut Finding| known.what == new.what && known.flags == new.flags;
    match found.iter_mut().find(same) {
        Some(known) => {
            known.times = known.times.saturating_add(new.times);
            let firmer = (new.firm, new.last) > (known.firm, known.last);
            if firmer {
                let times = known.times;
                *known = Finding { times, ..new };
            } else {
                known.last = known.last.max(new.last);
            }
        }
        None => found.push(new),
    }
}
