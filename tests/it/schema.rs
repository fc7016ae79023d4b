//! Whether an object is what its schema in `policy/schema` says: as much of JSON Schema as those
//! files use.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{TestContext, stderr, stdout};

/// What a command says with `--json`, checked.
pub fn said(context: &TestContext, words: &[&str]) -> Value {
    let output = context.run(words);
    let text = stdout(&output);
    assert!(!text.is_empty(), "{words:?}: {}", stderr(&output));
    check(&text)
}

/// Checks an object against the schema that it names.
pub fn check(text: &str) -> Value {
    let object: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let name = object["schema"].as_str().unwrap();
    let name = name
        .strip_prefix("supervisor.")
        .unwrap()
        .strip_suffix(".v1")
        .unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("policy/schema/{name}.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    if let Err(why) = holds(&schema, &object, &schema, name) {
        panic!("{why}: {text}");
    }
    // The objects are open, so that fields may be added; ours name every field all the same.
    let known = |schema: &Value, key: &str| schema["properties"].get(key).is_some();
    let variants = schema["anyOf"].as_array().cloned().unwrap_or_default();
    let named = |key: &str| {
        known(&schema, key)
            || variants
                .iter()
                .any(|one| known(one, key) || known(resolved(one, &schema), key))
    };
    for key in object.as_object().unwrap().keys() {
        assert!(named(key), "{name}: the schema has no {key}");
    }
    object
}

/// Whether an administrator's file is what `policy/schema/managed.json` says.
pub fn managed(file: &Value) -> Result<(), String> {
    let schema = include_str!("../../policy/schema/managed.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    holds(&schema, file, &schema, "managed")
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    schema["$ref"]
        .as_str()
        .and_then(|path| root.pointer(path.strip_prefix('#').unwrap()))
        .unwrap_or(schema)
}

fn holds(schema: &Value, value: &Value, root: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{at}: {what}"));
    if schema.get("$ref").is_some() {
        holds(resolved(schema, root), value, root, at)?;
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(variants) = schema[several].as_array() {
            let any = variants
                .iter()
                .any(|one| holds(one, value, root, at).is_ok());
            if !any {
                return wrong("none of the variants");
            }
        }
    }
    if let Some(not) = schema.get("not")
        && holds(not, value, root, at).is_ok()
    {
        return wrong("what it must not be");
    }
    if let Some(one) = schema.get("const")
        && one != value
    {
        return wrong("another constant");
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return wrong("a word that is not listed");
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("{other}"),
    };
    if !types.is_empty() && !types.iter().any(is) {
        return wrong("another type");
    }
    keys(schema, value, root, at)?;
    let least = schema["minItems"].as_u64().unwrap_or(0);
    if value
        .as_array()
        .is_some_and(|list| u64::try_from(list.len()).unwrap() < least)
    {
        return wrong("too few items");
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(schema) = schema.get("items") {
            holds(schema, item, root, &format!("{at}[{index}]"))?;
        }
    }
    Ok(())
}

/// What an object must have, and what it may.
fn keys(schema: &Value, value: &Value, root: &Value, at: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{at}: {what}"));
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten() {
            if !object.contains_key(key.as_str().unwrap()) {
                return wrong(&format!("{key} is missing"));
            }
        }
        let closed = schema["additionalProperties"] == Value::Bool(false);
        for (key, value) in object {
            if closed && schema["properties"].get(key).is_none() {
                return wrong(&format!("unknown key {key}"));
            }
            if let Some(schema) = schema["properties"].get(key) {
                holds(schema, value, root, &format!("{at}.{key}"))?;
            }
        }
    }
    Ok(())
}
