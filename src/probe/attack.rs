//! The table of attacks: which there are, what each tries to break, and what it goes for.
//!
//! Where two mechanisms hold one promise, an attack tells which of them is gone: what a mount
//! shows and Landlock closes, what Landlock does not know and a mount flag stops.

use serde::{Deserialize, Serialize};

use super::{Outcome, files, network, own, processes};
use crate::confine::{Mechanism, Promise};

/// What an attack goes for, which is planted or known outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing that has to be told.
    Nothing,
    /// A private key in the person's home.
    Key,
    /// `mcp.json`, with a stored value.
    State,
    /// A file in the private home of another server.
    OtherHome,
    /// A file in the directory that the host works in.
    Workspace,
    /// A name in the person's home where nothing stands.
    Fresh,
    /// A file of the person's to change.
    File,
    /// A file to take away, and a name for it.
    Moved,
    /// A program of the person's.
    Program,
    /// A file in a directory that was granted to be read.
    Readable,
    /// A program there.
    ReadableProgram,
    /// A socket there.
    ReadableSocket,
    /// A directory in the person's home.
    Keys,
    /// An empty one.
    Directory,
    /// A FIFO of the person's.
    Fifo,
    /// A socket of the person's, as of an agent or a container engine.
    Socket,
    /// A datagram socket of the person's.
    Datagram,
    /// A socket of the person's with a name of its own kind.
    Abstract,
    /// A TCP port of this machine's.
    Port,
    /// A UDP port of this machine's.
    Udp,
    /// A process of the person's.
    Victim,
    /// Where the server may write, a path a line.
    Writable,
    /// The variables that it was given, a name a line.
    Variables,
    /// How many system-call filters it should be under.
    Filters,
    /// The bounds that it should be held to, as JSON.
    Limits,
    /// What the outside's namespace of a kind is called.
    Namespace(&'static str),
}

macro_rules! attacks {
    ($($name:ident, $promise:ident, $target:expr, $run:path, $needs:expr, $text:literal;)*) => {
        /// One attack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum Attack {
            $(#[doc = $text] $name,)*
        }

        impl Attack {
            /// All, in the order of the promises.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The promise it tries to break.
            #[must_use]
            pub const fn promise(self) -> Promise {
                match self { $(Self::$name => Promise::$promise),* }
            }

            /// What it goes for.
            #[must_use]
            pub const fn target(self) -> Target {
                match self { $(Self::$name => $target),* }
            }

            /// What it tries, for the table.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The mechanism without which it is not promised to fail.
            #[must_use]
            pub const fn needs(self) -> Option<Mechanism> {
                match self { $(Self::$name => $needs),* }
            }

            /// Does it, to a target.
            #[must_use]
            pub fn run(self, target: &str) -> Outcome {
                let attack: fn(&str) -> std::io::Result<String> = match self {
                    $(Self::$name => $run),*
                };
                attack(target).into()
            }
        }
    };
}

use Mechanism as M;
use Target as T;

attacks! {
    ReadHomeKey, P1, T::Key, files::read, None, "read a private key in the home";
    ReadState, P1, T::State, files::read, None, "read the state and stored values";
    ReadOtherHome, P1, T::OtherHome, files::read, None, "read another server's home";
    ReadWorkspace, P1, T::Workspace, files::read, None, "read where the host works";
    ReadThroughLink, P1, T::Key, files::read_through_link, None, "read the key through a link of its own";
    ReadThroughRoot, P1, T::Key, files::read_through_root, None, "read the key by way of /proc/self/root";
    ReadShadow, P1, T::Nothing, files::read_shadow, None, "read /etc/shadow";
    ListRoot, P1, T::Nothing, files::list_root, None, "list the root directory";
    KeepRootsId, P1, T::Nothing, own::roots_id, Some(M::UnprivilegedId), "act with root's own id";
    WriteNew, P2, T::Fresh, files::write, None, "write a file in the home";
    Overwrite, P2, T::File, files::overwrite, None, "overwrite a file outside";
    Truncate, P2, T::File, files::truncate, None, "truncate a file outside";
    MakeDirectory, P2, T::Fresh, files::make_directory, None, "make a directory in the home";
    MakeFile, P2, T::Fresh, files::mknod_file, None, "make a file in the home, and not open it";
    MakeFifo, P2, T::Fresh, files::mknod_fifo, None, "make a FIFO in the home";
    MakeSocket, P2, T::Fresh, files::mknod_socket, None, "make a socket in the home";
    MakeLink, P2, T::Fresh, files::make_link, None, "make a link in the home";
    Remove, P2, T::File, files::remove, None, "remove a file outside";
    RemoveDirectory, P2, T::Directory, files::remove_directory, None, "remove a directory outside";
    Rename, P2, T::Moved, files::rename, None, "rename a file outside";
    LinkFrom, P2, T::File, files::link_from, None, "link a file outside into its own home";
    OverwriteReadable, P2, T::Readable, files::overwrite, None, "overwrite what it may read";
    WriteProc, P2, T::Nothing, files::write_proc, None, "write in /proc/self";
    WritableMount, P2, T::Writable, own::writable_mount, Some(M::MountNamespace), "find a mount that is not closed to writing";
    ChangeMode, P3, T::File, files::change_mode, None, "change a file's mode outside";
    ChangeTime, P3, T::File, files::change_time, None, "change a file's time outside";
    ChangeOwner, P3, T::File, files::change_owner, None, "change a file's group outside";
    ChangeAttribute, P3, T::File, files::change_attribute, None, "change a file's attributes outside";
    FileFlags, P3, T::Nothing, files::file_flags, Some(M::MountNamespace), "change a file's flags by descriptor";
    ChangeModeReadable, P3, T::Readable, files::change_mode, None, "change the mode of what it may read";
    ChangeTimeReadable, P3, T::Readable, files::change_time, None, "change the time of what it may read";
    ExecuteOutside, P4, T::Program, files::execute, None, "execute a program outside";
    ExecuteReadable, P4, T::ReadableProgram, files::execute, None, "execute what it may only read";
    GainPrivilege, P4, T::Nothing, own::new_privileges, None, "gain privilege by executing";
    SetUidBit, P4, T::Nothing, files::set_uid_bit, None, "make a program of its own set-uid";
    SetGidBit, P4, T::Nothing, files::set_gid_bit, Some(M::SeccompNoSetGid), "make a program of its own set-gid";
    SetUidMount, P4, T::Nothing, own::set_uid_mount, Some(M::MountNamespace), "find a mount that honours set-uid";
    OpenTerminal, P5, T::Nothing, files::open_terminal, None, "open a terminal";
    MakeDevice, P5, T::Nothing, files::make_device, None, "make a device in its own home";
    DeviceMount, P5, T::Nothing, own::device_mount, Some(M::MountNamespace), "find a mount that honours devices";
    HaveTerminal, P5, T::Nothing, own::has_terminal, None, "have a controlling terminal";
    Watch, P6, T::Keys, files::watch, None, "watch a directory in the home";
    WatchAll, P6, T::Nothing, files::watch_all, None, "open a watch of file systems";
    Mount, P6, T::Nothing, files::mount, None, "mount";
    ChangeRoot, P6, T::Nothing, files::change_root, None, "change its root";
    SharedMount, P6, T::Nothing, own::shared_mount, Some(M::MountNamespace), "find a mount that others share";
    OpenFifo, P7, T::Fifo, files::open_fifo, None, "open a FIFO outside";
    SeeName, P7, T::Key, files::see, None, "see the name of a file outside";
    SeeDevice, P7, T::Nothing, files::see_device, None, "see a device of the machine's";
    ShareMounts, P7, T::Namespace("mnt"), own::shares_namespace, None, "share the mounts outside";
    SeeEnvironment, E1, T::Nothing, own::environment, None, "see the caller's environment";
    HaveVariable, E1, T::Variables, own::unnamed_variable, None, "have a variable nobody named";
    InheritDescriptor, E2, T::Nothing, own::inherited_descriptor, None, "inherit a descriptor";
    InheritFile, E2, T::Nothing, own::inherited_file, None, "have a file of the caller's as its stderr";
    CallersSession, E3, T::Nothing, own::foreign_session, None, "be in the caller's session";
    OpenUmask, E3, T::Nothing, own::open_umask, None, "have an open umask";
    IgnoredSignal, E3, T::Nothing, own::ignored_signal, None, "ignore a signal from its start";
    BlockedSignal, E3, T::Nothing, own::blocked_signal, None, "start with a signal blocked";
    SignalStarter, R1, T::Nothing, processes::signal_starter, Some(M::LandlockScopes), "signal the process that started it";
    SignalVictim, R1, T::Victim, processes::signal, None, "signal a process of yours";
    SeeVictim, R1, T::Victim, processes::see, None, "read a process's command line";
    VictimEnvironment, R1, T::Victim, processes::environment, None, "read a process's environment";
    VictimMemory, R1, T::Victim, processes::memory, None, "open a process's memory";
    VictimPriority, R1, T::Victim, processes::priority, None, "change a process's priority";
    VictimAffinity, R1, T::Victim, processes::affinity, None, "change a process's processors";
    VictimLimits, R1, T::Victim, processes::limits, None, "change a process's limits";
    SharePid, R1, T::Namespace("pid"), own::shares_namespace, None, "share the processes outside";
    ShareIpc, R1, T::Namespace("ipc"), own::shares_namespace, Some(M::IpcNamespace), "share System V objects outside";
    OpenQueue, R1, T::Nothing, processes::open_queue, None, "open a message queue";
    ReadKey, R1, T::Nothing, processes::read_key, None, "read a key of the session keyring";
    SeeKey, R1, T::Nothing, processes::see_key, Some(M::Keyring), "see a key of the session keyring";
    ReadMemoryByCall, R1, T::Nothing, processes::read_memory, None, "read memory by the call for other processes";
    HaveCapability, R3, T::Nothing, own::capability, None, "have a capability";
    HaveBounding, R3, T::Nothing, own::bounding_capability, Some(M::UserNamespace), "have a capability in its bounding set";
    GainCapability, R3, T::Nothing, own::new_privileges, None, "gain a capability by executing";
    KeepGroups, R3, T::Nothing, own::roots_groups, Some(M::UnprivilegedId), "keep root's groups";
    RaiseLimit, R3, T::Nothing, processes::raise_limit, None, "raise a limit";
    SetHostName, R3, T::Nothing, processes::set_host_name, None, "set the host name";
    KernelSetting, R3, T::Nothing, files::kernel_setting, None, "write a setting of the kernel";
    MachinesProc, R3, T::Nothing, own::machines_proc, Some(M::MountNamespace), "find the machine's part of /proc writable";
    ShareHostName, R3, T::Namespace("uts"), own::shares_namespace, Some(M::MountNamespace), "share the host name outside";
    ShareCgroup, R3, T::Namespace("cgroup"), own::shares_namespace, Some(M::MountNamespace), "share the view of control groups";
    MakeUserNamespace, R4, T::Nothing, processes::user_namespace, None, "make a user namespace";
    Unshare, R4, T::Nothing, processes::unshare, None, "call unshare at all";
    Personality, R4, T::Nothing, processes::personality, None, "change its personality";
    UnlistedCall, R4, T::Nothing, processes::unlisted_call, None, "make a call that is on no list";
    StackProtocol, R4, T::Nothing, network::stacked, None, "stack a protocol of the kernel's on TCP";
    FewerFilters, R4, T::Filters, own::fewer_filters, None, "be under fewer filters than planned";
    NestedNamespaces, R4, T::Nothing, own::nested_namespaces, Some(M::UserNamespace), "be allowed namespaces of its own";
    TakeMemory, R5, T::Limits, processes::take_memory, None, "take more memory than its bound";
    OpenFiles, R5, T::Limits, processes::open_files, None, "open more files than its bound";
    StartThreads, R5, T::Limits, processes::start_threads, None, "start more threads than its bound";
    GrowFile, R5, T::Limits, processes::grow_file, None, "grow a file beyond its bound";
    DumpCore, R5, T::Nothing, processes::dump_core, None, "leave a core file";
    LockMemory, R5, T::Limits, processes::lock_memory, None, "lock more memory than its bound";
    FillTemporary, R5, T::Limits, own::boundless_temporary, Some(M::MountNamespace), "fill a file system in memory without bound";
    WatchMuch, R5, T::Limits, own::many_watches, Some(M::UserNamespace), "watch without bound";
    ShareIds, R5, T::Namespace("user"), own::shares_namespace, Some(M::UserNamespace), "be counted among your processes";
    ConnectPort, N1, T::Port, network::connect_port, None, "connect to a port (--net none)";
    SendDatagram, N1, T::Udp, network::send_datagram, None, "send a datagram (--net none)";
    ShareNetwork, N1, T::Namespace("net"), own::shares_namespace, Some(M::NetworkNamespace), "share the network (--net none)";
    ConnectSocket, N2, T::Socket, network::connect_socket, None, "connect to an agent's socket";
    ConnectThroughLink, N2, T::Socket, network::connect_through_link, None, "connect to it through a link of its own";
    SendToSocket, N2, T::Datagram, network::send_to_socket, None, "send to a datagram socket";
    ConnectAbstract, N2, T::Abstract, network::connect_abstract, None, "connect to an abstract socket";
    ConnectReadable, N2, T::ReadableSocket, network::connect_socket, Some(M::LandlockSockets), "connect to a socket where it may read";
    PacketSocket, N3, T::Nothing, network::packet, None, "open a packet socket";
    RawSocket, N3, T::Nothing, network::raw, None, "open a raw socket";
    MachineSocket, N3, T::Nothing, network::vsock, None, "open a socket to the machine's host";
    CryptoSocket, N3, T::Nothing, network::crypto, None, "open a crypto socket";
    EventSocket, N3, T::Nothing, network::uevent, None, "open a netlink socket that is not for routes";
    StreamProtocol, N3, T::Nothing, network::mptcp, None, "open a socket of a protocol that passes port rules";
    PrivilegedPort, N3, T::Nothing, network::privileged_port, None, "take a privileged port";
    FastOpen, N4, T::Nothing, network::fast_open, None, "connect with the first data, past port rules";
    StartedByPath, S1, T::Nothing, own::started_by_path, None, "be executed by its path";
    StartedUnconfined, S2, T::Nothing, own::started_unconfined, None, "run before it is confined";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_attack_has_a_name_and_a_text_of_its_own() {
        let texts: BTreeSet<&str> = Attack::ALL.iter().map(|attack| attack.text()).collect();
        assert_eq!(texts.len(), Attack::ALL.len());
        // Columns of the page.
        assert!(texts.iter().all(|text| text.len() <= 50), "{texts:?}");
    }

    #[test]
    fn they_stand_in_the_order_of_the_promises() {
        let order: Vec<Promise> = Attack::ALL.iter().map(|attack| attack.promise()).collect();
        assert!(order.is_sorted(), "{order:?}");
    }
}
