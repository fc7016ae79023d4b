//! A JSON Schema, as far as what a tool is called with is held against one.
//!
//! Pure, and bounded, since a server wrote the schema: [`compile`] reads it once into nodes, each
//! keyword checked, and refuses what it does not know how to hold; [`judge`] holds a value against it
//! in a number of steps and a depth that nothing exceeds. References lead into the document alone,
//! patterns are matched in linear time. Why that is code of our own: decision 16.
//!
//! Draft 2020-12 where the schema names none; 2019-09, draft-07 and draft-06 where it does.
//! `docs/relay.md` has what is not known.

mod compile;
mod equal;
mod judge;
mod number;
mod pattern;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) use judge::{Miss, Unfit};
use number::Number;
use pattern::Pattern;

/// A schema that can be held against a value.
#[derive(Debug)]
pub(super) struct Schema {
    /// The first is the root.
    nodes: Vec<Node>,
}

/// Why a schema cannot be held against anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable {
    /// Where in it, as a JSON pointer.
    pub(super) place: String,
    /// What stands there.
    pub(super) problem: String,
}

/// Which node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At(usize);

/// One schema of the document.
#[derive(Debug)]
enum Node {
    /// `false`.
    Nothing,
    /// An object, or `true`: all of these.
    All(Vec<Keyword>),
}

/// What a keyword asks of a value.
#[derive(Debug)]
enum Keyword {
    Reference(At),
    Type(Vec<Type>),
    Enum(Vec<Value>),
    Bound(Bound, Number),
    MultipleOf(Number),
    Size(Sized, Side, u64),
    Pattern(Pattern),
    UniqueItems,
    /// The first items, and all further ones.
    Items(Vec<At>, Option<At>),
    Contains {
        item: At,
        least: u64,
        most: Option<u64>,
    },
    Required(Vec<String>),
    Members(Box<Members>),
    Names(At),
    /// With a member of that name there are these too.
    RequiredWith(String, Vec<String>),
    /// An object with that member is one of these.
    SchemaWith(String, At),
    AllOf(Vec<At>),
    AnyOf(Vec<At>),
    OneOf(Vec<At>),
    Not(At),
    If {
        holds: At,
        then: Option<At>,
        otherwise: Option<At>,
    },
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Debug)]
struct Members {
    named: BTreeMap<String, At>,
    matching: Vec<(Pattern, At)>,
    others: Option<At>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    Integer,
    String,
}

impl Type {
    const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Object,
        Self::Array,
        Self::Number,
        Self::Integer,
        Self::String,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::String => "string",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

impl Bound {
    const ALL: [Self; 4] = [
        Self::Minimum,
        Self::Maximum,
        Self::ExclusiveMinimum,
        Self::ExclusiveMaximum,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::ExclusiveMinimum => "exclusiveMinimum",
            Self::ExclusiveMaximum => "exclusiveMaximum",
        }
    }
}

/// What has a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sized {
    /// In characters.
    Text,
    Items,
    Members,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Most,
}

/// Each keyword of a size.
const SIZES: [(&str, Sized, Side); 6] = [
    ("minLength", Sized::Text, Side::Least),
    ("maxLength", Sized::Text, Side::Most),
    ("minItems", Sized::Items, Side::Least),
    ("maxItems", Sized::Items, Side::Most),
    ("minProperties", Sized::Members, Side::Least),
    ("maxProperties", Sized::Members, Side::Most),
];

/// A name as a part of a JSON pointer.
fn part(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
