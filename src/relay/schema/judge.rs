//! Holds a value against a schema, in bounded steps and depth.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{At, Bound, Keyword, Members, Node, Number, Pattern, Schema, Side, Sized, Type, part};
use crate::relay::sanitize;

/// Steps that any judgement may take; and twice the bytes of the value. A keyword is one, a text one
/// for each 64 bytes, and for each byte that a pattern has to be matched with.
const STEPS: usize = 200_000;
/// How deep schemas may lead into each other, for one value.
const DEPTH: usize = 200;
/// Characters of the schema that are said of it.
const SAID: usize = 160;

/// Why a value was not found to fit.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::relay) enum Miss {
    /// It does not.
    Unfit(Unfit),
    /// To say it would take too much.
    TooMuch,
}

/// What does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::relay) struct Unfit {
    /// Where in the value, as a JSON pointer.
    pub(in crate::relay) place: String,
    /// What the schema says of it: its own words, made fit to be shown. Nothing of the value.
    pub(in crate::relay) wants: String,
}

type Fits = Result<(), Miss>;

impl Schema {
    /// Whether a value fits, which was written in so many bytes.
    ///
    /// # Errors
    /// It does not; or to say it would take too much.
    pub(in crate::relay) fn fits(&self, value: &Value, bytes: usize) -> Fits {
        let mut judge = Judge {
            schema: self,
            left: STEPS.saturating_add(bytes.saturating_mul(2)),
            depth: 0,
            place: Vec::new(),
        };
        judge.fits(At(0), value)
    }
}

pub(super) struct Judge<'a> {
    schema: &'a Schema,
    left: usize,
    depth: usize,
    /// Where in the value it stands.
    place: Vec<Part<'a>>,
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Name(&'a str),
    Item(usize),
}

impl<'a> Judge<'a> {
    pub(super) fn spend(&mut self, steps: usize) -> Fits {
        self.left = self.left.checked_sub(steps).ok_or(Miss::TooMuch)?;
        Ok(())
    }

    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Fits {
        self.spend(bytes / 64)
    }

    fn unfit(&mut self, wants: impl Into<String>) -> Fits {
        self.spend(self.place.len())?;
        let place = self.place.iter().map(|one| match one {
            Part::Name(name) => part(name),
            Part::Item(at) => part(&at.to_string()),
        });
        Err(Miss::Unfit(Unfit {
            place: place.collect(),
            wants: wants.into(),
        }))
    }

    fn fits(&mut self, at: At, value: &'a Value) -> Fits {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Miss::TooMuch);
        }
        let schema = self.schema;
        let fits = match schema.nodes.get(at.0) {
            Some(Node::All(all)) => all.iter().try_for_each(|keyword| {
                self.spend(1)?;
                self.keyword(keyword, value)
            }),
            Some(Node::Nothing) => self.unfit("nothing is allowed here"),
            None => Err(Miss::TooMuch),
        };
        self.depth -= 1;
        fits
    }

    /// Whether it fits, where a no is no end.
    fn would_fit(&mut self, at: At, value: &'a Value) -> Result<Option<Unfit>, Miss> {
        let place = self.place.len();
        let fits = self.fits(at, value);
        self.place.truncate(place);
        match fits {
            Ok(()) => Ok(None),
            Err(Miss::Unfit(unfit)) => Ok(Some(unfit)),
            Err(Miss::TooMuch) => Err(Miss::TooMuch),
        }
    }

    fn within(&mut self, part: Part<'a>, at: At, value: &'a Value) -> Fits {
        self.place.push(part);
        self.fits(at, value)?;
        self.place.pop();
        Ok(())
    }

    fn keyword(&mut self, keyword: &'a Keyword, value: &'a Value) -> Fits {
        match (keyword, value) {
            (Keyword::Reference(at), _) => self.fits(*at, value),
            (Keyword::Type(types), _) => self.of_type(types, value),
            (Keyword::Enum(values), _) => self.one_of_values(values, value),
            (Keyword::Bound(bound, limit), Value::Number(number)) => {
                self.bounded(*bound, limit, number)
            }
            (Keyword::MultipleOf(unit), Value::Number(number)) => {
                let number = Number::of(number).and_then(|number| number.is_multiple_of(unit));
                if number.ok_or(Miss::TooMuch)? {
                    return Ok(());
                }
                self.unfit(format!("multipleOf: {unit}"))
            }
            (Keyword::Size(sized, side, limit), _) => self.sized(*sized, *side, *limit, value),
            (Keyword::Pattern(pattern), Value::String(text)) => {
                if self.matches(pattern, text)? {
                    return Ok(());
                }
                self.unfit(format!("pattern: {}", said(pattern.as_str())))
            }
            (Keyword::UniqueItems, Value::Array(items)) => self.unique(items),
            (Keyword::Items(first, rest), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(schema) = first.get(at).or(rest.as_ref()) {
                        self.within(Part::Item(at), *schema, item)?;
                    }
                }
                Ok(())
            }
            (Keyword::Contains { item, least, most }, Value::Array(items)) => {
                self.contains(*item, (*least, *most), items)
            }
            (_, Value::Object(members)) => self.object(keyword, value, members),
            _ => self.same_value(keyword, value),
        }
    }

    fn object(
        &mut self,
        keyword: &'a Keyword,
        value: &'a Value,
        members: &'a Map<String, Value>,
    ) -> Fits {
        match keyword {
            Keyword::Required(names) => self.required(names, members),
            Keyword::Members(rules) => self.members(rules, members),
            Keyword::Names(at) => {
                for name in members.keys() {
                    self.name(*at, name)?;
                }
                Ok(())
            }
            Keyword::RequiredWith(name, names) if members.contains_key(name) => {
                self.required(names, members)
            }
            Keyword::SchemaWith(name, at) if members.contains_key(name) => self.fits(*at, value),
            _ => self.same_value(keyword, value),
        }
    }

    /// Keywords that hold further schemas against the same value, whatever it is.
    fn same_value(&mut self, keyword: &Keyword, value: &'a Value) -> Fits {
        match keyword {
            Keyword::AllOf(all) => all.iter().try_for_each(|at| self.fits(*at, value)),
            Keyword::AnyOf(any) => self.any(any, value),
            Keyword::OneOf(any) => {
                let mut fitting = 0_usize;
                for at in any {
                    fitting += usize::from(self.would_fit(*at, value)?.is_none());
                }
                match fitting {
                    1 => Ok(()),
                    0 => self.any(any, value),
                    _ => self.unfit("only one of the schemas under oneOf"),
                }
            }
            Keyword::Not(at) => match self.would_fit(*at, value)? {
                Some(_) => Ok(()),
                None => self.unfit("not what the schema has under not"),
            },
            Keyword::If {
                holds,
                then,
                otherwise,
            } => {
                let next = match self.would_fit(*holds, value)? {
                    None => then,
                    Some(_) => otherwise,
                };
                next.map_or(Ok(()), |at| self.fits(at, value))
            }
            _ => Ok(()),
        }
    }

    fn any(&mut self, any: &[At], value: &'a Value) -> Fits {
        let mut wants = Vec::new();
        for at in any {
            let Some(unfit) = self.would_fit(*at, value)? else {
                return Ok(());
            };
            wants.push(unfit.wants);
        }
        wants.dedup();
        self.unfit(said(&wants.join(", or ")))
    }

    fn matches(&mut self, pattern: &Pattern, text: &str) -> Result<bool, Miss> {
        self.spend(text.len().saturating_mul(pattern.weight()))?;
        Ok(pattern.matches(text))
    }

    fn of_type(&mut self, types: &[Type], value: &Value) -> Fits {
        let is = |one: &Type| match (one, value) {
            (Type::Null, Value::Null)
            | (Type::Boolean, Value::Bool(_))
            | (Type::Object, Value::Object(_))
            | (Type::Array, Value::Array(_))
            | (Type::Number, Value::Number(_))
            | (Type::String, Value::String(_)) => true,
            (Type::Integer, Value::Number(number)) => {
                Number::of(number).is_some_and(|number| number.is_integer())
            }
            _ => false,
        };
        if types.iter().any(is) {
            return Ok(());
        }
        let words: Vec<&str> = types.iter().map(|one| one.as_str()).collect();
        self.unfit(format!("type: {}", words.join(" or ")))
    }

    fn one_of_values(&mut self, values: &[Value], value: &Value) -> Fits {
        for one in values {
            if self.same(one, value)? {
                return Ok(());
            }
        }
        let words: Vec<String> = values.iter().map(Value::to_string).collect();
        let word = if values.len() == 1 { "const" } else { "enum" };
        self.unfit(format!("{word}: {}", said(&words.join(", "))))
    }

    fn bounded(&mut self, bound: Bound, limit: &Number, number: &serde_json::Number) -> Fits {
        let number = Number::of(number).ok_or(Miss::TooMuch)?;
        let order = number.compare(limit);
        let holds = match bound {
            Bound::Minimum => order.is_ge(),
            Bound::Maximum => order.is_le(),
            Bound::ExclusiveMinimum => order.is_gt(),
            Bound::ExclusiveMaximum => order.is_lt(),
        };
        if holds {
            return Ok(());
        }
        self.unfit(format!("{}: {limit}", bound.as_str()))
    }

    fn sized(&mut self, sized: Sized, side: Side, limit: u64, value: &Value) -> Fits {
        let size = match (sized, value) {
            (Sized::Text, Value::String(text)) => {
                self.spend_bytes(text.len())?;
                text.chars().count()
            }
            (Sized::Items, Value::Array(items)) => items.len(),
            (Sized::Members, Value::Object(members)) => members.len(),
            _ => return Ok(()),
        };
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let (holds, word) = match side {
            Side::Least => (size >= limit, "at least"),
            Side::Most => (size <= limit, "at most"),
        };
        if holds {
            return Ok(());
        }
        let what = match sized {
            Sized::Text => "characters",
            Sized::Items => "items",
            Sized::Members => "members",
        };
        self.unfit(format!("{word} {limit} {what}"))
    }

    fn unique(&mut self, items: &[Value]) -> Fits {
        let mut seen = BTreeSet::new();
        for item in items {
            let key = self.key(item)?;
            self.spend_bytes(key.len().saturating_mul(16))?;
            if !seen.insert(key) {
                return self.unfit("no item twice");
            }
        }
        Ok(())
    }

    fn contains(&mut self, at: At, (least, most): (u64, Option<u64>), items: &'a [Value]) -> Fits {
        let mut count = 0_u64;
        for item in items {
            count += u64::from(self.would_fit(at, item)?.is_none());
        }
        if count < least {
            return self.unfit(format!(
                "at least {least} items that fit what stands under contains"
            ));
        }
        match most {
            Some(most) if count > most => self.unfit(format!(
                "at most {most} items that fit what stands under contains"
            )),
            _ => Ok(()),
        }
    }

    fn required(&mut self, names: &[String], members: &Map<String, Value>) -> Fits {
        self.spend(names.len())?;
        match names.iter().find(|name| !members.contains_key(*name)) {
            Some(name) => self.unfit(format!(
                "required: {}",
                said(&Value::from(name.as_str()).to_string())
            )),
            None => Ok(()),
        }
    }

    fn members(&mut self, rules: &'a Members, members: &'a Map<String, Value>) -> Fits {
        for (name, value) in members {
            self.spend(1)?;
            let part = Part::Name(name);
            let mut other = true;
            if let Some(at) = rules.named.get(name) {
                other = false;
                self.within(part, *at, value)?;
            }
            for (pattern, at) in &rules.matching {
                self.spend(1)?;
                if self.matches(pattern, name)? {
                    other = false;
                    self.within(part, *at, value)?;
                }
            }
            if let (true, Some(at)) = (other, rules.others) {
                self.within(part, at, value)?;
            }
        }
        Ok(())
    }

    /// The name of a member against a schema, by a judge of its own for that text.
    fn name(&mut self, at: At, name: &str) -> Fits {
        let text = Value::from(name);
        let mut judge = Judge {
            schema: self.schema,
            left: self.left,
            depth: self.depth,
            place: Vec::new(),
        };
        let fits = judge.fits(at, &text);
        self.left = judge.left;
        match fits {
            Err(Miss::Unfit(unfit)) => {
                self.unfit(said(&format!("names of members: {}", unfit.wants)))
            }
            fits => fits,
        }
    }
}

/// Words of the schema, made fit to be shown.
fn said(words: &str) -> String {
    sanitize::excerpt(words.as_bytes(), SAID)
}
