//! What a run is told before its first line: the first byte of the input chooses.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::super::super::breaker::Breaker;
use super::super::super::gate::Moment;
use super::super::super::{Action, Audit, Filter, Permissions, Rules, Settings};
use crate::declaration::Category;
use crate::surface::canonical::Item;
use crate::surface::{Kind, Surface};

/// The tools that are approved.
fn approved() -> Surface {
    let tool = |tool| Item::listed(Kind::Tool, tool).unwrap();
    let plain = ["a", "b"].map(|name| serde_json::json!({ "name": name }));
    let reads = serde_json::json!({"name": "c", "annotations": {"readOnlyHint": true}});
    plain.into_iter().chain([reads]).map(tool).collect()
}

pub fn settings(input: &[u8]) -> Settings {
    let narrow = input.first() == Some(&b'n');
    Settings {
        alias: "a".into(),
        max_message_bytes: 4_096,
        surface: Some(approved()),
        whole: false,
        filter: Filter {
            exclude: if narrow {
                vec!["b*".parse().unwrap()]
            } else {
                Vec::new()
            },
            ..Filter::default()
        },
        granted: if input.first() == Some(&b'g') {
            BTreeSet::from([Category::Destructive])
        } else {
            BTreeSet::new()
        },
        rules: rules(input),
        seed: [7; 32],
        start_limit: Some(Duration::from_secs(30)),
        call_limit: Some(Duration::from_secs(10)),
        audit: Audit::Arguments,
        breaker: Breaker::default(),
        discover: None,
    }
}

/// Where the input begins with an `r`: `b` is denied, what begins with nothing else is asked about.
fn rules(input: &[u8]) -> Rules {
    let rule = |word: &str| word.parse().unwrap();
    Rules {
        permissions: Permissions {
            deny: vec![rule("Mcp(a:b)")],
            allow: vec![rule("Mcp(a:go)")],
            default: if input.first() == Some(&b'r') {
                Action::Ask
            } else {
                Action::Allow
            },
            ..Permissions::default()
        },
        ..Rules::default()
    }
}

pub fn moment() -> Moment {
    Moment {
        at: Instant::now(),
        of_day: Timestamp::from_second(1_800_000_000).unwrap(),
    }
}
