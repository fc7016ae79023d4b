//! Messages the relay itself writes: errors of JSON-RPC, whole lines.
//!
//! Pure. Their words are ours: nothing a server wrote to its stdout or stderr is in them.

use serde::Serialize;

#[cfg(test)]
use super::Over;
use super::envelope::Id;
use super::{End, Exit, Refusal};

/// A line that is no JSON.
pub(super) const PARSE_ERROR: i64 = -32_700;
/// JSON that is no request: a batch, a wrong id, a duplicate member.
pub(super) const INVALID_REQUEST: i64 = -32_600;
/// A tool that there is not.
pub(super) const INVALID_PARAMS: i64 = -32_602;
/// The server ended, or closed its pipes, before it answered (`server-ended`).
pub(super) const SERVER_ENDED: i64 = -31_120;
/// A message over the limit, either way (`message-too-long`).
pub(super) const TOO_LONG: i64 = -31_121;
/// The server's answer cannot be read (`answer-unreadable`).
pub(super) const UNREADABLE: i64 = -31_122;
/// Too many requests wait for an answer (`too-many-requests`).
pub(super) const TOO_MANY: i64 = -31_123;
/// A rule refuses a request that is no call of a tool (`denied-by-rule`).
pub(super) const DENIED_BY_RULE: i64 = -31_134;
/// The server failed over and over and is left alone (`breaker-open`).
pub(super) const BREAKER_OPEN: i64 = -31_127;
/// A request was not answered in its time (`call-timeout`).
pub(super) const CALL_TIMEOUT: i64 = -31_128;
/// The server answered nothing in the time that its start may take (`start-timeout`).
pub(super) const START_TIMEOUT: i64 = -31_129;

/// A result asks the host for what it is not to be asked (`request-refused`).
pub(super) const REQUEST_REFUSED: i64 = -31_135;

/// The surface of the server was not approved (`surface-unapproved`).
pub(super) const SURFACE_UNAPPROVED: i64 = -31_136;
/// What is asked for is not what was approved (`surface-withheld`).
pub(super) const SURFACE_WITHHELD: i64 = -31_137;
/// It is not known whether it is, since the list cannot be read (`surface-unknown`).
pub(super) const SURFACE_UNKNOWN: i64 = -31_138;

/// The relay's own codes and numbers, for the test of the one table of numbers.
#[cfg(test)]
pub(crate) const OWN: [(&str, i64); 15] = [
    ("server-ended", SERVER_ENDED),
    ("message-too-long", TOO_LONG),
    ("answer-unreadable", UNREADABLE),
    ("too-many-requests", TOO_MANY),
    named_over(Over::Memory { limit: 0 }),
    named_over(Over::Processes { limit: 0 }),
    named_over(Over::Disk { free: 0, floor: 0 }),
    ("breaker-open", BREAKER_OPEN),
    ("call-timeout", CALL_TIMEOUT),
    ("start-timeout", START_TIMEOUT),
    ("denied-by-rule", DENIED_BY_RULE),
    ("request-refused", REQUEST_REFUSED),
    ("surface-unapproved", SURFACE_UNAPPROVED),
    ("surface-withheld", SURFACE_WITHHELD),
    ("surface-unknown", SURFACE_UNKNOWN),
];

#[cfg(test)]
const fn named_over(over: Over) -> (&'static str, i64) {
    (over.code(), over.number())
}

#[derive(Serialize)]
struct Line<'a> {
    jsonrpc: &'static str,
    id: &'a serde_json::value::RawValue,
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data<'a>>,
}

/// What a program reads of an error.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Data<'a> {
    /// Kebab-case.
    pub(super) code: &'a str,
    /// A command to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'a str>,
    /// The exit code of the supervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit: Option<u8>,
}

/// An error as one line, LF included. No id: null, as JSON-RPC wants where it could not be read.
pub(super) fn error(id: Option<&Id>, code: i64, message: &str, data: Option<Data<'_>>) -> Vec<u8> {
    let id = id.map_or_else(|| "null".to_owned(), Id::json);
    let line = serde_json::value::RawValue::from_string(id).and_then(|id| {
        let error = Error {
            code,
            message,
            data,
        };
        serde_json::to_vec(&Line {
            jsonrpc: "2.0",
            id: &id,
            error,
        })
    });
    // An id is JSON by construction and the rest are strings: there is no other case.
    let mut line = line.unwrap_or_default();
    line.push(b'\n');
    line
}

/// A result as one line, LF included.
pub(super) fn result(id: &Id, result: &serde_json::Value) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n",
        id.json()
    )
    .into_bytes()
}

/// A request of our own, as one line.
pub(super) fn request(id: &Id, method: &str, params: &serde_json::Value) -> Vec<u8> {
    let (id, method) = (id.json(), serde_json::Value::from(method));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}\n")
        .into_bytes()
}

/// Why a request that took too long is cancelled.
pub(super) const OVERDUE: &str = "the time of the request ran out";

/// Tells that nobody waits for a request any more, as one line; `reason` needs no escape.
pub(super) fn cancelled(id: &Id, reason: &'static str) -> Vec<u8> {
    let id = id.json();
    let params = format!(r#"{{"requestId":{id},"reason":"{reason}"}}"#);
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}\n")
        .into_bytes()
}

/// The refusal of a run, to one request.
pub(super) fn refusal(id: &Id, refusal: &Refusal) -> Vec<u8> {
    let data = Data {
        code: &refusal.code,
        hint: refusal.hint.as_deref(),
        exit: Some(refusal.exit),
    };
    error(Some(id), refusal.number, &refusal.message, Some(data))
}

/// What became of the server, for a sentence.
pub(crate) fn fate(exit: Exit) -> String {
    match exit {
        Exit::Signal(number) => format!("was killed by {}", signal(number)),
        // What started it passes a signal on as a shell does.
        Exit::Code(code) if code > 128 && named(code - 128).is_some() => {
            format!("exited with code {code} (as after {})", signal(code - 128))
        }
        Exit::Code(code) => format!("exited with code {code}"),
    }
}

/// What became of a server that we ended, and why.
pub(crate) fn stopped(exit: Exit, end: End) -> String {
    let fate = fate(exit);
    match end {
        End::HostLeft => format!(
            "{fate}, since the host closed its pipes and the server did not end within 1 s,"
        ),
        End::Signalled(number) => format!("{fate}, since the supervisor got {},", signal(number)),
        End::Over(over) => format!("{fate}, since {over},"),
        End::ServerEnded | End::ServerClosed | End::NotStarted => fate,
    }
}

fn named(number: i32) -> Option<&'static str> {
    nix::sys::signal::Signal::try_from(number)
        .ok()
        .map(nix::sys::signal::Signal::as_str)
}

/// A signal by its name, or its number where it has none.
pub(super) fn signal(number: i32) -> String {
    named(number).map_or_else(|| format!("signal {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &[u8]) -> &str {
        std::str::from_utf8(line).expect("UTF-8")
    }

    #[test]
    fn errors_are_one_line_with_the_id_as_asked() {
        let line = error(
            Some(&Id::Integer("9007199254740993".into())),
            PARSE_ERROR,
            "a\nb",
            None,
        );
        let want =
            r#"{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32700,"message":"a\nb"}}"#;
        assert_eq!(text(&line), format!("{want}\n"));
        let line = error(
            None,
            INVALID_REQUEST,
            "x",
            Some(Data {
                code: "c",
                hint: None,
                exit: Some(3),
            }),
        );
        let want = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x","data":{"code":"c","exit":3}}}"#;
        assert_eq!(text(&line), format!("{want}\n"));
    }

    #[test]
    fn a_fate_names_code_or_signal() {
        assert_eq!(fate(Exit::Code(3)), "exited with code 3");
        assert_eq!(fate(Exit::Signal(9)), "was killed by SIGKILL");
        assert_eq!(
            fate(Exit::Code(137)),
            "exited with code 137 (as after SIGKILL)"
        );
        assert_eq!(fate(Exit::Signal(40)), "was killed by signal 40");
        assert_eq!(fate(Exit::Code(255)), "exited with code 255");
    }
}
