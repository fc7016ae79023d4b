//! The gate's layer of arguments: what a tool is called with must fit the schema that was approved.
//!
//! Pure. Only where `check_arguments` is set. The schema is that of the approved form of the tool, or
//! of one of them where there are several; it is compiled at the first call. Arguments that two readers
//! could read in two ways fit nothing, and what cannot be held against the schema is refused.

use std::collections::BTreeMap;

use serde_json::Value;

use super::envelope::{self, Id, Message};
use super::gate::{CALL, EXCERPT, Gate};
use super::ledger::Asked;
use super::pins::Pins;
use super::refused::{self, Layer, Refused};
use super::sanitize;
use super::schema::{Miss, Schema, Unfit, Unusable};
use crate::declaration::document::Unique;
use crate::surface::Kind;
use crate::surface::canonical::Item;

/// What stands for the arguments of a call that has none.
const NONE: &str = "{}";

/// The schemas of the tools that were called, one for each approved form.
#[derive(Debug, Default)]
pub(super) struct Schemas(BTreeMap<String, Vec<Result<Schema, Unusable>>>);

/// Why arguments do not pass.
enum Misfit {
    /// They do not fit.
    Invalid(Unfit),
    /// Nobody can say: why.
    Unchecked(String),
}

impl Schemas {
    fn of(&mut self, pins: &Pins, tool: &str) -> &[Result<Schema, Unusable>] {
        if !pins.has(Kind::Tool, tool) {
            return &[];
        }
        let forms = || pins.forms(Kind::Tool, tool).map(compiled).collect();
        let known = self.0.entry(tool.to_owned());
        known.or_insert_with(forms)
    }
}

fn compiled(form: &Item) -> Result<Schema, Unusable> {
    match form.item().get("inputSchema") {
        Some(schema) => Schema::compile(schema),
        None => Err(Unusable {
            place: String::new(),
            problem: "is missing".to_owned(),
        }),
    }
}

/// The arguments of the call in a line, as they are written.
pub(super) fn arguments_of(line: &[u8]) -> Option<String> {
    match envelope::read(line.trim_ascii_end()) {
        Ok(Message::Request { params, .. }) => params.arguments().map(str::to_owned),
        _ => None,
    }
}

impl Gate {
    /// The answer to a call whose arguments do not fit; `None` where they do, or are not checked.
    pub(super) fn misfit(
        &mut self,
        id: &Id,
        asked: &Asked,
        arguments: Option<&str>,
    ) -> Option<Vec<u8>> {
        let is_checked = self.rules.as_ref().is_ok_and(|rules| rules.check_arguments);
        let tool = asked.tool.as_deref()?;
        if asked.method != CALL || !is_checked {
            return None;
        }
        let misfit = self.fit(tool, arguments.unwrap_or(NONE)).err()?;
        let tool = refused::shown(tool);
        let (reason, text) = match misfit {
            Misfit::Invalid(unfit) => (
                "arguments-invalid",
                format!(
                    "the arguments of {tool} do not fit the inputSchema that was approved: at {} it says {}; a call with other arguments may pass",
                    shown(&unfit.place),
                    unfit.wants
                ),
            ),
            Misfit::Unchecked(why) => (
                "arguments-unchecked",
                format!(
                    "the arguments of {tool} are to be checked, since settings.json says `check_arguments`, and cannot be: {why}; a retry will not help"
                ),
            ),
        };
        let refused = Refused {
            layer: Layer::Surface,
            reason,
            text,
        };
        Some(self.refuse(id, asked, &refused))
    }

    fn fit(&mut self, tool: &str, arguments: &str) -> Result<(), Misfit> {
        let unique = serde_json::from_str::<Unique>(arguments).is_ok();
        let value = serde_json::from_str::<Value>(arguments).ok();
        let Some(value) = value.filter(|_| unique) else {
            return Err(Misfit::Invalid(Unfit {
                place: String::new(),
                wants: "no member twice, no text that is no Unicode, no nesting beyond 128"
                    .to_owned(),
            }));
        };
        let mut misfit = None;
        for form in self.schemas.of(&self.pins, tool) {
            let next = match form
                .as_ref()
                .map(|schema| schema.fits(&value, arguments.len()))
            {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(Miss::Unfit(unfit))) => Misfit::Invalid(unfit),
                Ok(Err(Miss::TooMuch)) => Misfit::Unchecked(
                    "to hold them against the inputSchema that was approved takes too much"
                        .to_owned(),
                ),
                Err(unusable) => Misfit::Unchecked(format!(
                    "the inputSchema that was approved {} at {}",
                    unusable.problem,
                    shown(&unusable.place)
                )),
            };
            // That they do not fit is known where it is of each form.
            if !matches!(misfit, Some(Misfit::Unchecked(_))) {
                misfit = Some(next);
            }
        }
        // What has no approved form is refused before.
        misfit.map_or(Ok(()), Err)
    }
}

/// A place in a sentence.
fn shown(place: &str) -> String {
    match place {
        "" => "the top".to_owned(),
        place => sanitize::excerpt(place.as_bytes(), EXCERPT),
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
