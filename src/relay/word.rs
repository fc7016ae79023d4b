//! What the person said, as the host brings it, and the host's second attempt without that.
//!
//! Pure.

use super::params::Params;
use super::splice;

/// The key of our question in a result, and of its answer.
pub(super) const KEY: &str = "supervisor";

/// What a person said.
pub(super) enum Word {
    Yes,
    No(&'static str),
}

impl Word {
    /// Of an `ElicitResult`; the last member of a name counts, as in most readers.
    pub(super) fn of(json: &str) -> Self {
        let action = splice::members(json)
            .into_iter()
            .rfind(|(name, _)| name == "action")
            .and_then(|(_, value)| serde_json::from_str::<String>(value.get()).ok());
        match action.as_deref() {
            Some("accept") => Self::Yes,
            Some("decline") => Self::No("ask-declined"),
            Some("cancel") => Self::No("ask-cancelled"),
            _ => Self::No("ask-unanswered"),
        }
    }
}

/// The answer to our question that a call brought.
pub(super) fn response(params: &Params<'_>) -> Word {
    let responses = params.responses().map_or_else(Vec::new, splice::members);
    let mut ours = responses.iter().filter(|(name, _)| name == KEY);
    match (ours.next(), ours.next()) {
        (Some((_, value)), None) => Word::of(value.get()),
        _ => Word::No("ask-unanswered"),
    }
}

/// The host's second attempt as the server is to read it: without our answer and our state, with what
/// the first had brought for the server.
pub(super) fn rewritten(line: &[u8], [responses, state]: &[Option<String>; 2]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let top = splice::members(text);
    let (_, params) = top.iter().find(|(name, _)| name == "params")?;
    let mut kept = Vec::new();
    for (name, value) in splice::members(params.get()) {
        match name.as_str() {
            "requestState" => {}
            "inputResponses" => {
                let others = splice::members(value.get());
                let others: Vec<_> = others.iter().filter(|(name, _)| name != KEY).collect();
                if responses.is_none() && !others.is_empty() {
                    let pairs = others
                        .iter()
                        .map(|(name, value)| (name.as_str(), value.get()));
                    kept.push((name, splice::object(pairs)));
                }
            }
            _ => kept.push((name, value.get().to_owned())),
        }
    }
    let brought = [("inputResponses", responses), ("requestState", state)];
    for (name, value) in brought {
        kept.extend(value.iter().map(|value| (name.to_owned(), value.clone())));
    }
    let pairs = kept
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let mut edits = splice::Edits::new();
    edits.replace(text, params.get(), splice::object(pairs));
    Some(edits.done(text).into_bytes())
}
