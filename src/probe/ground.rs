//! What there is to steal and to change: a home with a key, a state directory, a host's working
//! directory, sockets, a port, a process, a key. Everything goes with the value that holds it.
#![expect(
    clippy::disallowed_methods,
    reason = "plants files and starts the bundled server"
)]

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;
use std::{env, thread};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::geteuid;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net;
use tokio::process::Command;

use super::{Attack, CANARY, KEY, Outcome, Target, VARIABLE, files, server};
use crate::plan::Person;

/// What is planted.
#[derive(Debug)]
pub struct Ground {
    base: TempDir,
    root: PathBuf,
    program: PathBuf,
    port: SocketAddr,
    udp: SocketAddr,
    victim: Child,
    /// Open and inherited: the caller's own working directory.
    _leaked: File,
    key: bool,
}

/// The longest tick of a kernel's clock for files.
const TICK: Duration = Duration::from_millis(11);

/// How a file stands; what is done to it shows.
type Picture = Option<(u64, u64, i64, i64)>;

impl Ground {
    /// Plants everything in a new directory, and answers on the sockets and the ports. Within a
    /// Tokio runtime.
    ///
    /// # Errors
    /// What the system says.
    pub fn new() -> io::Result<Self> {
        let base = tempfile::Builder::new()
            .prefix("supervisor-probe-")
            .tempdir()?;
        let root = base.path().canonicalize()?;
        for directory in [
            "home/.ssh",
            "home/.supervisor/home/0000000000000000",
            "work",
            "dir",
            "read",
            "run",
        ] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(root.join(directory))?;
        }
        let key = plant_key();
        let (port, udp) = listen(&root)?;
        let program = env::current_exe()?;
        let victim = victim(&program, &root)?;
        let leaked = File::open(root.join("work"))?;
        fcntl(&leaked, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let ground = Self {
            base,
            root,
            program,
            port,
            udp,
            victim,
            _leaked: leaked,
            key,
        };
        ground.plant()?;
        Ok(ground)
    }

    /// Puts every file where it was and as it was.
    ///
    /// # Errors
    /// What the system says.
    pub fn plant(&self) -> io::Result<()> {
        for name in ["home/fresh", "home/moved-away"] {
            match fs::symlink_metadata(self.path(name)) {
                Ok(found) if found.is_dir() => fs::remove_dir(self.path(name))?,
                Ok(_) => fs::remove_file(self.path(name))?,
                Err(_) => {}
            }
        }
        for name in [
            "home/.ssh/id_ed25519",
            "home/.supervisor/home/0000000000000000/token",
            "home/file",
            "home/moved",
            "work/notes",
            "read/file",
        ] {
            write(&self.path(name), CANARY, 0o600)?;
        }
        for name in ["home/program", "read/program"] {
            write(&self.path(name), "#!/bin/sh\nexit 0\n", 0o755)?;
        }
        files::make_fifo(&self.path("home/fifo"))?;
        match fs::create_dir(self.path("home/empty")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // What is done to them after this has another time, on kernels with coarse ones too.
        thread::sleep(TICK);
        Ok(())
    }

    /// A path below the base.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The program that attacks and supervises: this one.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Whether there is a key in the caller's session keyring.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key
    }

    /// Who declares and starts the bundled server.
    #[must_use]
    pub fn person(&self) -> Person {
        Person {
            home: self.path("home"),
            state: self.path("home/.supervisor"),
            uid: geteuid().as_raw(),
        }
    }

    /// This program as a host starts it: in the host's directory, with a variable, a descriptor, an
    /// ignored signal and a blocked one that are none of the server's, and an open umask.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "trap '' USR2; umask 022; exec \"$0\" \"$@\""])
            .arg(&self.program)
            .arg(server::HOST)
            .arg(&self.program)
            .args(words)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("NO_COLOR", "1")
            .env(VARIABLE, CANARY);
        command
    }

    /// What an attack goes for, where that is the same for every server.
    #[must_use]
    pub fn target(&self, attack: Attack) -> Option<String> {
        let at = |name: &str| Some(self.path(name).to_string_lossy().into_owned());
        match attack.target() {
            Target::Nothing => Some(String::new()),
            Target::Key => at("home/.ssh/id_ed25519"),
            Target::State => at("home/.supervisor/mcp.json"),
            Target::OtherHome => at("home/.supervisor/home/0000000000000000/token"),
            Target::Workspace => at("work/notes"),
            Target::Fresh => at("home/fresh"),
            Target::File => at("home/file"),
            Target::Moved => Some(format!("{}\n{}", at("home/moved")?, at("home/moved-away")?)),
            Target::Program => at("home/program"),
            Target::Readable => at("read/file"),
            Target::ReadableProgram => at("read/program"),
            Target::ReadableSocket => at("read/socket"),
            Target::Keys => at("home/.ssh"),
            Target::Directory => at("home/empty"),
            Target::Fifo => at("home/fifo"),
            Target::Socket => at("run/agent.sock"),
            Target::Datagram => at("run/log.sock"),
            Target::Abstract => Some(abstract_name(&self.root)),
            Target::Port => Some(self.port.to_string()),
            Target::Udp => Some(self.udp.to_string()),
            Target::Victim => Some(self.victim.id().to_string()),
            Target::Namespace(kind) => {
                let link = fs::read_link(Path::new("/proc/self/ns").join(kind)).ok()?;
                Some(link.to_string_lossy().into_owned())
            }
            Target::Writable | Target::Variables | Target::Filters | Target::Limits => None,
        }
    }

    /// How the file that an attack changes stands.
    #[must_use]
    pub fn picture(&self, attack: Attack) -> Picture {
        let path = match attack.target() {
            Target::Fresh | Target::File | Target::Readable | Target::Directory => {
                self.target(attack)?
            }
            Target::Moved => self.target(attack)?.lines().next()?.to_owned(),
            _ => return None,
        };
        let found = fs::symlink_metadata(path).ok()?;
        Some((
            found.ino(),
            found.nlink(),
            found.ctime(),
            found.ctime_nsec(),
        ))
    }

    /// What came of an attack, by its effect where it has one: a server may have a place of its
    /// own of that name, and a call that fails may have changed something before. What it changed
    /// is put back.
    ///
    /// # Errors
    /// What the system says.
    pub fn judged(&self, attack: Attack, before: Picture, told: Outcome) -> io::Result<Outcome> {
        let changes = matches!(
            attack.target(),
            Target::Fresh | Target::File | Target::Readable | Target::Moved | Target::Directory
        );
        if !changes {
            return Ok(told);
        }
        let changed = self.picture(attack) != before;
        if changed {
            self.plant()?;
        }
        Ok(match (changed, told.succeeded()) {
            (true, false) => Outcome::got(format!("changed it all the same: {}", told.detail)),
            (false, true) => Outcome::stopped("reached a place of its own"),
            _ => told,
        })
    }

    /// Removes everything, and says whether it is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(mut self) -> io::Result<()> {
        self.end_victim();
        let base = std::mem::replace(&mut self.base, TempDir::new()?);
        base.close()
    }

    fn end_victim(&mut self) {
        // It may have been ended by an attack.
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.end_victim();
    }
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.set_permissions(PermissionsExt::from_mode(mode))?;
    file.write_all(text.as_bytes())
}

fn abstract_name(root: &Path) -> String {
    root.join("abstract").to_string_lossy().into_owned()
}

/// Whoever connects gets what was planted. Tasks of the runtime, and no threads: a process that
/// has several can make no user namespace to lend by.
fn listen(root: &Path) -> io::Result<(SocketAddr, SocketAddr)> {
    let name = UnixAddress::from_abstract_name(abstract_name(root))?;
    for listener in [
        UnixListener::bind(root.join("run/agent.sock"))?,
        UnixListener::bind(root.join("read/socket"))?,
        UnixListener::bind_addr(&name)?,
    ] {
        listener.set_nonblocking(true)?;
        let listener = net::UnixListener::from_std(listener)?;
        tokio::spawn(async move {
            while let Ok((mut peer, _)) = listener.accept().await {
                // A peer that is gone already has seen nothing.
                let _ = peer.write_all(CANARY.as_bytes()).await;
            }
        });
    }
    let datagram = net::UnixDatagram::bind(root.join("run/log.sock"))?;
    tokio::spawn(async move { while datagram.recv(&mut [0; 64]).await.is_ok() {} });
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    tcp.set_nonblocking(true)?;
    let port = tcp.local_addr()?;
    let tcp = net::TcpListener::from_std(tcp)?;
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = tcp.accept().await {
            let _ = peer.write_all(CANARY.as_bytes()).await;
        }
    });
    let udp = UdpSocket::bind("127.0.0.1:0")?;
    udp.set_nonblocking(true)?;
    let address = udp.local_addr()?;
    let udp = net::UdpSocket::from_std(udp)?;
    tokio::spawn(async move {
        while let Ok((_, peer)) = udp.recv_from(&mut [0; 64]).await {
            let _ = udp.send_to(CANARY.as_bytes(), peer).await;
        }
    });
    Ok((port, address))
}

/// A process of the person's, with a secret in its environment.
fn victim(program: &Path, root: &Path) -> io::Result<Child> {
    let null = || Stdio::null();
    std::process::Command::new(program)
        .arg(server::STAY)
        .arg(root.join("run/victim.lock"))
        .env_clear()
        .env(VARIABLE, CANARY)
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()
}

/// A key in a session keyring of this process's own, which what it starts inherits; whoever only
/// has the same id may not see it. Whether there is one: some containers refuse keyrings.
fn plant_key() -> bool {
    use keyutils::{Keyring, Permission, keytypes::User};
    let plant = || -> Result<(), keyutils::Error> {
        let mut ring = Keyring::join_anonymous_session()?;
        let mut key = ring.add_key::<User, _, _>(KEY, CANARY.as_bytes())?;
        key.set_permissions(Permission::POSSESSOR_ALL)
    };
    plant().is_ok()
}
