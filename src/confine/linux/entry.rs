//! Entering the namespaces, before anything is known of what will run in them.
//!
//! That it works is tried by doing it: what the kernel's settings say is not all there is to
//! it, security modules and filters around us refuse too.
#![expect(clippy::disallowed_methods, reason = "writes the maps of the new ids")]

use std::fs::{self, File};
use std::io::{self, Read, Write};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::unistd::{getegid, geteuid, getpid};

use super::apply::ApplyError;
use super::lend::{self, Lent};
use super::mount::{NONE, ROOT, memory};
use crate::confine::spec::{Entry, Ids};

/// Enters new namespaces, with the right to mount there. What was lent to the server's ids, and
/// what could not be.
pub fn enter(entry: &Entry) -> Result<(Vec<Lent>, Vec<String>), ApplyError> {
    let (lent, kept) = entry
        .ids
        .map(|ids| lend::lend(&entry.loans, ids))
        .unwrap_or_default();
    match entry.ids {
        None => {
            let (user, group) = (geteuid(), getegid());
            unshare(flags(entry.network))?;
            // The person's ids stay what they are, and are the only ones there.
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
            fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
        }
        Some(ids) => enter_mapped(flags(entry.network), ids)?,
    }
    if entry.network {
        loopback_up()?;
    }
    // Nothing that is mounted from here on is seen outside, nor the other way round.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
    // Some let namespaces be entered and nothing be mounted there.
    memory(ROOT.as_ref(), "mode=0755")?;
    umount2(ROOT, MntFlags::MNT_DETACH)?;
    Ok((lent, kept))
}

/// The namespaces themselves; the process namespace begins with the next child.
fn flags(network: bool) -> CloneFlags {
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    flags
}

/// The same for root, with a second id there that the server will have. Only a process outside
/// may map more ids than its own (`user_namespaces(7)`): a child that stays there writes the
/// maps.
fn enter_mapped(flags: CloneFlags, ids: Ids) -> Result<(), ApplyError> {
    let (mut entered, mut tell) = io::pipe()?;
    let inside = getpid();
    let map = |id: u32| format!("0 0 1\n{id} {id} 1\n");
    let Some(child) = safe_fork::fork()? else {
        // Our own copy: the other's end must show.
        drop(tell);
        let mut word = [0];
        let written = entered.read_exact(&mut word).and_then(|()| {
            fs::write(format!("/proc/{inside}/uid_map"), map(ids.user))?;
            fs::write(format!("/proc/{inside}/gid_map"), map(ids.group))
        });
        #[expect(clippy::exit, reason = "a child that does one thing")]
        std::process::exit(i32::from(written.is_err()));
    };
    drop(entered);
    unshare(flags)?;
    tell.write_all(b".")?;
    let done = child.join()?;
    if done.success() {
        Ok(())
    } else {
        Err(io::Error::other("the ids of the new namespace cannot be set").into())
    }
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
