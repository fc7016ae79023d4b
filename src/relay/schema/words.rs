//! What stands behind single keywords, read or refused by its place.

use serde_json::Value;

use super::{Keyword, Number, Type, Unusable, part};

/// What a schema says that it is written in; and whether what stands beside a reference counts.
const DIALECTS: [(&str, bool); 4] = [
    ("json-schema.org/draft/2020-12/schema", true),
    ("json-schema.org/draft/2019-09/schema", true),
    ("json-schema.org/draft-07/schema", false),
    ("json-schema.org/draft-06/schema", false),
];

pub(super) type Read<T> = Result<T, Unusable>;

/// Whether what stands beside a reference counts, in the dialect of a document.
pub(super) fn beside(root: &Value) -> Read<bool> {
    let Some(said) = root.get("$schema") else {
        return Ok(true);
    };
    let word = said.as_str().map(|word| {
        let word = word.strip_suffix('#').unwrap_or(word);
        let bare = word.strip_prefix("https://");
        bare.or_else(|| word.strip_prefix("http://"))
            .unwrap_or(word)
    });
    let known = DIALECTS.iter().find(|(name, _)| Some(*name) == word);
    known.map(|(_, beside)| *beside).ok_or_else(|| Unusable {
        place: part("$schema"),
        problem: "names a dialect that is not known here".to_owned(),
    })
}

pub(super) fn none<T>(place: &str, name: &str) -> Read<T> {
    Err(Unusable {
        place: format!("{place}{}", part(name)),
        problem: format!("is no value of `{name}`"),
    })
}

pub(super) fn names(place: &str, name: &str, value: &Value) -> Read<Vec<String>> {
    let list = value.as_array().and_then(|list| {
        let names = list.iter().map(|name| name.as_str().map(str::to_owned));
        names.collect()
    });
    list.map_or_else(|| none(place, name), Ok)
}

pub(super) fn types(place: &str, value: &Value) -> Read<Keyword> {
    let one = |value: &Value| {
        let word = value.as_str()?;
        Type::ALL.into_iter().find(|one| one.as_str() == word)
    };
    let types = match value {
        Value::Array(list) => list.iter().map(one).collect(),
        value => one(value).map(|one| vec![one]),
    };
    types.map_or_else(|| none(place, "type"), |types| Ok(Keyword::Type(types)))
}

pub(super) fn count(place: &str, name: &str, value: &Value) -> Read<u64> {
    // `2.0` is a count too.
    let text = value.as_f64().filter(|count| count.fract() == 0.0);
    let count = value
        .as_u64()
        .or_else(|| text.and_then(|count| format!("{count}").parse().ok()));
    count.map_or_else(|| none(place, name), Ok)
}

pub(super) fn number(place: &str, name: &str, value: &Value) -> Read<Number> {
    let number = value.as_number().and_then(Number::of);
    number.map_or_else(|| none(place, name), Ok)
}

/// A fragment without its percent signs.
pub(super) fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = fragment.bytes();
    let mut out = Vec::with_capacity(fragment.len());
    while let Some(byte) = bytes.next() {
        out.push(if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(out).ok()
}
