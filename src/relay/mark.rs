//! Marks what a server says in its results as untrusted, for a model that reads it.
//!
//! Pure. Each text stands between two lines that name the server and a word that nobody could know
//! when the text was written, so that no text can end itself and go on as somebody else; what a chat
//! template takes for such an end is broken up (`policy/template-tokens.json`). Only texts change: what a
//! program reads stays as it is, and `_meta` says so.

use serde_json::Value;

use super::gate::Gate;
use super::ledger::Asked;
use super::parts;
use super::refused;
use super::splice::{self, Edits, Member, members};

/// `policy/template-tokens.json`: in small letters, the longest first. None begins with a letter.
static TOKENS: &[&str] = include!(concat!(env!("OUT_DIR"), "/tokens.rs"));
/// The member of `_meta` that says what was marked.
const FLAG: &str = "supervisor/untrusted";
/// Levels of a result that are looked into; content as the protocol has it needs six.
const DEEPEST: usize = 16;
/// The text that takes the place of what lies deeper, or is none: what cannot be marked does not pass.
const LEFT_OUT: &str = r#""supervisor left out what stood here: it cannot be marked as untrusted""#;

/// `text` without what a chat template would act on.
fn neutral(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let begins = |c: char| TOKENS.iter().any(|token| token.starts_with(c));
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        out.push(character);
        // The rest is not looked at for each.
        if character.is_alphanumeric() || !begins(character) {
            continue;
        }
        let rest = lower.get(at..).unwrap_or_default();
        if TOKENS.iter().any(|token| rest.starts_with(token)) {
            out.push(' ');
        }
    }
    out
}

/// The block of that text.
fn left_out() -> String {
    format!(r#"{{"type":"text","text":{LEFT_OUT}}}"#)
}

/// One result that is marked.
struct Marking<'a> {
    line: &'a str,
    edits: Edits,
    /// Who says it.
    who: String,
    seal: String,
    /// Texts that were marked.
    texts: usize,
    /// What stays as it is, by its name.
    unmarked: Vec<&'static str>,
}

impl Marking<'_> {
    fn text(&mut self, value: &str) {
        let Some(text) = string(value) else {
            if value.starts_with(['[', '{']) {
                // No text, and yet what some hosts would show as one.
                self.edits.replace(self.line, value, LEFT_OUT.to_owned());
                self.leave("unreadable");
            }
            return;
        };
        let (who, seal) = (&self.who, &self.seal);
        let text = neutral(&text);
        let marked = format!(
            "[untrusted text of {who}: begins {seal}]\n{text}\n[untrusted text of {who}: ends {seal}]"
        );
        let marked = Value::from(marked).to_string();
        self.edits.replace(self.line, value, marked);
        self.texts += 1;
    }

    /// Whether so deep a value is looked into; what is too deep goes.
    fn reaches(&mut self, value: &str, depth: usize) -> bool {
        if depth < DEEPEST {
            return true;
        }
        let new = match value.chars().next() {
            Some('[') => format!("[{}]", left_out()),
            Some('{') => left_out(),
            // Nothing stands in it that would be marked.
            _ => return false,
        };
        self.edits.replace(self.line, value, new);
        self.leave("nested");
        false
    }

    /// The members of an object; what only some readers can read goes, in favour of `new`.
    fn read<'b>(&mut self, value: &'b str, new: &str) -> Option<Vec<Member<'b>>> {
        if !value.starts_with('{') {
            return Some(Vec::new());
        }
        let all = splice::read(value);
        if all.is_some() {
            return all;
        }
        self.edits.replace(self.line, value, new.to_owned());
        self.leave("unreadable");
        None
    }

    /// A block of content, or several, so many levels into the result.
    fn blocks(&mut self, value: &str, depth: usize) {
        if value.starts_with('"') {
            // Not of the protocol, and shown by hosts that take it.
            return self.text(value);
        }
        if !self.reaches(value, depth) {
            return;
        }
        let depth = depth.saturating_add(1);
        if value.starts_with('[') {
            elements(value).for_each(|block| self.blocks(block, depth));
            return;
        }
        for member in self.read(value, &left_out()).unwrap_or_default() {
            match folded(&member).as_str() {
                "text" => self.text(member.value),
                "resource" => self.contents(member.value, depth),
                "content" => self.blocks(member.value, depth),
                "data" | "blob" => self.leave("binary"),
                _ => {}
            }
        }
    }

    /// The contents of a resource. A page that a host shows is for its program, not for a model.
    fn contents(&mut self, value: &str, depth: usize) {
        if value.starts_with('"') {
            return self.text(value);
        }
        if !self.reaches(value, depth) {
            return;
        }
        if value.starts_with('[') {
            let depth = depth.saturating_add(1);
            elements(value).for_each(|one| self.contents(one, depth));
            return;
        }
        let all = self.read(value, &left_out()).unwrap_or_default();
        let kind = all
            .iter()
            .rfind(|member| member.is("mimeType"))
            .and_then(|member| string(member.value));
        let page = kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("html"));
        for member in all {
            match folded(&member).as_str() {
                "text" if page => self.leave("html"),
                "text" => self.text(member.value),
                "blob" => self.leave("binary"),
                _ => {}
            }
        }
    }

    fn leave(&mut self, what: &'static str) {
        if !self.unmarked.contains(&what) {
            self.unmarked.push(what);
        }
    }

    /// A result, or what a task holds of one.
    fn result(&mut self, result: &str, depth: usize) {
        if !self.reaches(result, depth) {
            return;
        }
        let depth = depth.saturating_add(1);
        let before = (self.texts, self.unmarked.len());
        let Some(all) = self.read(result, &format!(r#"{{"content":[{}]}}"#, left_out())) else {
            return;
        };
        for member in &all {
            match folded(member).as_str() {
                "content" | "messages" => self.blocks(member.value, depth),
                "contents" => self.contents(member.value, depth),
                "structuredcontent" => self.leave("structuredContent"),
                "result" => self.result(member.value, depth),
                _ => {}
            }
        }
        if (self.texts, self.unmarked.len()) != before && !has_result(&all) {
            self.flag(result, &all);
        }
    }

    /// Says in `_meta` what was done; what a server says there under that name goes.
    fn flag(&mut self, result: &str, all: &[Member<'_>]) {
        let name = Value::from(FLAG).to_string();
        let said = serde_json::json!({"texts": self.texts, "unmarked": self.unmarked}).to_string();
        let meta = all.iter().rfind(|member| member.is("_meta"));
        let Some(meta) = meta else {
            let flag = splice::object([(name.as_str(), said.as_str())]);
            let comma = if all.is_empty() { "" } else { "," };
            let member = format!("{comma}\"_meta\":{flag}");
            self.edits.append(self.line, result, member);
            return;
        };
        let kept = members(meta.value);
        let kept = kept
            .iter()
            .filter(|member| !member.is(FLAG))
            .map(|member| (member.written, member.value));
        let flagged = splice::object(kept.chain([(name.as_str(), said.as_str())]));
        self.edits.replace(self.line, meta.value, flagged);
    }
}

fn has_result(all: &[Member<'_>]) -> bool {
    all.iter()
        .any(|member| member.is_like("result") && member.value.starts_with('{'))
}

/// The name of a member, letter case left out of account; of one that spells no characters, none.
fn folded(member: &Member<'_>) -> String {
    let name = member.name.as_deref().unwrap_or_default();
    name.chars().map(splice::plain).collect()
}

/// The elements of an array, as they are written.
fn elements(array: &str) -> impl Iterator<Item = &str> {
    let all = parts::elements(array, &parts::whole(array)).unwrap_or_default();
    all.into_iter().filter_map(|part| array.get(part))
}

/// The characters of a JSON string; of one that spells no characters, itself as it is written.
fn string(json: &str) -> Option<String> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    Some(serde_json::from_str(json).unwrap_or_else(|_| inner.to_owned()))
}

impl Gate {
    /// A message with the texts in its `member` marked; `None` where there are none.
    pub(super) fn marked(
        &mut self,
        line: &[u8],
        member: &str,
        tool: Option<&str>,
    ) -> Option<Vec<u8>> {
        // Where the rules cannot be read, marking may be what they say.
        if self.rules.as_ref().is_ok_and(|rules| !rules.mark_untrusted) {
            return None;
        }
        let line = std::str::from_utf8(line).ok()?;
        let alias = &self.alias;
        let who = tool.map_or_else(
            || alias.clone(),
            |tool| format!("{alias}, tool {}", neutral(&refused::shown(tool))),
        );
        let mut marking = Marking {
            line,
            edits: Edits::new(),
            who,
            seal: self.questions.seal(line),
            texts: 0,
            unmarked: Vec::new(),
        };
        for top in members(line) {
            if top.is(member) {
                marking.result(top.value, 0);
            }
        }
        (!marking.edits.is_empty()).then(|| marking.edits.done(line).into_bytes())
    }
}

/// Whether answers to a method hold what a server says for a model to read.
pub(super) fn speaks(asked: &Asked) -> bool {
    let method = asked.method.as_str();
    super::asking::is_call(method) || method.starts_with("tasks/")
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
