//! The system calls that give privileges up: ids, groups, capabilities. As [`super::apply`].

use nix::sys::prctl;
use nix::unistd::{Gid, Uid, geteuid, getresgid, getresuid, setgroups, setresgid, setresuid};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::apply::ApplyError;
use crate::confine::spec::Ids;

/// Gives up root's kernel id, on which the owner's rights hang whatever the capabilities are.
/// The bounding set was emptied before: after the change there is no right to.
pub fn become_unprivileged(ids: Ids) -> Result<(), ApplyError> {
    let (user, group) = (Uid::from_raw(ids.user), Gid::from_raw(ids.group));
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    let (users, groups) = (getresuid()?, getresgid()?);
    let changed = users.real == user
        && users.effective == user
        && users.saved == user
        && groups.real == group
        && groups.effective == group
        && groups.saved == group;
    // nix asks the settings of the machine how many there may be.
    let left = rustix::process::getgroups().map_err(std::io::Error::from)?;
    if changed && left.iter().all(|left| left.as_raw() == ids.group) {
        Ok(())
    } else {
        Err(ApplyError::Capabilities("root's ids stay".to_owned()))
    }
}

/// Root's supplementary groups, gone; an ordinary user cannot drop theirs.
pub fn drop_groups() -> Result<(), ApplyError> {
    if geteuid().is_root() {
        let none: [Gid; 0] = [];
        setgroups(&none)?;
    }
    Ok(())
}

/// Empties every capability set but the bounding one; [`super::apply::own_status`] reads them back.
pub fn drop_capabilities() -> Result<(), ApplyError> {
    caps::clear(None, caps::CapSet::Ambient)
        .map_err(|error| ApplyError::Capabilities(error.to_string()))?;
    // The others at once, and not read before.
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    Ok(set_capabilities(None, sets).map_err(std::io::Error::from)?)
}

/// No privilege is gained from here on, by any exec.
pub fn no_new_privs() -> Result<(), ApplyError> {
    prctl::set_no_new_privs()?;
    Ok(())
}

/// Empties the bounding set where it can be: nothing is executed with what stood there.
pub fn drop_bounding_set() -> Result<(), ApplyError> {
    use caps::{CapSet, Capability, errors::CapsError};
    let failed = |error: CapsError| ApplyError::Capabilities(error.to_string());
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(failed)? {
        for capability in caps::all() {
            // One that this kernel does not have cannot be asked for either.
            if let Err(error) = caps::drop(None, CapSet::Bounding, capability)
                && caps::has_cap(None, CapSet::Bounding, capability).is_ok()
            {
                return Err(failed(error));
            }
        }
    }
    Ok(())
}
