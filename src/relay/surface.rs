//! The gate's layer of the surface, on the way to the host: of what a server says of itself, only
//! what was approved passes.
//!
//! Pure. What is withheld is said in the `_meta` of the answer (by number, and by the names that were
//! approved), once on standard error, in the record, and to the owner, who keeps it for
//! `supervisor tools ALIAS --pending`. What was seen is what calls go by ([`super::guard`]).

use serde_json::json;

use super::Pending;
use super::envelope::Reply;
use super::gate::{Effect, Gate};
use super::ledger::Asks;
use super::listing::{Edit, Judge, member_of, result_of};
use super::pins::Change;
use super::present::{LISTED, Listed, Named};
use super::refused;
use crate::audit::Event;
use crate::surface::Kind;

/// Withheld items that are told of in one run.
const TOLD: usize = 1_000;
/// Names in one note.
const NAMED: usize = 8;
/// Characters of a name in the record.
const RECORDED: usize = 128;
const METHOD_NOT_FOUND: i64 = -32_601;

impl Gate {
    fn judge(&self) -> Judge<'_> {
        Judge {
            pins: &self.pins,
            filter: &self.filter,
            whole: self.whole,
            differs: self.whole && self.present.differs(),
        }
    }

    /// An answer on its way to the host, to a request for a page or for an opening: the line that
    /// takes its place, where one does.
    pub(super) fn shown(&mut self, line: &[u8], asks: Option<&Asks>) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(line).ok()?;
        let result = result_of(text)?;
        let mut edit = self.judge().edit(text, &result, asks.map(|asks| asks.kind));
        match asks {
            Some(asks) if self.present.of(asks.kind).epoch == asks.epoch => {
                self.reading.beware(asks.kind, &edit.page);
                let list = self.present.of_mut(asks.kind);
                if list.page(asks.cursor.as_ref(), &edit.page).is_err() {
                    // The host would read for ever.
                    edit.ends();
                    let what = member_of(asks.kind);
                    let note = format!("its list of {what} has no end, and was cut");
                    self.effects.push(Effect::Note(note));
                }
                self.idle();
            }
            Some(_) => {}
            None => {
                self.present.opening = edit.differs();
                let mut withheld = edit.withheld.iter().filter_map(|(_, item)| item.clone());
                self.present.instructions = withheld.find(|item| item.kind() == Kind::Instructions);
            }
        }
        self.tell(&edit);
        let meta = self.meta_of(&edit);
        let shown = edit.line(text, &result, meta.as_deref())?;
        Some(shown.into_bytes())
    }

    /// A page that answers a request of ours: it goes no further.
    pub(super) fn read(&mut self, line: &[u8], reply: &Reply<'_>) {
        self.heard();
        let Some(mut asking) = self.reading.answered(line.len()) else {
            return self.release();
        };
        let kind = asking.kind;
        let text = std::str::from_utf8(line).unwrap_or_default();
        let edit = match (reply.code(), result_of(text)) {
            (None, Some(result)) => self.judge().edit(text, &result, Some(kind)),
            // A server that has no such list lists nothing.
            (Some(METHOD_NOT_FOUND), _) if asking.cursor.is_none() => Edit::default(),
            _ => return self.gave_up(kind, asking.list, asking.epoch),
        };
        if self.present.of(kind).epoch == asking.epoch {
            // What it calls meanwhile is not what it was.
            self.present.of_mut(kind).beware(&edit.page);
        }
        if asking
            .list
            .page(asking.cursor.as_ref(), &edit.page)
            .is_err()
        {
            self.tell(&edit);
            return self.gave_up(kind, asking.list, asking.epoch);
        }
        if let Some(next) = edit.next(text) {
            self.tell(&edit);
            return self.ask_page(kind, Some(next), (asking.list, asking.epoch));
        }
        self.take(kind, asking.list, asking.epoch);
        self.tell(&edit);
        self.idle();
        self.read_on();
    }

    /// The list that is read cannot be read to its end; what was seen of it stands.
    pub(super) fn gave_up(&mut self, kind: Kind, mut list: Listed, epoch: u64) {
        list.leave_open();
        self.take(kind, list, epoch);
        let what = member_of(kind);
        self.effects.push(Effect::Note(format!(
            "its list of {what} could not be read to the end"
        )));
        self.read_on();
    }

    /// The answer to a request of ours cannot be read.
    pub(super) fn read_nothing(&mut self) {
        self.heard();
        if let Some(asking) = self.reading.answered(0) {
            self.gave_up(asking.kind, asking.list, asking.epoch);
        }
    }

    /// The reading takes too long; what was seen stands, and nothing more is asked.
    pub(super) fn read_long_enough(&mut self) {
        self.reading.want_no_more();
        self.read_nothing();
    }

    /// A list that was read takes the place of what was known, unless that changed meanwhile.
    fn take(&mut self, kind: Kind, mut list: Listed, epoch: u64) {
        let known = self.present.of_mut(kind);
        if known.epoch == epoch {
            list.epoch = epoch;
            *known = list;
        }
    }

    /// A notification of the server's: a list that changed is known no more.
    pub(super) fn list_changed(&mut self, method: &str) {
        let kinds: &[Kind] = match method {
            "notifications/tools/list_changed" => &[Kind::Tool],
            "notifications/prompts/list_changed" => &[Kind::Prompt],
            "notifications/resources/list_changed" => &[Kind::Resource, Kind::Template],
            _ => return,
        };
        for kind in kinds {
            self.present.of_mut(*kind).renew();
            self.reading.changed(*kind);
        }
    }

    /// No process is there of which anything is known.
    pub(super) fn forget_surface(&mut self) {
        self.present.renew();
        // What waited was answered, or goes with the process that it was for.
        let _ = self.reading.end();
    }

    /// Names the patterns that match no tool, once the list was seen whole.
    fn idle(&mut self) {
        let tools = self.present.of(Kind::Tool);
        if !tools.is_whole() || std::mem::replace(&mut self.warned, true) {
            return;
        }
        let idle = self.filter.idle(|pattern| {
            let mut names = self.present.of(Kind::Tool).names();
            names.any(|(name, _)| pattern.matches(name))
        });
        self.effects.extend(idle.into_iter().map(Effect::Note));
    }

    /// Says what is withheld, each item once.
    fn tell(&mut self, edit: &Edit) {
        let mut news = Vec::new();
        for (change, item) in &edit.withheld {
            let Some(item) = item else { continue };
            if self.told.len() >= TOLD || !self.told.insert(item.pin().clone()) {
                continue;
            }
            let kind = item.kind().as_str();
            let known = self.pins.has(item.kind(), item.name());
            self.effects.push(Effect::Event(Event::Surface {
                kind,
                change: change.as_str(),
                name: known.then(|| item.name().chars().take(RECORDED).collect()),
                sha256: item.pin().to_string(),
            }));
            let name = refused::shown(item.name());
            news.push(format!("{kind} {name} ({})", change.as_str()).replace(" ()", ""));
        }
        let pending = self.pending();
        if self.pended.as_ref() != Some(&pending) {
            self.pended = Some(pending.clone());
            self.effects.push(Effect::Pending(pending));
        }
        if news.is_empty() || !self.pins.is_given() {
            return;
        }
        let more = news.len().saturating_sub(NAMED);
        news.truncate(NAMED);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (alias, news) = (&self.alias, news.join(", "));
        self.effects.push(Effect::Note(format!(
            "withheld, since it is not what was approved: {news}{more}; what differs: supervisor tools {alias} --pending"
        )));
    }

    /// What is said of it in the answer, as a member of `_meta`. Names that nobody approved are not
    /// in it.
    fn meta_of(&self, edit: &Edit) -> Option<String> {
        if edit.count == 0 {
            return None;
        }
        let changed: Vec<&str> = edit
            .withheld
            .iter()
            .filter(|(change, _)| *change == Change::Changed)
            .filter_map(|(_, item)| item.as_deref().map(crate::surface::canonical::Item::name))
            .filter(|name| !name.is_empty())
            .collect();
        let hint = if self.pins.is_given() {
            format!("supervisor tools {} --pending", self.alias)
        } else {
            self.approve_hint()
        };
        let said = json!({
            "approved": self.pins.is_given(),
            "withheld": edit.count,
            "changed": changed,
            "hint": hint,
        });
        Some(format!("\"supervisor/surface\":{said}"))
    }

    /// What is withheld now, as far as it was seen.
    fn pending(&self) -> Pending {
        let mut pending = Pending::default();
        for kind in LISTED {
            let list = self.present.of(kind);
            pending.withheld.extend(list.withheld().cloned());
            if !list.is_whole() {
                continue;
            }
            pending.whole.push(kind);
            let listed = |name: &str| list.named(name) != Named::Nothing;
            let gone = self.pins.names(kind).filter(|name| !listed(name));
            pending
                .gone
                .extend(gone.map(|name| (kind, name.to_owned())));
        }
        let words = self.present.instructions.iter();
        pending.withheld.extend(words.map(|item| (**item).clone()));
        pending
    }
}
