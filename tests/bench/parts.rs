//! One unit of work of each pure part, for `tests/bench/pure.rs` to time. There only with the
//! feature `bench`, and in the tests, which do each unit once.
//!
//! What a unit needs is made beforehand, and the machine is asked nothing: the same bytes go in
//! wherever it runs. A unit is one function, not inlined: callgrind counts it by its name. The
//! relay's parts are beside it, in `relay.rs`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::confine::linux::Linux;
use crate::confine::linux::seccomp::Arch;
use crate::confine::specify::specify;
use crate::confine::{Confinement, KernelFacts, linux};
use crate::declaration::{Declaration, Server, Stdio, digest, entry};
use crate::plan::program::Program;
use crate::plan::{Grant, HostFacts, Plan, ReadFact, SearchPath, grants, resolve};

pub use crate::relay::bench::{Calls, Lines, is_message};

/// A declaration, as an entry of `mcp.json` spells it.
#[derive(Debug)]
pub struct Declared(Declaration);

impl Declared {
    /// Reads an entry.
    #[must_use]
    pub fn read(entry: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(entry).ok()?;
        entry::parse(value).ok().map(Self)
    }

    /// One unit: the digest of all that it would do.
    #[inline(never)]
    #[must_use]
    pub fn digest(&self) -> String {
        digest::digest(&self.0).as_str().to_owned()
    }

    fn stdio(&self) -> Option<&Stdio> {
        match &self.0.server {
            Server::Stdio(stdio) => Some(stdio),
            Server::Http(_) => None,
        }
    }
}

/// A server on a machine that has all of the system's places, and runs it as an ordinary user.
#[derive(Debug)]
pub struct Machine {
    stdio: Stdio,
    facts: HostFacts,
    home: PathBuf,
}

impl Machine {
    /// That machine, with what the declaration names on it.
    #[must_use]
    pub fn of(declared: &Declared) -> Option<Self> {
        let stdio = declared.stdio()?.clone();
        let facts = facts(&stdio)?;
        let home = resolve::home(&digest::launch(&declared.0.server), &facts);
        Some(Self { stdio, facts, home })
    }

    /// One unit: the plan.
    #[inline(never)]
    #[must_use]
    pub fn plan(&self) -> Option<Planned> {
        resolve::resolve(self.home.clone(), &self.stdio, &self.facts, &[])
            .ok()
            .map(Planned)
    }

    /// A plan with its promises, as it is lowered.
    #[must_use]
    pub fn ground(&self) -> Option<Ground> {
        let Planned(plan) = self.plan()?;
        let kernel = kernel();
        let confinement = specify(&plan, &self.stdio, &kernel).ok()?;
        Some(Ground {
            plan,
            confinement,
            kernel,
        })
    }
}

/// A plan.
#[derive(Debug)]
pub struct Planned(Plan);

impl Planned {
    /// How many places it grants.
    #[must_use]
    pub fn grants(&self) -> usize {
        self.0.grants.len()
    }
}

/// What is lowered.
#[derive(Debug)]
pub struct Ground {
    plan: Plan,
    confinement: Confinement,
    kernel: KernelFacts,
}

impl Ground {
    /// One unit: the rules.
    #[inline(never)]
    #[must_use]
    pub fn lower(&self) -> Option<Lowered> {
        linux::lower(&self.plan, &self.confinement, &self.kernel)
            .ok()
            .map(Lowered)
    }
}

/// The rules of one run.
#[derive(Debug)]
pub struct Lowered(Linux);

impl Lowered {
    /// How many filters it has.
    #[must_use]
    pub fn filters(&self) -> usize {
        self.0.seccomp.len()
    }
}

/// What a machine says of a server.
fn facts(stdio: &Stdio) -> Option<HostFacts> {
    let places = grants::system_places().iter();
    let system = places.map(|place| Grant {
        path: place.path.into(),
        rights: place.rights,
        reason: place.reason.into(),
    });
    let reads = stdio.reads.iter().map(|read| ReadFact {
        path: read.path.as_str().into(),
        directory: false,
    });
    Some(HostFacts {
        state: "/home/sam/.supervisor".into(),
        search_path: SearchPath(vec!["/usr/local/bin".into(), "/usr/bin".into()]),
        program: Program::fixed(&stdio.command, &stdio.command),
        installation: Vec::new(),
        linked: Vec::new(),
        certificates: BTreeSet::new(),
        system: system.collect(),
        dir: stdio.dir.as_ref().map(|dir| dir.as_str().into()),
        held: None,
        before: Default::default(),
        reads: reads.collect(),
        present: stdio.pass.clone(),
        cached: Default::default(),
        locked: None,
    })
}

/// What a kernel of today offers an ordinary user.
fn kernel() -> KernelFacts {
    KernelFacts {
        landlock_abi: Some(7),
        arch: Some(Arch::X86_64),
        keyrings: true,
        namespaces: Ok(()),
        ids: None,
        kept: Vec::new(),
        cgroup: Err("none is the user's".to_owned()),
        pid_max: true,
        root: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = include_str!("../../fixtures/declarations/valid/everything.json");

    #[test]
    fn each_unit_does_its_work() {
        let declared = Declared::read(ENTRY).unwrap();
        assert_eq!(declared.digest().len(), 64);
        let machine = Machine::of(&declared).unwrap();
        let plan = machine.plan().unwrap();
        assert!(plan.grants() > grants::system_places().len() / 2);
        assert!(machine.ground().unwrap().lower().unwrap().filters() >= 2);
    }
}
