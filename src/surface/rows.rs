//! An item taken apart: every key and every value in it, so that nothing a model reads is left
//! out of what a person is shown. Pure.

use serde_json::Value;

/// Keys that say what an item is, in the order in which they are shown before all others.
const FIRST: [&str; 7] = [
    "name",
    "uri",
    "uriTemplate",
    "title",
    "description",
    "annotations",
    "type",
];

/// One row: a key and, where it is not the head of more rows, what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How deep it stands.
    pub depth: usize,
    /// The key as the server wrote it; `-` for an entry of a list.
    pub key: String,
    /// What it holds.
    pub said: Said,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The rows that follow, one deeper.
    Below,
    /// A number, true, false, null, something empty, or a list of short words, as JSON.
    Json(String),
    /// Text.
    Text(String),
}

/// Every row of an item, in the order of reading.
#[must_use]
pub fn tree(item: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    below(item, 0, &mut rows);
    rows
}

fn below(value: &Value, depth: usize, rows: &mut Vec<Row>) {
    match value {
        Value::Object(object) => {
            let place = |key: &str| FIRST.iter().position(|first| *first == key);
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_by_key(|key| place(key).unwrap_or(FIRST.len()));
            for key in keys {
                if let Some(value) = object.get(key) {
                    row(key, value, depth, rows);
                }
            }
        }
        Value::Array(list) => {
            for value in list {
                row("-", value, depth, rows);
            }
        }
        scalar => row("-", scalar, depth, rows),
    }
}

fn row(key: &str, value: &Value, depth: usize, rows: &mut Vec<Row>) {
    let said = match value {
        Value::String(text) => Said::Text(text.clone()),
        Value::Array(list) if list.iter().all(is_word) => Said::Json(
            list.iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        ),
        Value::Object(object) if !object.is_empty() => Said::Below,
        Value::Array(_) => Said::Below,
        other => Said::Json(other.to_string()),
    };
    let said = match said {
        Said::Json(list) if list.is_empty() => Said::Json("[]".to_owned()),
        said => said,
    };
    let opens = said == Said::Below;
    rows.push(Row {
        depth,
        key: key.to_owned(),
        said,
    });
    if opens {
        below(value, depth.saturating_add(1), rows);
    }
}

/// A scalar that stands well in a line with others.
fn is_word(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= 60 && !text.contains('\n'),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    }
}

/// Every text in an item, names of keys too, each with the path that leads to it.
#[must_use]
pub fn texts(item: &Value) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    collect("", item, &mut found);
    found
}

fn collect<'a>(path: &str, value: &'a Value, found: &mut Vec<(String, &'a str)>) {
    match value {
        Value::String(text) => found.push((path.to_owned(), text)),
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(&format!("{path}[{index}]"), value, found);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                let inner = joined(path, key);
                found.push((inner.clone(), key));
                collect(&inner, value, found);
            }
        }
        _ => {}
    }
}

/// A path one key longer: different ways through an item never look alike.
fn joined(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_$-".contains(c);
    if key.is_empty() || !key.chars().all(plain) {
        format!("{path}[{}]", Value::from(key))
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Every value in an item by the path that leads to it, for comparing two items.
#[must_use]
pub fn leaves(item: &Value) -> Vec<(String, Said)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, &Value)> = vec![(String::new(), item)];
    while let Some((path, value)) = open.pop() {
        let said = match value {
            Value::Object(object) if !object.is_empty() => {
                let named = object.iter();
                open.extend(named.map(|(key, value)| (joined(&path, key), value)));
                continue;
            }
            Value::Array(list) if !list.is_empty() && !list.iter().all(is_word) => {
                let numbered = list.iter().enumerate();
                open.extend(numbered.map(|(index, value)| (format!("{path}[{index}]"), value)));
                continue;
            }
            Value::String(text) => Said::Text(text.clone()),
            other => Said::Json(other.to_string()),
        };
        found.push((path, said));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Any JSON, not deep.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn keys_do_not_hide_in_paths() {
        let (a, b) = (json!({"a": {"b": 1}}), json!({"a.b": 1}));
        assert_ne!(leaves(&a), leaves(&b));
        assert_ne!(
            leaves(&json!({"a": [1, {}]})),
            leaves(&json!({"a[0]": 1, "a[1]": {}}))
        );
    }

    #[test]
    fn an_item_reads_from_its_name_on() {
        let item = json!({"description": "d", "name": "n", "inputSchema": {
            "properties": {"mode": {"enum": ["a", 1], "default": "a"}}, "required": []}});
        let rows: Vec<String> = tree(&item)
            .into_iter()
            .map(|row| format!("{}{} {:?}", " ".repeat(row.depth), row.key, row.said))
            .collect();
        let want = [
            r#"name Text("n")"#,
            r#"description Text("d")"#,
            "inputSchema Below",
            " properties Below",
            "  mode Below",
            r#"   default Text("a")"#,
            r#"   enum Json("\"a\", 1")"#,
            r#" required Json("[]")"#,
        ];
        assert_eq!(rows, want);
    }

    proptest! {
        /// No text of the server's is in an item and not in its rows.
        #[test]
        fn nothing_is_left_out(item in any_json()) {
            let rows = tree(&item);
            for (path, text) in texts(&item) {
                let quoted = Value::from(text).to_string();
                let shown = rows.iter().any(|row| row.key == text || match &row.said {
                    Said::Text(said) => said == text,
                    Said::Json(said) => said.contains(&quoted),
                    Said::Below => false,
                });
                prop_assert!(shown, "{path}: {text:?}");
            }
        }

        /// Two items that differ differ in a leaf.
        #[test]
        fn leaves_tell_items_apart(a in any_json(), b in any_json()) {
            prop_assert_eq!(a == b, leaves(&a) == leaves(&b));
        }
    }
}
