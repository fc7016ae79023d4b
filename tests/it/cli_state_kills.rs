//! Row S8: commands at the same time, and commands killed at any moment, lose nothing that was
//! acknowledged, leave no half file, and are in nobody's way afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::judge::{Over, done, refused};
use crate::support::{TestContext, everybody, stderr};

/// So many commands are killed.
const KILLS: usize = 100;

/// Numbers that look like chance and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// What was acknowledged: declared, and removed.
#[derive(Default)]
struct Acknowledged {
    declared: BTreeSet<String>,
    removed: BTreeSet<String>,
}

fn servers(context: &TestContext) -> serde_json::Value {
    let text = fs::read_to_string(context.path("home/.supervisor/mcp.json")).unwrap();
    let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
    file["mcpServers"].take()
}

fn half_written(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".new")).collect()
}

/// Starts a command and kills it after a while; whether it had ended well by then.
fn killed(context: &TestContext, words: &[&str], after: Duration) -> bool {
    let mut command = context.supervisor(words);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap().success()
}

fn kill_for_a_while(context: &TestContext, known: &Mutex<Acknowledged>) -> (usize, usize) {
    let mut chance = Chance(1);
    // About how long one takes, which changes with what else the machine does.
    let mut usual = {
        let start = Instant::now();
        done(&context.run(&["add", "first", "--", "/bin/true"]));
        u64::try_from(start.elapsed().as_micros()).unwrap()
    };
    let (mut turn, mut kills, mut halves) = (0, 0, 0);
    while kills < KILLS {
        turn += 1;
        let before = kills;
        let alias = format!("k{turn}");
        let after = Duration::from_micros(chance.below(usual * 3 / 2));
        if chance.below(4) == 0 {
            // A removal: of an entry that was acknowledged and is nobody else's.
            let taken = known
                .lock()
                .unwrap()
                .declared
                .iter()
                .find(|name| name.starts_with('k'))
                .cloned();
            let Some(name) = taken else { continue };
            let removed = killed(context, &["remove", &name], after);
            let mut known = known.lock().unwrap();
            // Killed, it may be there or not: nothing was acknowledged.
            known.declared.remove(&name);
            if removed {
                known.removed.insert(name);
            }
            kills += usize::from(!removed);
        } else if killed(
            context,
            &["add", &alias, "-e", "K=value", "--", "/bin/echo", &alias],
            after,
        ) {
            known.lock().unwrap().declared.insert(alias);
        } else {
            kills += 1;
        }
        usual = if kills > before {
            usual * 9 / 8 + 1
        } else {
            usual * 3 / 4 + 1
        };
        halves += half_written(&context.path("home/.supervisor")).len();
    }
    (kills, halves)
}

fn write_until(context: &TestContext, known: &Mutex<Acknowledged>, stop: &Over) {
    let mut turn = 0;
    while !stop.is() {
        turn += 1;
        let alias = format!("w{turn}");
        done(&context.run(&["add", &alias, "-e", "K=value", "--", "/bin/echo", &alias]));
        known.lock().unwrap().declared.insert(alias);
        // Whoever only looks sees a whole file.
        done(&context.run(&["list"]));
    }
}

#[test]
fn s8_kills_beside_a_second_writer_lose_nothing() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved(
            "base",
            &["-e", &format!("BIG={}", "x".repeat(100_000))],
            &["/bin/true"],
        );
        let (known, stop) = (Mutex::new(Acknowledged::default()), Over::default());
        let (kills, halves) = thread::scope(|scope| {
            scope.spawn(|| write_until(&context, &known, &stop));
            let _ends = stop.with_this();
            kill_for_a_while(&context, &known)
        });
        let state = context.path("home/.supervisor");
        // The next command finds nothing in its way, and cleans up.
        done(&context.run(&["add", "last", "--", "/bin/true"]));
        assert_eq!(half_written(&state), [""; 0]);
        let (servers, known) = (servers(&context), known.into_inner().unwrap());
        for alias in &known.declared {
            let entry = &servers[alias];
            assert_eq!(
                entry["args"],
                serde_json::json!([alias]),
                "{alias}: {entry}"
            );
            assert_eq!(entry["env"], serde_json::json!({"K": "value"}), "{alias}");
        }
        for alias in &known.removed {
            assert!(servers[alias].is_null(), "{alias} is back");
        }
        let (code, said) = context.host("base").end();
        assert_eq!(code, 0, "the approval is gone: {said}");
        println!(
            "{who:?}: {kills} kills, {halves} half-written files seen, {} declared, {} removed",
            known.declared.len(),
            known.removed.len()
        );
    }
}

/// Approvals of several people's terminals at once, and kills in between.
#[test]
fn s8_approvals_at_the_same_time_lose_nothing() {
    let context = TestContext::ordinary();
    let stop = Over::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut chance = Chance(7);
            while !stop.is() {
                let after = Duration::from_micros(chance.below(15_000));
                killed(&context, &["add", "killed", "--", "/bin/echo", "x"], after);
                killed(&context, &["remove", "killed"], after);
            }
        });
        let _ends = stop.with_this();
        thread::scope(|scope| {
            for writer in 0..3 {
                let context = &context;
                scope.spawn(move || {
                    for turn in 0..6 {
                        let alias = format!("a{writer}-{turn}");
                        context.approved(&alias, &[], &["/bin/echo", &alias]);
                    }
                });
            }
        });
    });
    let list = context.run(&["list", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let rows = list["servers"].as_array().unwrap();
    let approved = rows.iter().filter(|row| row["state"] == "approved").count();
    assert_eq!(approved, 18, "{list}");
}

/// What a kill in the middle of a write leaves, laid out by hand.
#[test]
fn s8_what_a_killed_command_left_is_in_nobodys_way() {
    for who in everybody() {
        let context = TestContext::new(who);
        context.approved("a", &[], &["/bin/true"]);
        context.make_file(
            "home/.supervisor/.mcp.json.new",
            "{\"version\": 1, \"mcpSer",
        );
        context.make_file("home/.supervisor/.approved.new", "server ");
        context.make_file("home/.supervisor/approvals/.x.json.new", "{");
        let (code, _) = context.host("a").end();
        assert_eq!(code, 0);
        context.approved("b", &[], &["/bin/echo"]);
        let state = context.path("home/.supervisor");
        assert_eq!(half_written(&state), [""; 0]);
        assert_eq!(half_written(&state.join("approvals")), [""; 0]);
        // A directory there is nothing of ours: it is named, and left.
        context.make_directory("home/.supervisor/.mcp.json.new");
        let output = context.run(&["add", "c", "--", "/bin/true"]);
        refused(&output, 126, "state-kind");
        assert!(
            stderr(&output).contains(".mcp.json.new"),
            "{}",
            stderr(&output)
        );
        assert!(state.join(".mcp.json.new").is_dir());
    }
}
