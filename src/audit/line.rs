//! How the lines of one run are written.
//!
//! Pure. A line is what its event says as JSON, behind the members that all lines have. Thousands of
//! calls a second may end, so the line of a call is put together by hand, from the run's members, which
//! are made once, and the text of a time, which is made once a millisecond; a test holds it to what
//! the types say.

use jiff::Timestamp;

use super::event::{Call, Event, Run, VERSION};

/// Writes the lines of one run.
#[derive(Debug)]
pub struct Lines {
    /// The members that every one has, as JSON between commas.
    run: String,
    /// The last time, in milliseconds, and its text.
    time: (i64, String),
}

impl Lines {
    /// Of that run.
    ///
    /// # Errors
    /// None that can happen: every value is a string.
    pub fn of(run: &Run) -> Result<Self, serde_json::Error> {
        let digest = match &run.digest {
            Some(digest) => format!(r#","digest":{}"#, serde_json::to_string(digest)?),
            None => String::new(),
        };
        let alias = serde_json::to_string(&run.alias)?;
        let run = serde_json::to_string(&run.run)?;
        Ok(Self {
            run: format!(r#""run":{run},"alias":{alias}{digest}"#),
            time: (0, String::new()),
        })
    }

    /// Appends the line of an event, its LF included.
    ///
    /// # Errors
    /// None that can happen: every value is a string, a number or JSON.
    pub fn append(
        &mut self,
        into: &mut Vec<u8>,
        (event, time): (&Event, Timestamp),
        (seq, prev): (u64, &str),
    ) -> Result<(), serde_json::Error> {
        begin(into, seq);
        into.extend_from_slice(br#""time":""#);
        into.extend_from_slice(self.text_of(time).as_bytes());
        into.extend_from_slice(br#"","#);
        into.extend_from_slice(self.run.as_bytes());
        into.extend_from_slice(br#","event":""#);
        into.extend_from_slice(event.name().as_bytes());
        into.extend_from_slice(br#"","prev":"#);
        string(into, prev)?;
        match event {
            Event::Call(call) => members(into, call)?,
            event => {
                // Every event has members, which are the line's: a comma stands for their bracket.
                let body = into.len();
                serde_json::to_writer(&mut *into, event)?;
                if let Some(bracket) = into.get_mut(body) {
                    *bracket = b',';
                }
            }
        }
        into.push(b'\n');
        Ok(())
    }

    fn text_of(&mut self, time: Timestamp) -> &str {
        let millisecond = time.as_millisecond();
        if self.time.0 != millisecond || millisecond <= 0 {
            self.time = (millisecond, format!("{time:.3}"));
        }
        &self.time.1
    }
}

/// How the line of that number begins, and no other.
pub(super) fn begin(into: &mut Vec<u8>, seq: u64) {
    into.extend_from_slice(br#"{"v":"#);
    number(into, u64::from(VERSION));
    into.extend_from_slice(br#","seq":"#);
    number(into, seq);
    into.push(b',');
}

/// What a call's line has behind those members, its bracket included.
fn members(into: &mut Vec<u8>, call: &Call) -> Result<(), serde_json::Error> {
    into.extend_from_slice(br#","tool":"#);
    string(into, &call.tool)?;
    into.extend_from_slice(br#","arguments_sha256":"#);
    string(into, &call.arguments_sha256)?;
    if let Some(arguments) = &call.arguments {
        into.extend_from_slice(br#","arguments":"#);
        serde_json::to_writer(&mut *into, arguments)?;
    }
    for (name, value) in [
        (r#","request_bytes":"#, call.request_bytes),
        (r#","response_bytes":"#, call.response_bytes),
        (r#","duration_ms":"#, call.duration_ms),
    ] {
        into.extend_from_slice(name.as_bytes());
        number(into, value);
    }
    for (name, value) in [
        (r#","outcome":"#, Some(call.outcome.as_str())),
        (r#","layer":"#, call.layer),
        (r#","reason":"#, call.reason),
    ] {
        if let Some(value) = value {
            into.extend_from_slice(name.as_bytes());
            string(into, value)?;
        }
    }
    into.push(b'}');
    Ok(())
}

fn number(into: &mut Vec<u8>, number: u64) {
    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A string as JSON; at once, where each of its characters stands for itself.
fn string(into: &mut Vec<u8>, text: &str) -> Result<(), serde_json::Error> {
    let special = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    if text.bytes().fold(false, |any, byte| any | special(byte)) {
        return serde_json::to_writer(into, text);
    }
    into.push(b'"');
    into.extend_from_slice(text.as_bytes());
    into.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::super::event::{Line, Outcome};
    use super::*;

    fn run() -> Run {
        Run {
            run: "0123456789abcdef".into(),
            alias: "weather".into(),
            digest: Some("ab".repeat(32)),
        }
    }

    #[test]
    fn a_line_has_the_documented_shape() {
        let call = Event::Call(Box::new(Call {
            tool: "get\u{1b}".into(),
            arguments_sha256: "00".into(),
            arguments: None,
            request_bytes: 10,
            response_bytes: 20,
            duration_ms: 3,
            outcome: Outcome::ToolError,
            layer: None,
            reason: None,
        }));
        let time = Timestamp::from_millisecond(1_800_000_000_005).unwrap();
        let (mut bytes, mut lines) = (Vec::new(), Lines::of(&run()).unwrap());
        lines.append(&mut bytes, (&call, time), (7, "ff")).unwrap();
        let want = format!(
            r#"{{"v":1,"seq":7,"time":"2027-01-15T08:00:00.005Z","run":"0123456789abcdef","alias":"weather","digest":"{}","event":"call","prev":"ff","tool":"get\u001b","arguments_sha256":"00","request_bytes":10,"response_bytes":20,"duration_ms":3,"outcome":"tool-error"}}"#,
            "ab".repeat(32)
        );
        assert_eq!(String::from_utf8(bytes.clone()).unwrap(), want + "\n");
        let read: Line = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            (read.seq, read.time, read.text("outcome")),
            (7, time, Some("tool-error"))
        );
    }

    fn call() -> impl Strategy<Value = Call> {
        let arguments = prop_oneof![
            Just(None),
            Just(Some(json!({"a": [1, "\u{2028}\"", null]}))),
            ".{0,9}".prop_map(|text| Some(Value::from(text))),
        ];
        let outcome = (0..Outcome::ALL.len()).prop_map(|index| Outcome::ALL[index].1);
        let word = || proptest::option::of(Just("surface-changed"));
        (
            (".{0,20}", "[0-9a-f]{64}", arguments),
            any::<(u64, u64, u64)>(),
            (outcome, word(), word()),
        )
            .prop_map(|(named, sizes, ended)| Call {
                tool: named.0,
                arguments_sha256: named.1,
                arguments: named.2,
                request_bytes: sizes.0,
                response_bytes: sizes.1,
                duration_ms: sizes.2,
                outcome: ended.0,
                layer: ended.1,
                reason: ended.2,
            })
    }

    proptest! {
        /// The parts by serde, in the order of the documentation.
        #[test]
        fn a_line_is_what_its_types_say(
            calls in proptest::collection::vec((call(), -3_000_000i64..2_000_000_000_000_000), 1..6),
            (seq, prev) in (any::<u64>(), ".{0,9}"),
        ) {
            let mut lines = Lines::of(&run()).unwrap();
            for (call, microsecond) in calls {
                let time = Timestamp::from_microsecond(microsecond).unwrap();
                let event = Event::Call(Box::new(call));
                // Twice, and a moment later: a time that is known already is no other.
                for time in [time, time, time + jiff::SignedDuration::from_micros(300)] {
                    let mut bytes = Vec::new();
                    lines.append(&mut bytes, (&event, time), (seq, &prev)).unwrap();
                    let text = String::from_utf8(bytes).unwrap();
                    let body = serde_json::to_string(&event).unwrap();
                    let body = body.strip_prefix('{').unwrap();
                    prop_assert!(text.ends_with(&format!(",{body}\n")), "{text}");
                    let mut read: Map<String, Value> = serde_json::from_str(&text).unwrap();
                    let want = serde_json::to_value(&event).unwrap();
                    for (name, value) in want.as_object().unwrap() {
                        prop_assert_eq!(read.remove(name), Some(value.clone()));
                    }
                    let rest = json!({
                        "v": 1, "seq": seq, "time": format!("{time:.3}"), "run": run().run, "alias": run().alias,
                        "digest": run().digest, "event": "call", "prev": prev,
                    });
                    prop_assert_eq!(Value::from(read), rest);
                }
            }
        }
    }
}
