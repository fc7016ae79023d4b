//! Where the members of an object and the elements of an array stand in their text, so that one of
//! them can be changed and every other byte left as it is.
//!
//! Pure, over JSON that was read before: of anything else it says that nothing stands there.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::Scan;
use super::splice::{self, place};

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Its name, escapes resolved; none where it spells no characters ([`splice::Member`]).
    pub(super) name: Option<String>,
    /// Where the name stands, quotes included.
    pub(super) key: Range<usize>,
    /// Where its value stands.
    pub(super) value: Range<usize>,
}

impl Member {
    /// Whether that is its name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

/// The members of the object that stands in that part of a text.
pub(super) fn members(text: &str, object: &Range<usize>) -> Vec<Member> {
    let part = text.get(object.clone()).unwrap_or_default();
    let found = splice::members(part).into_iter().map(|member| Member {
        name: member.name.map(Cow::into_owned),
        key: place(text, member.written),
        value: place(text, member.value),
    });
    found.collect()
}

/// The elements of the array that stands in that part of a text; `None` where none does, and where one
/// cannot be read to its end.
pub(super) fn elements(text: &str, array: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let part = text.get(array.clone())?;
    let mut found = Vec::new();
    let mut scan = Scan::new(part);
    if scan.peek() != Some(b'[') {
        return None;
    }
    let read = scan.elements(|element| found.push(place(text, element)));
    read.ok().map(|()| found)
}

/// The whole of a text.
pub(super) fn whole(text: &str) -> Range<usize> {
    0..text.len()
}

/// A text with parts of it replaced, which stand in their order and apart.
pub(super) fn replaced(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (part, new) in edits {
        out.push_str(text.get(copied..part.start).unwrap_or_default());
        out.push_str(new);
        copied = part.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    #[test]
    fn parts_are_as_written() {
        let text = r#" { "a" : [ 1 , "x,]\"" ,{"b":[ ]}], "\u0062":-1.5e3 , "c":"}" } "#;
        let found = members(text, &whole(text));
        let shown: Vec<(&str, &str)> = found
            .iter()
            .map(|member| {
                (
                    member.name.as_deref().unwrap(),
                    text.get(member.value.clone()).unwrap(),
                )
            })
            .collect();
        let want = [
            ("a", r#"[ 1 , "x,]\"" ,{"b":[ ]}]"#),
            ("b", "-1.5e3"),
            ("c", r#""}""#),
        ];
        assert_eq!(shown, want);
        assert_eq!(text.get(found[1].key.clone()).unwrap(), r#""\u0062""#);
        let inner = elements(text, &found[0].value).unwrap();
        let inner: Vec<&str> = inner
            .into_iter()
            .map(|part| text.get(part).unwrap())
            .collect();
        assert_eq!(inner, ["1", r#""x,]\"""#, r#"{"b":[ ]}"#]);
        assert_eq!(elements("[ ]", &(0..3)), Some(Vec::new()));
        assert_eq!(elements("{}", &(0..2)), None);
        // Not as an empty one, in which nothing would be judged.
        assert_eq!(elements("[1,", &(0..3)), None);
        assert!(members("[]", &(0..2)).is_empty() && members("{ }", &(0..3)).is_empty());
    }

    #[test]
    fn depth_costs_nothing() {
        let text = format!(
            r#"{{"a":{}1{},"b":2}}"#,
            "[".repeat(300_000),
            "]".repeat(300_000)
        );
        assert_eq!(members(&text, &whole(&text)).len(), 2);
    }

    #[test]
    fn what_is_replaced_is_all_that_changes() {
        let edits = [(1..2, "xy".to_owned()), (3..3, "-".to_owned())];
        assert_eq!(replaced("abcd", &edits), "axyc-d");
        assert_eq!(replaced("abcd", &[]), "abcd");
    }

    proptest! {
        /// The same as a reader of JSON finds, wherever there is white space.
        #[test]
        fn parts_are_those_of_json(value in crate::surface::rows::tests::any_json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            if let Ok(raw) = serde_json::from_str::<Vec<&RawValue>>(&text) {
                let raw: Vec<&str> = raw.into_iter().map(RawValue::get).collect();
                let found = elements(&text, &whole(&text)).unwrap();
                prop_assert_eq!(found.into_iter().map(|part| text.get(part).unwrap()).collect::<Vec<_>>(), raw);
            }
            if let Some(all) = super::super::splice::read(&text) {
                let raw: Vec<(Option<String>, &str)> = all.into_iter().map(|member| (member.name.map(Cow::into_owned), member.value)).collect();
                let found = members(&text, &whole(&text));
                let found: Vec<_> = found.into_iter().map(|member| (member.name, text.get(member.value).unwrap())).collect();
                prop_assert_eq!(found, raw);
            }
        }

        /// Whatever it is given, it comes to an end.
        #[test]
        fn anything_is_read(text in any::<String>()) {
            let _ = (members(&text, &whole(&text)), elements(&text, &whole(&text)));
        }
    }
}
