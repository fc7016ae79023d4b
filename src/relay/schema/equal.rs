//! When two values are one: numbers by what they are, not by how they are written.

use serde_json::Value;

use super::Number;
use super::judge::{Judge, Miss};

impl Judge<'_> {
    /// Whether two values are one.
    pub(super) fn same(&mut self, one: &Value, two: &Value) -> Result<bool, Miss> {
        self.spend(1)?;
        Ok(match (one, two) {
            (Value::Number(one), Value::Number(two)) => match (Number::of(one), Number::of(two)) {
                (Some(one), Some(two)) => one.compare(&two).is_eq(),
                _ => return Err(Miss::TooMuch),
            },
            (Value::String(one), Value::String(two)) => {
                self.spend_bytes(one.len())?;
                one == two
            }
            (Value::Array(one), Value::Array(two)) => {
                if one.len() != two.len() {
                    return Ok(false);
                }
                for (one, two) in one.iter().zip(two) {
                    if !self.same(one, two)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Object(one), Value::Object(two)) => {
                if one.len() != two.len() {
                    return Ok(false);
                }
                for (name, one) in one {
                    match two.get(name) {
                        Some(two) if self.same(one, two)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (one, two) => one == two,
        })
    }

    /// A text that two values have in common where they are one.
    pub(super) fn key(&mut self, value: &Value) -> Result<String, Miss> {
        self.spend(1)?;
        Ok(match value {
            Value::Number(number) => {
                let number = Number::of(number).ok_or(Miss::TooMuch)?;
                number.to_string()
            }
            Value::String(text) => {
                self.spend_bytes(text.len())?;
                value.to_string()
            }
            Value::Array(items) => {
                let keys = items.iter().map(|item| self.key(item));
                let keys: Vec<String> = keys.collect::<Result<_, _>>()?;
                format!("[{}]", keys.join(","))
            }
            Value::Object(members) => {
                // In one order, whatever the order of a map is.
                let mut keys = Vec::with_capacity(members.len());
                for (name, value) in members {
                    keys.push(format!(
                        "{}:{}",
                        Value::from(name.as_str()),
                        self.key(value)?
                    ));
                }
                keys.sort_unstable();
                format!("{{{}}}", keys.join(","))
            }
            value => value.to_string(),
        })
    }
}
