//! Writing: whole or not at all, under the lock of the folder.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, Flock, OFlag, fallocate, openat, renameat};
use nix::sys::stat::{FileStat, SFlag, fchmod};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use rustix::fs::Dir;

use super::{FRESH, FileError, Folder, PRIVATE, Problem, kind, trust};

/// Removes what commands killed in the middle of a write left in a directory. The lock is held,
/// so nobody is writing. One that cannot be removed is in nobody's way but that of its own file.
/// Returns the names of all else there.
pub(super) fn remove_half_written(folder: &Folder) -> Vec<String> {
    let [start, end] = FRESH;
    let mut others = Vec::new();
    for entry in Dir::read_from(&folder.fd).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        let ours = name.len() > start.len().saturating_add(end.len())
            && name.starts_with(start)
            && name.ends_with(end);
        let is_file = |stat: FileStat| kind(&stat) == SFlag::S_IFREG;
        if ours
            && folder
                .stat(name)
                .is_ok_and(|stat| stat.is_some_and(is_file))
        {
            let _ = unlinkat(&folder.fd, name, UnlinkatFlags::NoRemoveDir);
        } else {
            others.push(name.to_owned());
        }
    }
    others
}

/// A directory of ours under its lock: the only way to write in it.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    pub(super) folder: &'a Folder,
    pub(super) _lock: Flock<OwnedFd>,
    /// What lay in it when it was locked.
    pub(super) names: Vec<String>,
}

impl Locked<'_> {
    /// The directory.
    pub(crate) fn folder(&self) -> &Folder {
        self.folder
    }

    /// The names of what lay in it when it was locked, in no order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Writes a file of the directory, whole or not at all, with mode 0600.
    ///
    /// # Errors
    /// The system said no; what stood there stands.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), FileError> {
        write(self.folder, name, text)
    }

    /// Writes a file that is not there yet, whole or not at all, with mode 0600, and does not wait
    /// for the disk. One that is to go (`over`) makes room for it, and is written over: to remove
    /// it and make another takes a file system longer, which may tell the disk at once what became
    /// free. What it held is gone before, also for who finds it after a power cut, as far as the file
    /// system keeps the order. Who reads meanwhile finds that its name is gone.
    ///
    /// # Errors
    /// The system said no; `over` may be gone then.
    pub(crate) fn add(&self, name: &str, over: Option<&str>, text: &str) -> Result<(), FileError> {
        let [start, end] = FRESH;
        let fresh = format!("{start}{name}{end}");
        let mut file = match over.and_then(|over| self.taken(over, &fresh)) {
            Some(file) => file,
            None => self.folder.open_to_write(&fresh, false)?,
        };
        let mut put = || -> Result<(), (&'static str, Errno)> {
            file.write_all(text.as_bytes())
                .and_then(|()| cut(&file, text.len()))
                .map_err(|error| ("written", number(&error)))?;
            let folder = &self.folder.fd;
            renameat(folder, fresh.as_str(), folder, name).map_err(|errno| ("written", errno))
        };
        put().map_err(|(doing, errno)| {
            // Half written; the error matters more.
            let _ = remove(self.folder, &fresh);
            FileError::io(&self.folder.path.join(name), doing, errno)
        })
    }

    /// A file of ours under another name, to be written over: its bytes are zeros, which frees none of
    /// its room (`fallocate(2)`). None where it is not as it should be or its file system has no such
    /// way, and then it is gone.
    fn taken(&self, name: &str, fresh: &str) -> Option<File> {
        let folder = &self.folder.fd;
        let moved = renameat(folder, name, folder, fresh);
        let opened = moved.map(|()| self.folder.open_file(fresh, OFlag::O_WRONLY));
        if let Ok(Ok(Some(file))) = opened {
            let file = File::from(file);
            if zero(&file).is_ok() {
                return Some(file);
            }
        }
        // It may be neither under one name nor the other.
        let _ = remove(self.folder, name);
        let _ = remove(self.folder, fresh);
        None
    }

    /// Writes a file of a directory inside, made where it is missing.
    ///
    /// # Errors
    /// As [`Locked::write`].
    pub(crate) fn write_in(&self, folder: &str, name: &str, text: &str) -> Result<(), FileError> {
        let inner = self.folder.make(folder)?;
        remove_half_written(&inner);
        write(&inner, name, text)
    }

    /// Removes a file of a directory inside, where it is there.
    ///
    /// # Errors
    /// The system said no.
    pub(crate) fn remove_in(&self, folder: &str, name: &str) -> Result<(), FileError> {
        match self.folder.folder(folder, false)? {
            Some(inner) => remove(&inner, name),
            None => Ok(()),
        }
    }

    /// Removes a file of the directory, if it is there.
    ///
    /// # Errors
    /// The system said no.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        remove(self.folder, name)
    }
}

fn remove(folder: &Folder, name: &str) -> Result<(), FileError> {
    match unlinkat(&folder.fd, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => Err(FileError::io(&folder.path.join(name), "removed", error)),
    }
}

fn write(folder: &Folder, name: &str, text: &str) -> Result<(), FileError> {
    let path = folder.path.join(name);
    // What cannot be trusted is not replaced either.
    if let Some(stat) = folder.stat(name)? {
        trust::file(&stat).map_err(|problem| FileError::new(&path, problem))?;
    }
    let [start, end] = FRESH;
    // One name is enough, since writers hold the lock; what stands there was half written.
    let fresh = format!("{start}{name}{end}");
    match unlinkat(&folder.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(Errno::EISDIR) => {
            let path = folder.path.join(&fresh);
            return Err(FileError::new(&path, Problem::NotAFile));
        }
        Err(error) => return Err(FileError::io(&path, "written", error)),
    }
    put(folder, &fresh, name, text).map_err(|(doing, error)| {
        // What is half written takes room that may be short; the error matters more.
        let _ = unlinkat(&folder.fd, fresh.as_str(), UnlinkatFlags::NoRemoveDir);
        FileError::io(&path, doing, error)
    })
}

/// Writes a new file whole and renames it over the old one.
fn put(folder: &Folder, fresh: &str, name: &str, text: &str) -> Result<(), (&'static str, Errno)> {
    let fail = |doing| move |error: Errno| (doing, error);
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let fd = openat(&folder.fd, fresh, flags, PRIVATE).map_err(fail("written"))?;
    // Whatever the caller's umask takes away.
    fchmod(&fd, PRIVATE).map_err(fail("written"))?;
    let mut file = File::from(fd);
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| ("written", number(&error)))?;
    renameat(&folder.fd, fresh, &folder.fd, name).map_err(fail("replaced"))?;
    fsync(folder.fd.as_fd()).map_err(fail("written"))
}

fn number(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Makes every byte of a file zero.
fn zero(file: &File) -> io::Result<()> {
    let length = i64::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    // There is no empty range.
    match length {
        0 => Ok(()),
        _ => Ok(fallocate(
            file,
            FallocateFlags::FALLOC_FL_ZERO_RANGE,
            0,
            length,
        )?),
    }
}

/// Makes a file end where what was written does.
fn cut(file: &File, length: usize) -> io::Result<()> {
    let length = u64::try_from(length).map_err(io::Error::other)?;
    match file.metadata()?.len() == length {
        true => Ok(()),
        false => file.set_len(length),
    }
}
