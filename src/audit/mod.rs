//! The audit log: what was started, asked, refused and broken, a line each, each line bound to the
//! one before it by its hash.
//!
//! [`event`] is what happens and [`mod@line`] how that is written, pure; [`log`] writes the files below `audit/` in the state directory
//! and [`read`] reads them, no other code does; [`verify`] whether a log is whole; [`filter`] which lines a person
//! asks for. An argument's value is in it only where a declaration asks for that, a stored value
//! and what a server wrote never. `docs/audit.md` has the shape of a line.
//!
//! Beside the path: `launch` and `relay` tell what happens, `cli::audit` reads.

pub(crate) mod error;
pub(crate) mod event;
mod files;
pub(crate) mod filter;
pub(crate) mod line;
pub(crate) mod log;
pub(crate) mod read;
pub(crate) mod syncing;
pub(crate) mod verify;

pub use error::AuditError;
pub use event::Event;
