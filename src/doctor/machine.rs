//! What this machine offers, stated before anything is proved.

use nix::unistd::geteuid;
use serde::Serialize;

use crate::confine::Mechanism;
use crate::confine::linux::kernel;
use crate::confine::linux::seccomp::Arch;
use crate::launch::{self, Explanation};

/// The regime: what confines a server here, and what stands in for what cannot be had.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// The processor's architecture, where there are filters for it.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub arch: Option<Arch>,
    /// The Landlock ABI in force that this program knows too.
    pub landlock_abi: Option<u32>,
    /// Whether a server can have namespaces of its own.
    pub namespaces: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces_refused: Option<String>,
    /// Whose ids a server has.
    pub ids: Ids,
    /// Everything that is put in force.
    pub mechanisms: Vec<Mechanism>,
    /// What of that stands in for a mechanism that cannot be had here.
    pub stand_ins: Vec<Mechanism>,
}

/// Whose ids a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Ids {
    /// The person's, who is no administrator.
    Persons,
    /// Ids of its own, since the supervisor runs as root.
    Own,
    /// Root's: it cannot be given others here.
    Roots,
}

impl Machine {
    /// As the plan of a run found it. Within a Tokio runtime, as [`launch::prepare`].
    #[must_use]
    pub fn of(explanation: Option<&Explanation>) -> Self {
        let refused = launch::namespaces_refused().unwrap_or_else(|error| Some(error.to_string()));
        let in_force = explanation.map(|explained| &explained.confinement.mechanisms);
        let mechanisms: Vec<Mechanism> = in_force.into_iter().flatten().copied().collect();
        let has = |mechanism| mechanisms.contains(&mechanism);
        let ids = match (geteuid().is_root(), has(Mechanism::UnprivilegedId)) {
            (false, _) => Ids::Persons,
            (true, true) => Ids::Own,
            (true, false) => Ids::Roots,
        };
        let stand_ins = mechanisms.iter().copied().filter(|mechanism| {
            matches!(
                mechanism,
                Mechanism::SeccompNoUnix
                    | Mechanism::SeccompNoNetwork
                    | Mechanism::SeccompOwnProcess
                    | Mechanism::SeccompOwnIpc
                    | Mechanism::LandlockNetwork
            )
        });
        Self {
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            arch: Arch::current(),
            landlock_abi: kernel::landlock_abi(),
            namespaces: refused.is_none(),
            namespaces_refused: refused,
            ids,
            stand_ins: stand_ins.collect(),
            mechanisms,
        }
    }
}
