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
            .rfind(|member| member.is("action"))
            .and_then(|member| serde_json::from_str::<String>(member.value).ok());
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
    let mut ours = responses.iter().filter(|member| member.is(KEY));
    match (ours.next(), ours.next()) {
        (Some(ours), None) => Word::of(ours.value),
        _ => Word::No("ask-unanswered"),
    }
}

/// The host's second attempt as the server is to read it: without our answer and our state, with what
/// the first had brought for the server.
pub(super) fn rewritten(line: &[u8], [responses, state]: &[Option<String>; 2]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let top = splice::members(text);
    let params = top.iter().find(|member| member.is("params"))?;
    let mut kept = Vec::new();
    for member in splice::members(params.value) {
        match member.name.as_deref() {
            Some("requestState") => {}
            Some("inputResponses") => {
                let others = splice::members(member.value);
                let others: Vec<_> = others.iter().filter(|other| !other.is(KEY)).collect();
                if responses.is_none() && !others.is_empty() {
                    let pairs = others.iter().map(|other| (other.written, other.value));
                    kept.push((member.written, splice::object(pairs)));
                }
            }
            _ => kept.push((member.written, member.value.to_owned())),
        }
    }
    let brought = [
        (r#""inputResponses""#, responses),
        (r#""requestState""#, state),
    ];
    for (name, value) in brought {
        kept.extend(value.iter().map(|value| (name, value.clone())));
    }
    let pairs = kept.iter().map(|(name, value)| (*name, value.as_str()));
    let mut edits = splice::Edits::new();
    edits.replace(text, params.value, splice::object(pairs));
    Some(edits.done(text).into_bytes())
}
