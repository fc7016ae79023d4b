//! The gate's layer of the surface: what a request of the host's asks for must be listed now as it
//! was approved.
//!
//! Pure. Where that is not known, the request waits for a reading of ours ([`super::reading`]).
//! Resources are asked for by any URI, which a tool's result may have named; so one that nobody
//! lists passes, unless what is listed for it is withheld.

use super::answer::{self, Data};
use super::arguments::arguments_of;
use super::envelope::Id;
use super::gate::{CALL, Effect, Gate};
use super::ledger::Asked;
use super::params::Params;
use super::pins::Change;
use super::present::{LISTED, Listed, Named};
use super::reading::Held;
use super::refused::{self, Layer, Refused};
use super::template::is_of;
use crate::surface::Kind;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A tool or a prompt, by its name.
    Named(Kind, String),
    /// A resource, or one of a template, by its URI.
    Resource(String),
    /// A template.
    Template(String),
    /// A list, of a server that is offered whole or not at all.
    Lists,
    /// Something that cannot be read.
    Unreadable,
}

/// Whether it may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// It is listed as it was approved.
    Offered,
    /// It is not.
    Withheld(Why),
    /// Neither approved nor listed.
    Unknown,
    /// What is listed was not seen.
    Unseen,
}

/// Why something is not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// What is listed is not what was approved.
    Changed(Change),
    /// It was approved, and is not listed.
    Gone,
    /// The list could not be read.
    Unread,
}

impl Wanted {
    /// What a request asks for, where the surface has a say in it.
    pub(super) fn of(method: &str, params: &Params<'_>, whole: bool) -> Option<Self> {
        let named = |kind, name: Option<String>| {
            name.map_or(Self::Unreadable, |name| Self::Named(kind, name))
        };
        Some(match method {
            CALL => Self::tool(params.name()),
            "prompts/get" => named(Kind::Prompt, params.name()),
            "resources/read" | "resources/subscribe" => {
                params.uri().map_or(Self::Unreadable, Self::Resource)
            }
            "completion/complete" => match params.reference() {
                Some((word, name)) if word == "ref/prompt" => Self::Named(Kind::Prompt, name),
                Some((word, uri)) if word == "ref/resource" => Self::Template(uri),
                _ => Self::Unreadable,
            },
            _ if whole && kind_of(method).is_some() => Self::Lists,
            _ => return None,
        })
    }

    /// What a call asks for.
    pub(super) fn tool(name: Option<String>) -> Self {
        name.map_or(Self::Unreadable, |name| Self::Named(Kind::Tool, name))
    }

    /// The lists that tell of it.
    fn kinds(&self) -> &'static [Kind] {
        match self {
            Self::Named(Kind::Prompt, _) => &[Kind::Prompt],
            Self::Named(..) => &[Kind::Tool],
            Self::Resource(_) | Self::Template(_) => &[Kind::Resource, Kind::Template],
            Self::Lists => &LISTED,
            Self::Unreadable => &[],
        }
    }

    /// It in a sentence.
    fn shown(&self) -> String {
        match self {
            Self::Named(kind, name) => format!("the {} {}", kind.as_str(), refused::shown(name)),
            Self::Resource(uri) => format!("the resource {}", refused::shown(uri)),
            Self::Template(uri) => format!("the template {}", refused::shown(uri)),
            Self::Lists => "the list".to_owned(),
            Self::Unreadable => "what was asked for".to_owned(),
        }
    }
}

/// The kind that a method lists.
pub(super) fn kind_of(method: &str) -> Option<Kind> {
    LISTED.into_iter().find(|kind| method_of(*kind) == method)
}

/// The method that lists a kind.
pub(super) fn method_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool | Kind::Instructions => "tools/list",
        Kind::Prompt => "prompts/list",
        Kind::Resource => "resources/list",
        Kind::Template => "resources/templates/list",
    }
}

impl Gate {
    /// Whether a request may be passed on.
    pub(super) fn pass(&self, wanted: &Wanted) -> Pass {
        if !self.pins.is_given() {
            return match wanted {
                Wanted::Lists => Pass::Offered,
                _ => Pass::Withheld(Why::Changed(Change::Unapproved)),
            };
        }
        if self.whole {
            if !LISTED.iter().all(|kind| self.present.of(*kind).is_whole()) {
                return Pass::Unseen;
            }
            if self.present.differs() && *wanted != Wanted::Lists {
                return Pass::Withheld(Why::Changed(Change::Whole));
            }
        }
        match wanted {
            Wanted::Named(kind, name) => self.by_name(*kind, name),
            Wanted::Resource(uri) => self.by_uri(uri),
            Wanted::Template(uri) => match self.by_name(Kind::Template, uri) {
                // A completion may be for a resource's own URI.
                Pass::Unknown => self.by_uri(uri),
                pass => pass,
            },
            Wanted::Lists => Pass::Offered,
            Wanted::Unreadable => Pass::Unknown,
        }
    }

    fn by_name(&self, kind: Kind, name: &str) -> Pass {
        match self.present.of(kind).named(name) {
            Named::Offered => Pass::Offered,
            Named::Withheld(change) => Pass::Withheld(Why::Changed(change)),
            Named::Unseen => Pass::Unseen,
            Named::Nothing if self.pins.has(kind, name) => Pass::Withheld(Why::Gone),
            Named::Nothing => Pass::Unknown,
        }
    }

    fn by_uri(&self, uri: &str) -> Pass {
        match self.by_name(Kind::Resource, uri) {
            Pass::Unknown => {}
            pass => return pass,
        }
        let templates = self.present.of(Kind::Template);
        // One that is not known may be the one it is of, and withheld.
        if !templates.names_all() {
            return Pass::Unseen;
        }
        let of_uri = templates
            .names()
            .filter(|(template, _)| is_of(uri, template));
        let offered: Vec<bool> = of_uri.map(|(_, offered)| offered).collect();
        if !offered.is_empty() && !offered.contains(&true) {
            return Pass::Withheld(Why::Changed(Change::Changed));
        }
        Pass::Offered
    }

    /// A request that may be passed on once its lists were read: it waits. The line has no LF.
    pub(super) fn hold(&mut self, line: &[u8], id: Id, wanted: Wanted, meta: Option<String>) {
        let number = self.asked.entered();
        if meta.is_some() || !self.reading.is_under_way() {
            self.reading.meta = meta;
        }
        let kinds = if self.whole {
            &LISTED[..]
        } else {
            wanted.kinds()
        };
        let unseen = kinds
            .iter()
            .copied()
            .filter(|kind| !self.present.of(*kind).is_whole());
        let unseen: Vec<Kind> = unseen.collect();
        self.reading.want(unseen);
        self.reading.hold(Held {
            id,
            number,
            line: [line, b"\n"].concat(),
            wanted,
        });
        if !self.reading.is_under_way() {
            self.read_on();
        }
    }

    /// Asks for the first page of the next list, or ends the reading.
    pub(super) fn read_on(&mut self) {
        match self.reading.next() {
            Some(kind) => {
                let epoch = self.present.of(kind).epoch;
                self.ask_page(kind, None, (Listed::default(), epoch));
            }
            None => self.release(),
        }
    }

    /// Asks for a page.
    pub(super) fn ask_page(&mut self, kind: Kind, cursor: Option<&str>, list: (Listed, u64)) {
        self.limits.asked(self.now.at);
        let since = Some(self.now.at).filter(|_| self.limits.has_heard() && !self.away);
        let line = self
            .reading
            .ask((kind, method_of(kind)), cursor, list, since);
        self.effects.push(Effect::ToServer(line));
    }

    /// The reading is over: what waited for it is passed on, or refused.
    pub(super) fn release(&mut self) {
        for held in self.reading.end() {
            if self.asked.number(&held.id) != Some(held.number) {
                continue;
            }
            let Some(mut asked) = self.asked.get(&held.id).cloned() else {
                continue;
            };
            if let (CALL, Wanted::Named(_, name)) = (asked.method.as_str(), &held.wanted) {
                // The ledger's is cut.
                asked.tool = Some(name.clone());
            }
            // Not seen by now: that is all that can be known.
            let unread = (self.pass(&held.wanted) == Pass::Unseen)
                .then_some(Pass::Withheld(Why::Unread))
                .and_then(|pass| self.turned_away(&held.id, &asked, &held.wanted, pass));
            // Rules and breaker may have changed while it waited.
            let arguments = arguments_of(&held.line);
            let answer = unread.or_else(|| {
                self.refusal(&held.id, &asked, Some(&held.wanted), arguments.as_deref())
            });
            if let Some(line) = answer {
                let _ = self.asked.settle(&held.id);
                self.counters.answered_by_relay += 1;
                self.effects.push(Effect::ToHost(line));
            } else if self.wants_word(&asked) {
                let _ = self.asked.settle(&held.id);
                self.ask_again(held.line);
            } else {
                self.counters.from_host += 1;
                self.effects.push(Effect::ToServer(held.line));
            }
        }
    }

    /// The answer to a request that the surface does not let pass; `None` where it may.
    pub(super) fn turned_away(
        &mut self,
        id: &Id,
        asked: &Asked,
        wanted: &Wanted,
        pass: Pass,
    ) -> Option<Vec<u8>> {
        let why = match pass {
            Pass::Offered | Pass::Unseen => return None,
            Pass::Unknown => {
                self.record_refused(asked, Layer::Surface, "tool-unknown");
                let message = match wanted {
                    Wanted::Named(kind, name) => {
                        format!("unknown {}: {}", kind.as_str(), refused::shown(name))
                    }
                    _ => format!("{} does not say what it asks for", asked.method),
                };
                let line = answer::error(Some(id), answer::INVALID_PARAMS, &message, None);
                return Some(line);
            }
            Pass::Withheld(why) => why,
        };
        let (reason, (code, number)) = reason(why);
        let text = self.why(wanted, why);
        if asked.method == CALL {
            let refused = Refused {
                layer: Layer::Surface,
                reason,
                text,
            };
            return Some(self.refuse(id, asked, &refused));
        }
        let hint = self.approve_hint();
        let data = Data {
            code,
            hint: Some(&hint),
            exit: None,
        };
        Some(answer::error(Some(id), number, &text, Some(data)))
    }

    /// The command that asks the second question.
    pub(super) fn approve_hint(&self) -> String {
        format!("supervisor approve {} --surface", self.alias)
    }

    fn why(&self, wanted: &Wanted, why: Why) -> String {
        let (alias, what, approve) = (&self.alias, wanted.shown(), self.approve_hint());
        let differs =
            format!("what differs: supervisor tools {alias} --pending; to answer: {approve}");
        match why {
            Why::Changed(Change::Unapproved) => format!(
                "the surface of {alias} was not approved, so it offers nothing; to look at it and answer: {approve}"
            ),
            Why::Changed(Change::Changed) => {
                format!("what {alias} says of {what} is not what was approved; {differs}")
            }
            Why::Changed(Change::Renamed) => {
                format!("{what} of {alias} was approved under another name; {differs}")
            }
            Why::Changed(Change::Added) => {
                format!("{what} was not there when the surface of {alias} was approved; {differs}")
            }
            Why::Changed(Change::Unreadable | Change::Nameless) => {
                format!("what {alias} says of {what} cannot be read in one way; {differs}")
            }
            Why::Changed(Change::Whole) => format!(
                "the surface of {alias} is not what was approved, and the administrator has it offered whole or not at all; {differs}"
            ),
            Why::Gone => format!("{alias} does not list {what} any more; to look at it: {approve}"),
            Why::Unread => format!(
                "{alias} did not say whether {what} is still what was approved: its list could not be read; to look at it: {approve}"
            ),
        }
    }
}

/// The word of a refusal; the code and the number of it where it is an error.
fn reason(why: Why) -> (&'static str, (&'static str, i64)) {
    let withheld = ("surface-withheld", answer::SURFACE_WITHHELD);
    match why {
        Why::Changed(Change::Unapproved) => (
            "surface-unapproved",
            ("surface-unapproved", answer::SURFACE_UNAPPROVED),
        ),
        Why::Unread => (
            "surface-unknown",
            ("surface-unknown", answer::SURFACE_UNKNOWN),
        ),
        Why::Changed(Change::Changed) => ("surface-changed", withheld),
        Why::Changed(Change::Renamed) => ("surface-renamed", withheld),
        Why::Changed(Change::Added) => ("surface-added", withheld),
        Why::Changed(Change::Unreadable | Change::Nameless) => ("surface-unreadable", withheld),
        Why::Changed(Change::Whole) => ("surface-whole", withheld),
        Why::Gone => ("surface-removed", withheld),
    }
}
