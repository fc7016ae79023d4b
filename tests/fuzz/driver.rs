//! Makes inputs of seeds, keeps those that behave in a new way, stops at the first that fails.
//!
//! A target returns a number for how the input behaved; an input with a number that was not seen before
//! joins those that later ones are made of. That is what coverage is to other fuzzers.
#![expect(
    clippy::disallowed_methods,
    reason = "reads seeds, writes what failed, and watches the clock"
)]

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Inputs of a run that is not timed.
const INPUTS: usize = 3_000;
/// The longest input.
const LONGEST: usize = 16_384;
/// Inputs that are kept to make others of.
const KEPT: usize = 4_096;
/// What is put in: what the formats are made of, and what breaks readers of them.
const WORDS: [&str; 40] = [
    "\n",
    "\r\n",
    "\r",
    "\u{feff}",
    "\u{2028}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0069",
    ",",
    ":",
    "null",
    "true",
    "-0",
    "1e999",
    "9007199254740993",
    "\"id\":1",
    "\"ID\":1",
    "\"id\":\"1\"",
    "\"method\":\"tools/call\"",
    "\"method\":\"initialize\"",
    "\"method\":\"server/discover\"",
    "\"method\":\"notifications/cancelled\"",
    "\"params\":{\"requestId\":1}",
    "\"params\":{\"name\":\"a\",\"arguments\":{}}",
    "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"progressToken\":1}}",
    "\"params\":{\"progressToken\":1}",
    "\"result\":{}",
    "\"result\":{\"isError\":true}",
    "\"error\":{\"code\":-32603,\"message\":\"\"}",
    "\"jsonrpc\":\"2.0\"",
    "{\"jsonrpc\":\"2.0\",\"id\":1,",
    "\nh",
    "\ns",
    "\nt9",
    "\nd",
    "\nu",
];

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

/// Runs a target on its seeds and on what is made of them.
pub fn run(name: &str, target: fn(&[u8]) -> u64) {
    let seconds = std::env::var("SUPERVISOR_FUZZ_SECONDS").ok();
    let limit = seconds.map(|text| Duration::from_secs(text.parse().expect("whole seconds")));
    let start = Instant::now();
    let seed = match std::env::var("SUPERVISOR_FUZZ_START").as_deref() {
        Ok("random") => std::hash::RandomState::new().build_hasher().finish(),
        Ok(text) => text.parse().expect("a number, or `random`"),
        Err(_) => 1,
    };
    println!("{name}: starts from {seed}");
    let mut random = Random(seed);
    let (mut kept, mut seen) = (Vec::new(), BTreeSet::new());
    for input in seeds(name) {
        seen.insert(tried(name, target, &input));
        kept.push(input);
    }
    let mut count = 0_usize;
    while limit.map_or(count < INPUTS, |limit| start.elapsed() < limit) {
        count += 1;
        let input = made(&mut random, &kept);
        if seen.insert(tried(name, target, &input)) && kept.len() < KEPT {
            kept.push(input);
        }
    }
    println!("{name}: {count} inputs, {} ways to behave", seen.len());
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/seeds")
        .join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .expect("seeds")
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds no seed", folder.display());
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Runs the target; an input that fails is kept.
fn tried(name: &str, target: fn(&[u8]) -> u64, input: &[u8]) -> u64 {
    catch_unwind(AssertUnwindSafe(|| target(input))).unwrap_or_else(|failure| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}-{:016x}", signature(input)));
        std::fs::write(&path, input).unwrap();
        eprintln!("{name}: {} fails: {}", path.display(), input.escape_ascii());
        resume_unwind(failure)
    })
}

/// An input made of those that are kept.
fn made(random: &mut Random, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut input = kept[random.below(kept.len())].clone();
    for _ in 0..=random.below(6) {
        change(random, &mut input, kept);
    }
    input.truncate(LONGEST);
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, kept: &[Vec<u8>]) {
    let (at, to) = (random.below(input.len() + 1), random.below(input.len() + 1));
    let (at, to) = (at.min(to), at.max(to));
    match random.below(9) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.next().to_le_bytes()[0],
        2 => {
            input.drain(at..to);
        }
        3 => {
            let piece = input[at..to].to_vec();
            input.splice(at..at, piece);
        }
        4 => input.truncate(at),
        5 => {
            let other = &kept[random.below(kept.len())];
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend(&other[from..]);
        }
        6 => {
            // Lines change places.
            let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
            let (one, other) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(one, other);
            *input = lines.join(&b'\n');
        }
        _ => {
            let word = WORDS[random.below(WORDS.len())].bytes();
            input.splice(at..at, word);
        }
    }
}

/// A number for bytes (FNV-1a).
pub fn signature(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
