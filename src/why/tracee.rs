//! One stopped thread of the server's: its registers, its memory, where its paths begin.
#![expect(
    clippy::disallowed_methods,
    reason = "reads /proc of the server's processes"
)]

use std::ffi::OsString;
use std::fs;
use std::io::IoSliceMut;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// The longest path that the kernel takes.
const LONGEST: usize = 4096;
/// What is read at a time; a read does not cross into the next page, which may not be there.
const PAGE: usize = 4096;

/// A call that returned: number, arguments, what the kernel answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
    pub(super) answer: i64,
}

/// What must be kept at the start of a call, since the answer takes its place.
#[cfg(target_arch = "aarch64")]
pub(super) fn entered(thread: Pid) -> u64 {
    ptrace::getregs(thread).map_or(0, |regs| regs.regs[0])
}

/// Nothing: the answer has a register of its own.
#[cfg(not(target_arch = "aarch64"))]
pub(super) const fn entered(_: Pid) -> u64 {
    0
}

/// The call that a thread returns from.
#[cfg(target_arch = "x86_64")]
pub(super) fn returned(thread: Pid, _: u64) -> Option<Call> {
    let regs = ptrace::getregs(thread).ok()?;
    Some(Call {
        number: regs.orig_rax.cast_signed(),
        arguments: [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9],
        answer: regs.rax.cast_signed(),
    })
}

/// The call that a thread returns from.
#[cfg(target_arch = "aarch64")]
pub(super) fn returned(thread: Pid, first: u64) -> Option<Call> {
    let regs = ptrace::getregs(thread).ok()?.regs;
    Some(Call {
        number: regs[8].cast_signed(),
        arguments: [first, regs[1], regs[2], regs[3], regs[4], regs[5]],
        answer: regs[0].cast_signed(),
    })
}

/// What a call's arguments point to.
pub(super) trait Memory {
    /// So many bytes.
    fn bytes(&self, address: u64, count: usize) -> Option<Vec<u8>>;
    /// Bytes up to a zero.
    fn text(&self, address: u64) -> Option<Vec<u8>>;
    /// The number of the socket that a descriptor is, one on the whole machine.
    fn socket(&self, descriptor: i32) -> Option<u64>;
    /// The path that a descriptor leads to.
    fn leads_to(&self, descriptor: i32) -> Option<PathBuf>;
    /// The working directory.
    fn directory(&self) -> Option<PathBuf>;
}

/// A stopped thread.
pub(super) struct Stopped(pub(super) Pid);

impl Stopped {
    fn read(&self, address: usize, count: usize) -> Option<Vec<u8>> {
        let mut room = vec![0; count];
        let remote = [RemoteIoVec {
            base: address,
            len: count,
        }];
        let got = process_vm_readv(self.0, &mut [IoSliceMut::new(&mut room)], &remote).ok()?;
        room.truncate(got);
        Some(room)
    }

    fn link(&self, name: &str) -> Option<PathBuf> {
        let led = fs::read_link(format!("/proc/{}/{name}", self.0)).ok()?;
        led.is_absolute().then_some(led)
    }
}

impl Memory for Stopped {
    fn bytes(&self, address: u64, count: usize) -> Option<Vec<u8>> {
        let address = usize::try_from(address).ok()?;
        self.read(address, count)
            .filter(|bytes| bytes.len() == count)
    }

    fn text(&self, address: u64) -> Option<Vec<u8>> {
        let mut address = usize::try_from(address).ok().filter(|at| *at > 0)?;
        let mut text = Vec::new();
        while text.len() < LONGEST {
            let count = PAGE.saturating_sub(address % PAGE);
            let bytes = self.read(address, count)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                text.extend(bytes.into_iter().take(end));
                return Some(text);
            }
            address = address.checked_add(bytes.len().max(1))?;
            text.extend(bytes);
        }
        None
    }

    fn socket(&self, descriptor: i32) -> Option<u64> {
        let led = fs::read_link(format!("/proc/{}/fd/{descriptor}", self.0)).ok()?;
        let number = led.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    }

    fn leads_to(&self, descriptor: i32) -> Option<PathBuf> {
        self.link(&format!("fd/{descriptor}"))
    }

    fn directory(&self) -> Option<PathBuf> {
        self.link("cwd")
    }
}

/// What a process runs, for a reader: its program, and the script where that interprets one.
pub(super) fn program(process: Pid) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()));
    let name = |word: OsString| {
        let path = Path::new(&word);
        let name = path.file_name().unwrap_or(path.as_os_str());
        crate::text::printable(&name.to_string_lossy())
    };
    let program = words.next().map(name).unwrap_or_default();
    match words.next() {
        Some(word) if word.as_encoded_bytes().contains(&b'/') => {
            format!("{program} {}", name(word))
        }
        _ => program,
    }
}
