//! Reads a schema into nodes. No recursion: what is found to be a schema waits its turn.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::words::{Read, beside, count, decoded, names, none, number, types};
use super::{At, Bound, Keyword, Members, Node, Pattern, SIZES, Schema, Unusable, part};

/// Schemas in one document.
const NODES: usize = 10_000;
/// Patterns in one document.
const PATTERNS: usize = 100;
/// Keywords that change what a value must be, and that are not held against one here.
const UNKNOWN: [&str; 4] = [
    "$dynamicRef",
    "$recursiveRef",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// A keyword that holds a list of schemas.
type Listed = fn(Vec<At>) -> Keyword;

struct Compiler<'a> {
    root: &'a Value,
    /// Whether what stands beside a reference counts.
    beside: bool,
    /// Each schema that was found, by its place.
    found: BTreeMap<String, At>,
    /// What they are, in the order in which they were found.
    waiting: Vec<(String, &'a Value)>,
    patterns: usize,
}

impl Schema {
    /// Of the value of an `inputSchema`.
    ///
    /// # Errors
    /// It cannot be held against anything: it is no schema, too large, or says what is not known here.
    pub(in crate::relay) fn compile(root: &Value) -> Result<Self, Unusable> {
        let mut compiler = Compiler {
            root,
            beside: beside(root)?,
            found: BTreeMap::new(),
            waiting: Vec::new(),
            patterns: 0,
        };
        compiler.schema(String::new(), root)?;
        let mut nodes = Vec::new();
        while let Some((place, value)) = compiler.waiting.get(nodes.len()).cloned() {
            nodes.push(compiler.node(&place, value)?);
        }
        Ok(Self { nodes })
    }
}

impl<'a> Compiler<'a> {
    /// A schema was found.
    fn schema(&mut self, place: String, value: &'a Value) -> Read<At> {
        if let Some(at) = self.found.get(&place) {
            return Ok(*at);
        }
        let at = At(self.waiting.len());
        if at.0 >= NODES {
            return Err(Unusable {
                place: String::new(),
                problem: format!("holds more than {NODES} schemas"),
            });
        }
        self.found.insert(place.clone(), at);
        self.waiting.push((place, value));
        Ok(at)
    }

    fn under(&mut self, place: &str, name: &str, value: &'a Value) -> Read<At> {
        self.schema(format!("{place}{}", part(name)), value)
    }

    fn list(&mut self, place: &str, name: &str, value: &'a Value) -> Read<Vec<At>> {
        let Some(list) = value.as_array() else {
            return none(place, name);
        };
        let place = format!("{place}{}", part(name));
        let each = list.iter().enumerate();
        each.map(|(at, value)| self.under(&place, &at.to_string(), value))
            .collect()
    }

    fn map(&mut self, place: &str, name: &str, value: &'a Value) -> Read<Vec<(&'a str, At)>> {
        let Some(map) = value.as_object() else {
            return none(place, name);
        };
        let place = format!("{place}{}", part(name));
        let each = map.iter();
        each.map(|(name, value)| Ok((name.as_str(), self.under(&place, name, value)?)))
            .collect()
    }

    fn pattern(&mut self, place: &str, text: &str) -> Read<Pattern> {
        self.patterns += 1;
        let told = |problem: &str| Unusable {
            place: place.to_owned(),
            problem: problem.to_owned(),
        };
        if self.patterns > PATTERNS {
            return Err(told(&format!("is one of more than {PATTERNS} patterns")));
        }
        Pattern::read(text)
            .ok_or_else(|| told("is a pattern that cannot be matched in linear time"))
    }

    fn node(&mut self, place: &str, value: &'a Value) -> Read<Node> {
        let object = match value {
            Value::Bool(true) => return Ok(Node::All(Vec::new())),
            Value::Bool(false) => return Ok(Node::Nothing),
            Value::Object(object) => object,
            _ => {
                return Err(Unusable {
                    place: place.to_owned(),
                    problem: "is no schema".to_owned(),
                });
            }
        };
        let mut all = Vec::new();
        if let Some(target) = object.get("$ref") {
            all.push(Keyword::Reference(self.reference(place, target)?));
            if !self.beside {
                return Ok(Node::All(all));
            }
        }
        let unknown = UNKNOWN.iter().find(|name| object.contains_key(**name));
        let base = (!place.is_empty()).then_some(&"$id");
        let base = base.filter(|name| object.contains_key(**name));
        if let Some(name) = unknown.or(base) {
            return Err(Unusable {
                place: format!("{place}{}", part(name)),
                problem: "is a keyword that is not held against arguments here".to_owned(),
            });
        }
        // Looked through though nothing may lead there: what is wrong in it is wrong.
        for name in ["$defs", "definitions"] {
            if let Some(value) = object.get(name) {
                self.map(place, name, value)?;
            }
        }
        self.of_one(place, object, &mut all)?;
        self.of_many(place, object, &mut all)?;
        self.of_schemas(place, object, &mut all)?;
        Ok(Node::All(all))
    }

    fn reference(&mut self, place: &str, target: &Value) -> Read<At> {
        let bad = |problem: &str| Unusable {
            place: format!("{place}/$ref"),
            problem: problem.to_owned(),
        };
        let target = target.as_str().ok_or_else(|| bad("is no reference"))?;
        let Some(pointer) = target.strip_prefix('#') else {
            return Err(bad("leads out of the document"));
        };
        let pointer = decoded(pointer).ok_or_else(|| bad("is no reference"))?;
        let found = self.root.pointer(&pointer);
        let value = found.ok_or_else(|| bad("leads nowhere in the document"))?;
        // Spelt in one way, whatever is escaped in it.
        let parts = pointer.split('/').skip(1);
        let parts = parts.map(|name| part(&name.replace("~1", "/").replace("~0", "~")));
        self.schema(parts.collect(), value)
    }

    /// Keywords about one value that holds no others.
    fn of_one(
        &mut self,
        place: &str,
        object: &Map<String, Value>,
        all: &mut Vec<Keyword>,
    ) -> Read<()> {
        if let Some(value) = object.get("type") {
            all.push(types(place, value)?);
        }
        if let Some(value) = object.get("enum") {
            match value.as_array() {
                Some(values) => all.push(Keyword::Enum(values.clone())),
                None => return none(place, "enum"),
            }
        }
        if let Some(value) = object.get("const") {
            all.push(Keyword::Enum(vec![value.clone()]));
        }
        for bound in Bound::ALL {
            if let Some(value) = object.get(bound.as_str()) {
                all.push(Keyword::Bound(bound, number(place, bound.as_str(), value)?));
            }
        }
        if let Some(value) = object.get("multipleOf") {
            let number = number(place, "multipleOf", value)?;
            if !number.is_positive() {
                return none(place, "multipleOf");
            }
            all.push(Keyword::MultipleOf(number));
        }
        for (name, sized, side) in SIZES {
            if let Some(value) = object.get(name) {
                all.push(Keyword::Size(sized, side, count(place, name, value)?));
            }
        }
        if let Some(value) = object.get("pattern") {
            let Some(text) = value.as_str() else {
                return none(place, "pattern");
            };
            let pattern = self.pattern(&format!("{place}/pattern"), text)?;
            all.push(Keyword::Pattern(pattern));
        }
        Ok(())
    }

    /// Keywords about what a value holds.
    fn of_many(
        &mut self,
        place: &str,
        object: &'a Map<String, Value>,
        all: &mut Vec<Keyword>,
    ) -> Read<()> {
        if let Some(value) = object.get("required") {
            all.push(Keyword::Required(names(place, "required", value)?));
        }
        match object.get("uniqueItems") {
            Some(Value::Bool(true)) => all.push(Keyword::UniqueItems),
            None | Some(Value::Bool(false)) => {}
            Some(_) => return none(place, "uniqueItems"),
        }
        // A list under `items` is the older word for `prefixItems`, of any dialect.
        let (first, rest) = match object.get("items") {
            Some(list @ Value::Array(_)) => (Some(("items", list)), "additionalItems"),
            _ => (
                object.get("prefixItems").map(|list| ("prefixItems", list)),
                "items",
            ),
        };
        let first = match first {
            Some((name, list)) => self.list(place, name, list)?,
            None => Vec::new(),
        };
        let rest = self.at(place, object, rest)?;
        if !first.is_empty() || rest.is_some() {
            all.push(Keyword::Items(first, rest));
        }
        if let Some(item) = self.at(place, object, "contains")? {
            let number = |name| object.get(name).map(|value| count(place, name, value));
            all.push(Keyword::Contains {
                item,
                least: number("minContains").unwrap_or(Ok(1))?,
                most: number("maxContains").transpose()?,
            });
        }
        let named = match object.get("properties") {
            Some(value) => self.map(place, "properties", value)?,
            None => Vec::new(),
        };
        let mut matching = Vec::new();
        if let Some(value) = object.get("patternProperties") {
            for (name, at) in self.map(place, "patternProperties", value)? {
                let place = format!("{place}/patternProperties{}", part(name));
                matching.push((self.pattern(&place, name)?, at));
            }
        }
        let others = self.at(place, object, "additionalProperties")?;
        if !named.is_empty() || !matching.is_empty() || others.is_some() {
            let named = named.into_iter().map(|(name, at)| (name.to_owned(), at));
            all.push(Keyword::Members(Box::new(Members {
                named: named.collect(),
                matching,
                others,
            })));
        }
        let of_names = self.at(place, object, "propertyNames")?;
        all.extend(of_names.map(Keyword::Names));
        Ok(())
    }

    /// Keywords that lead to further schemas for the same value.
    fn of_schemas(
        &mut self,
        place: &str,
        object: &'a Map<String, Value>,
        all: &mut Vec<Keyword>,
    ) -> Read<()> {
        let keywords: [(&str, Listed); 3] = [
            ("allOf", Keyword::AllOf),
            ("anyOf", Keyword::AnyOf),
            ("oneOf", Keyword::OneOf),
        ];
        for (name, keyword) in keywords {
            let list = object.get(name);
            match list.map(|list| self.list(place, name, list)).transpose()? {
                Some(list) if list.is_empty() => return none(place, name),
                Some(list) => all.push(keyword(list)),
                None => {}
            }
        }
        let not = self.at(place, object, "not")?;
        all.extend(not.map(Keyword::Not));
        let then = self.at(place, object, "then")?;
        let otherwise = self.at(place, object, "else")?;
        if let Some(holds) = self.at(place, object, "if")? {
            all.push(Keyword::If {
                holds,
                then,
                otherwise,
            });
        }
        for name in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(value) = object.get(name) else {
                continue;
            };
            let Some(map) = value.as_object() else {
                return none(place, name);
            };
            let within = format!("{place}{}", part(name));
            for (key, value) in map {
                let is_list =
                    name == "dependentRequired" || (name == "dependencies" && value.is_array());
                all.push(if is_list {
                    Keyword::RequiredWith(key.clone(), names(&within, key, value)?)
                } else {
                    Keyword::SchemaWith(key.clone(), self.under(&within, key, value)?)
                });
            }
        }
        Ok(())
    }

    /// The schema under a keyword, where there is one.
    fn at(&mut self, place: &str, object: &'a Map<String, Value>, name: &str) -> Read<Option<At>> {
        let value = object.get(name);
        value
            .map(|value| self.under(place, name, value))
            .transpose()
    }
}
