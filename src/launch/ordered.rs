//! A shim that has its orders: what the kernel took of them, and the server that it became.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::unistd::Pid;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::confirm::judge;
use super::enter::Ground;
use super::watch::{Before, Watch};
use super::{Explanation, LaunchError};
use crate::confine::linux::cgroup::Cgroup;
use crate::confine::spec::Enforced;
use crate::relay::{Process, Server};
use crate::text;

/// How long the shim may take for a step of its own; it takes milliseconds.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// A shim that has its orders, and so becomes a server once it is let go, or ends. Killed with the
/// value.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) process: Process,
    pub(super) group: Pid,
    pub(super) stdin: PipeWriter,
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
    pub(super) status: PipeReader,
    /// What it said and was not looked at yet.
    pub(super) said: Vec<u8>,
    pub(super) watched: Watched,
}

/// What a server is watched by.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) cgroup: Option<Cgroup>,
    /// What there was before it started.
    pub(super) before: Before,
}

/// A server that was started.
pub(super) struct Started {
    /// Its pipes and its process.
    pub(super) server: Server,
    /// What the kernel took.
    pub(super) enforced: Enforced,
    /// Writable directories on a disk that was low already, each with what is free there.
    pub(super) low: Vec<String>,
}

impl Ordered {
    /// Reads its status to the end: the exec, or the shim's end. What was looked up for it (`ground`)
    /// is let go of between its last report and that, which is when nobody else has work.
    ///
    /// # Errors
    /// [`LaunchError::Step`] where a step failed, [`LaunchError::Unconfirmed`] where less than the
    /// plan asks for is in force or the shim ended without a word, [`LaunchError::Spawn`] where it
    /// could not be heard, [`LaunchError::Watch`] where its limits cannot be watched. In each case no process of it is left.
    pub(super) async fn confirmed(
        mut self,
        explanation: &Explanation,
        ground: Option<Ground>,
    ) -> Result<Started, LaunchError> {
        let status = OwnedFd::from(self.status);
        let mut status = pipe::Receiver::from_owned_fd(status).map_err(LaunchError::Spawn)?;
        let read = timeout(LIMIT, async {
            status.read_buf(&mut self.said).await?;
            drop(ground);
            status.read_to_end(&mut self.said).await
        });
        let read = read.await;
        let judged = match read {
            Ok(Ok(_)) => judge(explanation, &self.said, self.watched.cgroup.is_some()),
            Ok(Err(error)) => Err(LaunchError::Spawn(error)),
            Err(_) => Err(LaunchError::Unconfirmed(format!(
                "no word from the confining process in {} s",
                LIMIT.as_secs()
            ))),
        };
        let enforced = match judged {
            Ok(enforced) => enforced,
            Err(error) => {
                self.process.kill();
                // It is killed by now; waiting leaves no zombie behind.
                let _ = timeout(LIMIT, self.process.wait()).await;
                return Err(error);
            }
        };
        let main = u32::try_from(self.process.id().as_raw()).map_err(io::Error::other);
        let main = main.map_err(LaunchError::Spawn)?;
        let namespaces = explanation.lowered.namespaces.as_ref();
        let in_memory = namespaces.map(|own| own.in_memory.as_slice());
        let Watched { cgroup, before } = self.watched;
        let watch = Watch::begin(&explanation.plan, main, in_memory, cgroup, before);
        let watch = watch.map_err(LaunchError::Watch)?;
        let low = watch
            .low()
            .map(|(place, free)| format!("{}: {} free", text::path(place), text::size(free)))
            .collect();
        Ok(Started {
            server: Server {
                stdin: self.stdin.into(),
                stdout: self.stdout.into(),
                stderr: self.stderr.into(),
                process: self.process,
                group: self.group,
                bounds: Box::new(watch),
            },
            enforced,
            low,
        })
    }
}
