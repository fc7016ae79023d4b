//! All a server says about itself, and the question whether a model may read it.
//!
//! [`read`] starts the server, confined as `run` does, as throw-away children and asks it; what
//! comes back is a [`Surface`], a set of [items](canonical::Item) each with its pin. The rest is
//! pure: [`rows`] takes an item apart, [`check`] looks for what should not be there, [`diff`]
//! compares with what was approved, [`categories`] says what its tools may do, [`show`] lays all of it out behind a margin. [`further`] has a program of the person's own look too. [`reading`] is
//! era and capabilities, `lines` the rows on a page, `session` one child spoken to, `page` one answer, `wire` the pipes.
//! What is approved is kept by the room `approval`.
//!
//! Place on the path: approved declaration → **surface** → second question → approval.

pub(crate) mod canonical;
pub(crate) mod categories;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod error;
pub(crate) mod further;
mod lines;
mod page;
pub(crate) mod read;
pub(crate) mod reading;
pub(crate) mod rows;
mod session;
pub(crate) mod show;
mod wire;

pub use canonical::{Kind, Surface};
pub use error::SurfaceError;
