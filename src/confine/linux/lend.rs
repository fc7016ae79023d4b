//! Mounts that lend a directory or a file of root's to the unprivileged id of a server.
//!
//! Root's servers run under an id that owns nothing. What they are granted to write, or to read
//! though others may not, is mounted for them with the owner's id mapped to theirs
//! (`mount_setattr(2)`, `MOUNT_ATTR_IDMAP`, Linux 5.12): on disk it stays the owner's, and what
//! the server makes there becomes the owner's too. Only the file system's own root may do that,
//! so the supervisor does it, outside of all namespaces.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at what is lent and writes the maps of a user namespace"
)]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use composefs_ioctls::mount::mount_setattr_idmap;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use crate::confine::spec::{Ids, Loan, Use};

/// A mount that stands nowhere yet. The supervisor makes it and hands it to the shim.
#[derive(Debug)]
pub struct Lent {
    /// Where it belongs.
    pub path: PathBuf,
    /// Its descriptor.
    pub mount: OwnedFd,
}

/// Makes the mounts; what cannot be lent is named, with the reason. What the server can use as
/// it is, and what is not there, is passed over: others look for that.
pub fn lend(loans: &[Loan], ids: Ids) -> (Vec<Lent>, Vec<String>) {
    let (mut lent, mut kept) = (Vec::new(), Vec::new());
    for loan in loans {
        match lend_one(loan, ids) {
            Ok(mount) => lent.extend(mount),
            Err(error) => kept.push(format!("{}: {error}", loan.path.display())),
        }
    }
    (lent, kept)
}

fn lend_one(loan: &Loan, ids: Ids) -> io::Result<Option<Lent>> {
    let found = match fs::symlink_metadata(&loan.path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.uid() == ids.user {
        return Ok(None);
    }
    let needed = if found.is_dir() { 0o005 } else { 0o004 };
    let open = loan.use_of != Use::Write && found.mode() & needed == needed;
    // All that others may do with a file shows in its mode; in a directory it shows in what it
    // holds.
    if open && (loan.use_of == Use::Run || !found.is_dir()) {
        return Ok(None);
    }
    match mapped(&loan.path, (found.uid(), found.gid()), ids) {
        Ok(mount) => Ok(Some(Lent {
            path: loan.path.clone(),
            mount,
        })),
        Err(_) if open => Ok(None),
        Err(error) => Err(error),
    }
}

/// A copy of what is mounted at a path, with one id mapped.
fn mapped(path: &Path, owner: (u32, u32), ids: Ids) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = open_tree(CWD, path, flags)?;
    mount_setattr_idmap(&tree, namespace(owner, ids)?)?;
    Ok(tree)
}

/// A user namespace that stands for the map: a child enters it, its maps are written from
/// outside, and it ends as soon as somebody else holds the namespace.
fn namespace(owner: (u32, u32), ids: Ids) -> io::Result<File> {
    let (mut entered, mut tell) = io::pipe()?;
    let (mut held, hold) = io::pipe()?;
    let Some(child) = safe_fork::fork()? else {
        drop((entered, hold));
        let done = unshare(CloneFlags::CLONE_NEWUSER)
            .map_err(io::Error::from)
            .and_then(|()| tell.write_all(b"."))
            .and_then(|()| held.read_to_end(&mut Vec::new()));
        #[expect(clippy::exit, reason = "a child that does one thing")]
        std::process::exit(i32::from(done.is_err()));
    };
    drop((tell, held));
    let of = |name: &str| format!("/proc/{}/{name}", child.pid());
    let made = entered.read_exact(&mut [0]).and_then(|()| {
        fs::write(of("uid_map"), format!("{} {} 1\n", owner.0, ids.user))?;
        fs::write(of("gid_map"), format!("{} {} 1\n", owner.1, ids.group))?;
        File::open(of("ns/user"))
    });
    drop(hold);
    child.join()?;
    made
}

impl Lent {
    /// Which file it is, by its own descriptor.
    ///
    /// # Errors
    /// What the system says.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        File::from(self.mount.try_clone()?).metadata()
    }

    /// Puts it in its place. What is mounted in it from here on is seen nowhere else.
    ///
    /// # Errors
    /// What the system says.
    pub fn put(&self, at: &Path) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(self.mount.as_fd(), "", CWD, at, flags)?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        Ok(mount(
            None::<&str>,
            at,
            None::<&str>,
            private,
            None::<&str>,
        )?)
    }
}
