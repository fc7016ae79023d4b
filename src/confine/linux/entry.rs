//! Entering the namespaces, before anything is known of what will run in them.
//!
//! That it works is tried by doing it: what the kernel's settings say is not all there is to
//! it, security modules and filters around us refuse too.
#![expect(clippy::disallowed_methods, reason = "writes the maps of the new ids")]

use std::fs::{self, File};
use std::io::{self, Read, Write};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::unistd::{getegid, geteuid};

use super::apply::ApplyError;
use super::mount::{NONE, ROOT, memory};
use crate::confine::spec::{Begin, Ids};

/// Enters new namespaces, all but the network's; the process namespace begins with the next
/// child. No id is mapped there yet, so what this process's are outside is handed back.
pub fn enter() -> Result<Ids, ApplyError> {
    let own = Ids {
        user: geteuid().as_raw(),
        group: getegid().as_raw(),
    };
    unshare(
        CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWCGROUP,
    )?;
    Ok(own)
}

/// Nothing that is mounted from here on is seen outside, nor the other way round. Some let
/// namespaces be entered and nothing be mounted there.
pub fn part_mounts() -> Result<(), ApplyError> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    Ok(())
}

/// Maps the ids and makes what is known by now: a network, where it gets one of its own, and the
/// file system in memory that becomes its root.
pub fn settle(begin: &Begin, own: Ids) -> Result<(), ApplyError> {
    if begin.ids.is_none() {
        map_own(own)?;
    }
    if begin.network {
        unshare(CloneFlags::CLONE_NEWNET)?;
        loopback_up()?;
    }
    memory(ROOT.as_ref(), "mode=0755")
}

/// The person's ids stay what they are, and are the only ones there.
fn map_own(Ids { user, group }: Ids) -> Result<(), ApplyError> {
    // The maps belong to root while a process is not dumpable.
    prctl::set_dumpable(true)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    Ok(())
}

/// Maps root and a second id, which the server will have, for a process that has entered. Only a
/// process outside may map more ids than its own (`user_namespaces(7)`).
///
/// # Errors
/// What the system says.
pub fn map(process: u32, ids: Ids) -> io::Result<()> {
    let map = |id: u32| format!("0 0 1\n{id} {id} 1\n");
    fs::write(format!("/proc/{process}/uid_map"), map(ids.user))?;
    fs::write(format!("/proc/{process}/gid_map"), map(ids.group))
}

/// `RTM_NEWLINK` that sets `IFF_UP` on the first interface, which is the loopback
/// (`rtnetlink(7)`): a header of 16 bytes and an `ifinfomsg` of 16.
fn loopback_up() -> Result<(), ApplyError> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(16_u16.to_ne_bytes());
    // NLM_F_REQUEST and NLM_F_ACK.
    message.extend(5_u16.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    let mut netlink = File::from(netlink);
    netlink.write_all(&message)?;
    let mut answer = [0; 64];
    let count = netlink.read(&mut answer)?;
    // An acknowledgement is an error message whose error is 0.
    match answer.get(16..20) {
        Some([0, 0, 0, 0]) if count >= 20 => Ok(()),
        _ => Err(io::Error::other("the loopback does not come up").into()),
    }
}
