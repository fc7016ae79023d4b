//! The Landlock ruleset: made, filled, enforced.
//!
//! What is held by a descriptor already is granted by that; what is not there yet, since the root
//! is still being put together, by its path once it is.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use nix::sys::stat::{FileStat, SFlag, fstat};

use super::apply::ApplyError;
use super::landlock::{Right, Rule, Rules};

/// A ruleset that lacks the paths nobody holds.
pub struct Unfinished<'rules> {
    created: RulesetCreated,
    left: Vec<&'rules Rule>,
}

/// Makes a ruleset that handles what the rules say, with the paths that are held.
pub fn begin<'rules, 'fd>(
    rules: &'rules Rules,
    held: impl Fn(&Path) -> Option<(BorrowedFd<'fd>, bool)>,
) -> Result<Unfinished<'rules>, ApplyError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(rights(rules.handled.iter()))?;
    if rules.no_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi(rules.abi)))?;
    }
    if rules.scoped {
        ruleset = ruleset.scope(Scope::from_all(ABI::V6))?;
    }
    let mut created = ruleset.create()?;
    let mut left = Vec::new();
    for rule in &rules.rules {
        match held(&rule.path) {
            Some((file, directory)) => created = grant(created, rule, file, directory)?,
            None => left.push(rule),
        }
    }
    Ok(Unfinished { created, left })
}

impl Unfinished<'_> {
    /// Opens every other path, and grants it.
    pub fn finish(self) -> Result<RulesetCreated, ApplyError> {
        let mut created = self.created;
        for rule in self.left {
            let opened = PathFd::new(&rule.path).map_err(|source| ApplyError::Path {
                path: rule.path.clone(),
                source,
            })?;
            let directory = is_directory(&fstat(&opened)?);
            created = grant(created, rule, opened.as_fd(), directory)?;
        }
        Ok(created)
    }
}

fn grant(
    ruleset: RulesetCreated,
    rule: &Rule,
    file: BorrowedFd<'_>,
    directory: bool,
) -> Result<RulesetCreated, ApplyError> {
    let all = rule.rights.iter();
    let fit = all.filter(|right| directory || right.fits_a_file());
    Ok(ruleset.add_rule(PathBeneath::new(file, rights(fit)))?)
}

fn is_directory(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR
}

/// Our names of rights in the crate's.
fn rights(rights: impl Iterator<Item = Right>) -> BitFlags<AccessFs> {
    rights
        .map(|right| match right {
            Right::Execute => AccessFs::Execute,
            Right::WriteFile => AccessFs::WriteFile,
            Right::ReadFile => AccessFs::ReadFile,
            Right::ReadDir => AccessFs::ReadDir,
            Right::RemoveDir => AccessFs::RemoveDir,
            Right::RemoveFile => AccessFs::RemoveFile,
            Right::MakeChar => AccessFs::MakeChar,
            Right::MakeDir => AccessFs::MakeDir,
            Right::MakeReg => AccessFs::MakeReg,
            Right::MakeSock => AccessFs::MakeSock,
            Right::MakeFifo => AccessFs::MakeFifo,
            Right::MakeBlock => AccessFs::MakeBlock,
            Right::MakeSym => AccessFs::MakeSym,
            Right::Refer => AccessFs::Refer,
            Right::Truncate => AccessFs::Truncate,
            Right::IoctlDev => AccessFs::IoctlDev,
            Right::ResolveUnix => AccessFs::ResolveUnix,
        })
        .collect()
}

/// The crate's name of an ABI number.
fn abi(number: u32) -> ABI {
    ABI::from(i32::try_from(number).unwrap_or(0))
}

/// Enforces the ruleset on this process and all it will start.
pub fn enforce(ruleset: RulesetCreated) -> Result<(), ApplyError> {
    let status = ruleset.restrict_self()?;
    if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
        Ok(())
    } else {
        Err(ApplyError::Partial(format!("{:?}", status.ruleset)))
    }
}
