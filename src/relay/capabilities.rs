//! What a host says that it can be asked for: by its person, its model, its file system.
//!
//! Pure. A legacy host says it once, in `initialize`; a modern one with each request.

use std::borrow::Cow;

use super::splice;

/// The capabilities that a rule asks about. What is not there, or is no object, is not declared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Its person answers a form (`elicitation`, alone or with `form`).
    pub(super) form: bool,
    /// Its person is sent to an address (`elicitation.url`).
    pub(super) url: bool,
    /// Its model answers (`sampling`).
    pub(super) sampling: bool,
    /// And may be handed tools for that (`sampling.tools`).
    pub(super) sampling_tools: bool,
    /// It names its roots (`roots`).
    pub(super) roots: bool,
}

impl Capabilities {
    /// Of the object that declares them.
    pub(super) fn read(json: &str) -> Self {
        let mut all = Self::default();
        for (name, value) in objects(json) {
            match &*name {
                "elicitation" => {
                    let modes = objects(value);
                    let has = |mode: &str| modes.iter().any(|(one, _)| one == mode);
                    // Before there were modes, and where none is named, there is the form.
                    (all.form, all.url) = (has("form") || !has("url"), has("url"));
                }
                "sampling" => {
                    all.sampling = true;
                    all.sampling_tools = objects(value).iter().any(|(name, _)| name == "tools");
                }
                "roots" => all.roots = true,
                _ => {}
            }
        }
        all
    }
}

/// The members that are objects.
fn objects(json: &str) -> Vec<(Cow<'_, str>, &str)> {
    let members = splice::read(json).unwrap_or_default();
    members
        .into_iter()
        .filter_map(|member| Some((member.name?, member.value)))
        .filter(|(_, value)| value.starts_with('{'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_an_object() {
        let all = Capabilities::read(
            r#"{"elicitation":{},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#,
        );
        assert!(all.form && !all.url && all.sampling && all.sampling_tools && all.roots);
        let both = Capabilities::read(r#"{"elicitation":{"url":{},"form":{}}}"#);
        assert!(both.form && both.url && !both.sampling && !both.roots);
        let url = Capabilities::read(r#"{"elicitation":{"url":{}}}"#);
        assert!(!url.form && url.url);
        for none in ["{}", "null", "7", r#"{"elicitation":null,"roots":true}"#] {
            assert_eq!(Capabilities::read(none), Capabilities::default(), "{none}");
        }
    }
}
