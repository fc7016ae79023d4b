//! From what is permitted to a running server: its private home, its secrets, its orders, and what
//! the kernel took of them.
//!
//! Place on the path: permit → **launch** → relay.

use std::io;

use super::enter::{self, Ground};
use super::ordered::{Ordered, Started};
use super::spawn::{self, Shim};
use super::{LaunchError, Prepared, home, lend, secrets};
use crate::confine::linux::lend::Lent;
use crate::confine::orders::Giver;
use crate::confine::spec::{Go, Place};
use crate::plan::system;
use crate::relay;

/// A server that was started confined.
#[derive(Debug)]
pub struct Running {
    /// Its pipes and its process, for the relay.
    pub server: relay::Server,
    /// What the kernel took.
    pub enforced: crate::confine::spec::Enforced,
    /// Writable directories on a disk that was low already, each with what is free there.
    pub low: Vec<String>,
    /// Held as long as the server runs: its temporary directory is not emptied meanwhile.
    pub home: home::Home,
}

/// A server that has its orders, and executes nothing until it is let go.
#[derive(Debug)]
pub(crate) struct Launching {
    going: Going,
    orders: Giver,
}

impl Launching {
    /// Lets it go.
    ///
    /// # Errors
    /// [`LaunchError::Spawn`]; nothing of the server's has run then.
    pub(crate) fn go(mut self) -> Result<Going, LaunchError> {
        spawn::give(&mut self.orders, &Go {}, &[])?;
        // What becomes the server may wait for a processor, and what follows here for nothing.
        std::thread::yield_now();
        Ok(self.going)
    }
}

/// A server that was let go.
#[derive(Debug)]
pub(crate) struct Going {
    ordered: Ordered,
    home: home::Home,
    /// What was looked up for it.
    ground: Option<Ground>,
}

impl Going {
    /// Hears from the shim that the rules are in force and the server was executed.
    ///
    /// # Errors
    /// [`LaunchError`]; nothing of the server's has run then, or it was ended.
    pub(crate) async fn confirmed(self, prepared: &Prepared) -> Result<Running, LaunchError> {
        let Self {
            ordered,
            home,
            ground,
        } = self;
        let Started {
            server,
            enforced,
            low,
        } = ordered.confirmed(&prepared.0, ground).await?;
        Ok(Running {
            server,
            enforced,
            low,
            home,
        })
    }
}

/// Makes the home, reads the secrets and orders the shim. A permitted explanation may be launched
/// again when the server has ended. `tell` hears the number of the confining process while that
/// waits for its orders, so that who watches can take hold of it.
///
/// # Errors
/// [`LaunchError`], and nothing of the server's has run; what `tell` says.
pub(crate) fn order(
    prepared: &mut Prepared,
    tell: impl FnOnce(u32) -> io::Result<()>,
) -> Result<Launching, LaunchError> {
    let Prepared(explanation) = prepared;
    let ids = explanation.lowered.ids;
    let home = if explanation.ephemeral {
        home::Home::temporary(&explanation.plan, ids)?
    } else {
        home::Home::open(&explanation.plan, &explanation.launch_digest, ids)?
    };
    let env = secrets::variables(&explanation.plan, &explanation.declared)?;
    let (shim, lent) = match explanation.shim.take() {
        Some(shim) => shim,
        None => another(explanation)?,
    };
    tell(shim.next()).map_err(LaunchError::Spawn)?;
    let (ordered, orders) = spawn::order(explanation, shim, &lent, env)?;
    let going = Going {
        ordered,
        home,
        ground: explanation.ground.take(),
    };
    Ok(Launching { going, orders })
}

/// The same, and hears from the shim that the rules are in force and the server was executed.
///
/// # Errors
/// [`LaunchError`]; nothing of the server's has run then, or it was ended.
pub async fn launch(prepared: &mut Prepared) -> Result<Running, LaunchError> {
    order(prepared, |_| Ok(()))?.go()?.confirmed(prepared).await
}

/// A shim that goes where the explanation says.
fn another(explanation: &super::Explanation) -> Result<(Shim, Vec<Lent>), LaunchError> {
    let ids = explanation.lowered.ids;
    let place = match &explanation.lowered.namespaces {
        Some(_) => Place::Inside,
        None => Place::Outside,
    };
    let mut shim = Shim::execute(place, explanation.watched).map_err(LaunchError::Spawn)?;
    shim.begin(enter::begin(&explanation.declared, ids))?;
    if place == Place::Inside {
        shim.ground(&Ground::of(system::look_up())?.1)?;
    }
    let (lent, kept) = lend(&explanation.loans, ids);
    match (shim.begun()?.refused, kept.first()) {
        (None, None) => Ok((shim, lent)),
        (Some(why), _) => {
            let why = format!("namespaces are refused now: {why}");
            Err(LaunchError::Unconfirmed(why))
        }
        (None, Some(why)) => Err(LaunchError::Unconfirmed(format!(
            "cannot be lent now: {why}"
        ))),
    }
}
