//! How far the first process of the namespaces is, for the one that becomes the server and readies
//! itself meanwhile: a byte a stage, on a pipe between the two.

use std::io::{self, PipeReader, PipeWriter, Read, Write};

use super::shim::{At, failed};
use super::spec::{Failed, Step};

/// What has been done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The new root is the root of both, and all that is granted is in it.
    Entered,
    /// Every mount that is not the server's to write is closed, and the first process has given up
    /// what it needed for that: the server may run.
    Closed,
}

impl Stage {
    const fn byte(self) -> u8 {
        match self {
            Self::Entered => b'e',
            Self::Closed => b'c',
        }
    }
}

/// The end of the one that waits.
pub(super) struct Progress(PipeReader);

/// The end of the one that tells.
pub(super) struct Tell(PipeWriter);

/// Both; they close at an exec.
pub(super) fn pair() -> io::Result<(Progress, Tell)> {
    let (progress, tell) = io::pipe()?;
    Ok((Progress(progress), Tell(tell)))
}

impl Progress {
    /// Waits until a stage is done, which is the next.
    pub(super) fn wait(&mut self, stage: Stage) -> Result<(), Failed> {
        let mut byte = [0];
        match self.0.read_exact(&mut byte) {
            Ok(()) if byte == [stage.byte()] => Ok(()),
            Ok(()) => Err(failed(Step::Stage, "the first process is out of step")),
            // It failed, and has said where.
            Err(_) => Err(failed(Step::Stage, "the first process has ended")),
        }
    }
}

impl Tell {
    /// Says that a stage is done. Where the other one has ended, it has said why.
    pub(super) fn done(&mut self, stage: Stage) -> Result<(), Failed> {
        match self.0.write_all(&[stage.byte()]) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).at(Step::Stage),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_waited_for_in_their_order() {
        let (mut progress, mut tell) = pair().unwrap();
        tell.done(Stage::Entered).unwrap();
        tell.done(Stage::Closed).unwrap();
        progress.wait(Stage::Entered).unwrap();
        progress.wait(Stage::Closed).unwrap();
        tell.done(Stage::Entered).unwrap();
        assert!(progress.wait(Stage::Closed).is_err());
        drop(tell);
        assert!(progress.wait(Stage::Entered).is_err());
    }

    #[test]
    fn nobody_waits_any_more() {
        let (progress, mut tell) = pair().unwrap();
        drop(progress);
        tell.done(Stage::Entered).unwrap();
    }
}
