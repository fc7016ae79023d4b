//! The members of `params` that the relay looks at, and of `_meta` in it.
//!
//! Pure, one pass, no copy. What is not looked at may stand there twice; what is, may not.

use std::borrow::Cow;

use super::capabilities::Capabilities;
use super::envelope::Id;
use super::scan::{NotJson, Scan, characters};
use super::splice;

/// The member of `_meta` that each request of the 2026-07-28 era has.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Likewise what its host can be asked for.
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The members of `_meta` that say who asks.
const WHO: [&str; 3] = [
    PROTOCOL_VERSION,
    CLIENT_CAPABILITIES,
    "io.modelcontextprotocol/clientInfo",
];
/// The members of `params` that the relay looks at.
const OURS: [&str; 8] = [
    "name",
    "requestId",
    "arguments",
    "progressToken",
    "_meta",
    "capabilities",
    "inputResponses",
    "requestState",
];

/// The members of `params` that the relay looks at, as JSON.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Params<'a> {
    /// `name`: of a tool or a prompt.
    name: Option<&'a str>,
    /// `requestId`: of a cancelled request.
    request: Option<&'a str>,
    /// `arguments`: of a call.
    arguments: Option<&'a str>,
    /// `progressToken`: of a progress notification.
    token: Option<&'a str>,
    /// `uri`: of a resource.
    uri: Option<&'a str>,
    /// `ref`: what is to be completed.
    reference: Option<&'a str>,
    /// `cursor`: where a page of a list begins.
    cursor: Option<&'a str>,
    /// `_meta`.
    meta: Option<&'a str>,
    /// `capabilities`: of `initialize`.
    capabilities: Option<&'a str>,
    /// `inputResponses`: what a host brings to a request that was answered with questions.
    responses: Option<&'a str>,
    /// `requestState`: what it hands back with them.
    state: Option<&'a str>,
    /// One of them stood there twice.
    twice: bool,
    /// The name of one differs from one of these in letter case only.
    lookalike: bool,
}

impl<'a> Params<'a> {
    /// Reads the next value, whatever it is; only an object has anything to tell.
    pub(super) fn read(scan: &mut Scan<'a>) -> Result<Self, NotJson> {
        let mut params = Self::default();
        scan.members(|scan, name| {
            let name = characters(name)?;
            params.take(&name, scan.value()?);
            Ok(())
        })?;
        Ok(params)
    }

    fn take(&mut self, name: &str, value: &'a str) {
        let slot = match name {
            "name" => &mut self.name,
            "requestId" => &mut self.request,
            "arguments" => &mut self.arguments,
            "progressToken" => &mut self.token,
            "uri" => &mut self.uri,
            "ref" => &mut self.reference,
            "cursor" => &mut self.cursor,
            "_meta" => &mut self.meta,
            "capabilities" => &mut self.capabilities,
            "inputResponses" => &mut self.responses,
            "requestState" => &mut self.state,
            other => {
                self.lookalike |= is_lookalike(other);
                return;
            }
        };
        self.twice |= slot.replace(value).is_some();
    }

    /// The name of the tool or prompt.
    pub(super) fn name(&self) -> Option<String> {
        self.name.and_then(text)
    }

    /// The URI of the resource.
    pub(super) fn uri(&self) -> Option<String> {
        self.uri.and_then(text)
    }

    /// What is to be completed: the word for what it is, and its name or URI. `None` where two
    /// readers could read it differently.
    pub(super) fn reference(&self) -> Option<(String, String)> {
        let members = splice::read(self.reference?)?;
        let text = |name: &str| -> Option<Option<String>> {
            let mut values = members.iter().filter(|member| member.is(name));
            let value = values.next().map(|member| member.value);
            let read = value.map(serde_json::from_str).transpose().ok()?;
            values.next().is_none().then_some(read)
        };
        let word = text("type")??;
        let name = match word.as_str() {
            "ref/prompt" => text("name")?,
            _ => text("uri")?,
        };
        Some((word, name?))
    }

    /// The cursor of a page, as it is written.
    pub(super) fn cursor(&self) -> Option<&str> {
        self.cursor
    }

    /// Whether one of them stood there twice, so that two readers may differ.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.twice
    }

    /// Whether a decoder that ignores letter case would take a member for one of these.
    pub(super) fn has_lookalike(&self) -> bool {
        self.lookalike
    }

    /// What a legacy host says that it can be asked for.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
            .map_or_else(Capabilities::default, Capabilities::read)
    }

    /// `inputResponses`, as they are written.
    pub(super) fn responses(&self) -> Option<&'a str> {
        self.responses
    }

    /// `requestState`, as it is written.
    pub(super) fn state(&self) -> Option<&'a str> {
        self.state
    }

    /// The id of the request that is cancelled.
    pub(super) fn request(&self) -> Option<Id> {
        self.request.and_then(Id::read)
    }

    /// The arguments of a call, as they are written.
    pub(super) fn arguments(&self) -> Option<&str> {
        self.arguments
    }

    /// The token that a progress notification is for. Tokens are as ids are.
    pub(super) fn progress(&self) -> Option<Id> {
        self.token.and_then(Id::read)
    }

    /// What `_meta` says of a request: its progress token, and whether it names its protocol
    /// version, as each request of the 2026-07-28 era does.
    pub(super) fn meta(&self) -> Meta {
        let mut meta = Meta::default();
        let Some(json) = self.meta else {
            return meta;
        };
        let read = Scan::new(json).members(|scan, name| {
            let value = scan.value()?;
            match &*characters(name)? {
                "progressToken" => meta.token = Id::read(value),
                PROTOCOL_VERSION => meta.modern = true,
                CLIENT_CAPABILITIES => meta.capabilities = Capabilities::read(value),
                _ => {}
            }
            Ok(())
        });
        read.map_or_else(|NotJson| Meta::default(), |_| meta)
    }

    /// What `_meta` says of who asks, in the 2026-07-28 era, for a request of ours in the host's
    /// place.
    pub(super) fn who(&self) -> Option<String> {
        let members = splice::read(self.meta?)?;
        let own = members
            .iter()
            .filter(|member| WHO.iter().any(|name| member.is(name)));
        Some(splice::object(
            own.map(|member| (member.written, member.value)),
        ))
    }
}

/// The characters of what is a string.
fn text(json: &str) -> Option<String> {
    characters(json).ok().map(Cow::into_owned)
}

/// What the relay needs of a request's `_meta`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Meta {
    /// The token under which progress is told.
    pub(super) token: Option<Id>,
    /// The request is of the 2026-07-28 era.
    pub(super) modern: bool,
    /// What its host can be asked for.
    pub(super) capabilities: Capabilities,
}

/// Whether a decoder that ignores letter case takes it for one of ours.
fn is_lookalike(name: &str) -> bool {
    OURS.iter().any(|ours| splice::alike(name, ours))
}
