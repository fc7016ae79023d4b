//! Which lines of the log a person asks for.
//!
//! Pure: the words of `supervisor audit` and a line go in.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use super::event::{Line, Outcome};
use crate::declaration::Alias;
use crate::relay::filter::Pattern;

/// What is asked for; a line must be all of it.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this server.
    pub alias: Option<Alias>,
    /// From then on.
    pub since: Option<Timestamp>,
    /// Calls of these tools.
    pub tool: Option<Pattern>,
    /// Calls that went so.
    pub outcome: Option<Outcome>,
}

impl Filter {
    /// Whether a line is asked for.
    #[must_use]
    pub fn takes(&self, line: &Line) -> bool {
        let outcome = || line.text("outcome").and_then(|word| word.parse().ok());
        let tool = |pattern: &Pattern| line.text("tool").is_some_and(|name| pattern.matches(name));
        self.alias
            .as_ref()
            .is_none_or(|alias| alias.as_str() == line.alias)
            && self.since.is_none_or(|since| line.time >= since)
            && self.tool.as_ref().is_none_or(tool)
            && self.outcome.is_none_or(|asked| outcome() == Some(asked))
    }
}

/// The word of `--since`: a time, a day, or how long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// From this time on.
    At(Timestamp),
    /// For the last so long.
    Ago(SignedDuration),
}

impl Since {
    /// The time it stands for.
    #[must_use]
    pub fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(ago) => now.saturating_sub(ago).unwrap_or(Timestamp::MIN),
        }
    }
}

/// A word that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a time like 2026-11-30T08:00:00Z, a day like 2026-11-30 (UTC), or how long ago: 90m, 2h, 7d"
)]
pub struct NoTime;

impl std::str::FromStr for Since {
    type Err = NoTime;

    fn from_str(word: &str) -> Result<Self, NoTime> {
        if let Ok(time) = word.parse::<Timestamp>() {
            return Ok(Self::At(time));
        }
        if let Ok(time) = format!("{word}T00:00:00Z").parse::<Timestamp>() {
            return Ok(Self::At(time));
        }
        let span: Span = word.parse().map_err(|_| NoTime)?;
        let ago = span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .map_err(|_| NoTime)?;
        if ago.is_negative() {
            return Err(NoTime);
        }
        Ok(Self::Ago(ago))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(more: &str) -> Line {
        let text = format!(
            r#"{{"v":1,"seq":1,"time":"2026-11-30T08:00:00Z","run":"r","alias":"a","event":"call","prev":""{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_line_must_be_all_that_is_asked_for() {
        let call = line(r#","tool":"get_x","outcome":"tool-error""#);
        assert!(Filter::default().takes(&call));
        let asked = |tool: &str, outcome, since: &str| Filter {
            alias: Some("a".parse().unwrap()),
            since: Some(since.parse().unwrap()),
            tool: Some(tool.parse().unwrap()),
            outcome: Some(outcome),
        };
        let early = "2026-11-30T08:00:00Z";
        assert!(asked("get_*", Outcome::ToolError, early).takes(&call));
        assert!(!asked("set_*", Outcome::ToolError, early).takes(&call));
        assert!(!asked("get_*", Outcome::Ok, early).takes(&call));
        assert!(!asked("get_*", Outcome::ToolError, "2026-11-30T08:00:01Z").takes(&call));
        assert!(!asked("*", Outcome::Ok, early).takes(&line("")), "no call");
        let other = Filter {
            alias: Some("b".parse().unwrap()),
            ..Filter::default()
        };
        assert!(!other.takes(&call));
    }

    #[test]
    fn a_time_a_day_or_how_long_ago() {
        let now: Timestamp = "2026-11-30T08:00:00Z".parse().unwrap();
        let time = |word: &str| {
            word.parse::<Since>()
                .map(|since| since.time(now).to_string())
        };
        assert_eq!(time("2026-11-29").as_deref(), Ok("2026-11-29T00:00:00Z"));
        assert_eq!(
            time("2026-11-29T01:02:03Z").as_deref(),
            Ok("2026-11-29T01:02:03Z")
        );
        assert_eq!(time("2h").as_deref(), Ok("2026-11-30T06:00:00Z"));
        assert_eq!(time("90m").as_deref(), Ok("2026-11-30T06:30:00Z"));
        assert_eq!(time("7d").as_deref(), Ok("2026-11-23T08:00:00Z"));
        for word in ["", "yesterday", "-2h", "1 year", "2h30"] {
            assert_eq!(time(word), Err(NoTime), "{word}");
        }
    }
}
