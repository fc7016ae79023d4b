//! The members of `params` that the relay looks at, and of `_meta` in it.
//!
//! Pure, one pass, no copy. What is not looked at may stand there twice; what is, may not.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::capabilities::Capabilities;
use super::envelope::Id;

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
    /// The name of the tool or prompt.
    pub(super) fn name(&self) -> Option<String> {
        self.name.and_then(|json| serde_json::from_str(json).ok())
    }

    /// The URI of the resource.
    pub(super) fn uri(&self) -> Option<String> {
        self.uri.and_then(|json| serde_json::from_str(json).ok())
    }

    /// What is to be completed: the word for what it is, and its name or URI. `None` where two
    /// readers could read it differently.
    pub(super) fn reference(&self) -> Option<(String, String)> {
        let Pairs(members) = serde_json::from_str(self.reference?).ok()?;
        let text = |name: &str| -> Option<Option<String>> {
            let mut values = members.iter().filter(|(key, _)| key == name);
            let value = values.next().map(|(_, value)| value.get());
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
        let Some(Pairs(members)) = self.meta.and_then(|json| serde_json::from_str(json).ok())
        else {
            return meta;
        };
        for (name, value) in members {
            match &*name {
                "progressToken" => meta.token = Id::read(value.get()),
                PROTOCOL_VERSION => meta.modern = true,
                CLIENT_CAPABILITIES => meta.capabilities = Capabilities::read(value.get()),
                _ => {}
            }
        }
        meta
    }

    /// What `_meta` says of who asks, in the 2026-07-28 era, for a request of ours in the host's
    /// place.
    pub(super) fn who(&self) -> Option<String> {
        let Pairs(members) = serde_json::from_str(self.meta?).ok()?;
        let own = members.iter().filter(|(name, _)| WHO.contains(&&**name));
        let said: Vec<String> = own
            .map(|(name, value)| format!("\"{name}\":{}", value.get()))
            .collect();
        Some(format!("{{{}}}", said.join(",")))
    }
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

/// The name of a member, borrowed where nothing is escaped.
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParamsReader)
    }
}

/// An object's members in their order, with the values as they are written.
pub(super) struct Pairs<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Whether a decoder that ignores letter case takes it for one of ours (Go's also takes U+017F for
/// s, and the Kelvin sign for k).
fn is_lookalike(name: &str) -> bool {
    let plain = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    OURS.iter().any(|ours| {
        let folded = name.chars().map(plain);
        folded.eq(ours.chars().map(|c| c.to_ascii_lowercase()))
    })
}

/// Reads any value; only an object has anything to tell.
struct ParamsReader;

impl<'de> Visitor<'de> for ParamsReader {
    type Value = Params<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut params = Params::default();
        while let Some(Name(name)) = map.next_key()? {
            let slot = match &*name {
                "name" => &mut params.name,
                "requestId" => &mut params.request,
                "arguments" => &mut params.arguments,
                "progressToken" => &mut params.token,
                "uri" => &mut params.uri,
                "ref" => &mut params.reference,
                "cursor" => &mut params.cursor,
                "_meta" => &mut params.meta,
                "capabilities" => &mut params.capabilities,
                "inputResponses" => &mut params.responses,
                "requestState" => &mut params.state,
                other => {
                    params.lookalike |= is_lookalike(other);
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            params.twice |= slot.replace(map.next_value::<&RawValue>()?.get()).is_some();
        }
        Ok(params)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Params::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Params::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Params::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Params::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Params::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Params::default())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Params::default())
    }
}
