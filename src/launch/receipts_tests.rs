use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::confine::receipt::{Exit, Found, Ran};
use crate::declaration::BoundLimits;

/// A person with a state directory.
fn person() -> (tempfile::TempDir, Person) {
    let (base, person) = Person::temporary();
    fs::create_dir(&person.state).unwrap();
    fs::set_permissions(&person.state, fs::Permissions::from_mode(0o700)).unwrap();
    (base, person)
}

fn receipt() -> Receipt {
    let started = Started {
        run: RunId::new().unwrap(),
        alias: "notes".parse().unwrap(),
        digest: "ab".repeat(32).parse().unwrap(),
        program: Ran {
            found: "/bin/x".into(),
            resolved: "/bin/x".into(),
            sha256: None,
            differs: None,
        },
        started: Timestamp::UNIX_EPOCH,
        kernel: "6.8".to_owned(),
        landlock_abi: 6,
        planned: Vec::new(),
        limits: BoundLimits {
            memory: 1,
            processes: 2,
            files: 3,
            file_size: 4,
        },
        variables: Vec::new(),
        reported: None,
    };
    let found = Found {
        repositories: vec!["/a/\u{202e}b\n/.git".to_owned()],
        ..Found::default()
    };
    let ended = Timestamp::UNIX_EPOCH;
    started.ended(ended, Exit::Code(0), found)
}

#[test]
fn it_reads_back_and_every_character_of_it_prints() {
    let receipt = receipt();
    let text = to_text(&receipt).unwrap();
    assert!(text.contains(r"/a/\u202eb\n/.git"), "{text}");
    assert_eq!(from_text(&text).unwrap(), receipt);
    for other in [
        "{}".to_owned(),
        "[]".to_owned(),
        text.replace("receipt.v1", "receipt.v2"),
        text.replace("\"kernel\"", "\"colonel\""),
        text.replacen('{', "{\"more\": 1,", 1),
    ] {
        assert!(from_text(&other).is_err(), "{other}");
    }
}

#[test]
fn the_last_twenty_are_kept() {
    let (_base, person) = person();
    let mut written = Vec::new();
    for _ in 0..KEPT + 3 {
        let receipt = receipt();
        keep(&State::open(&person).unwrap(), &receipt).unwrap();
        let path = person.state.join("receipts").join("ab".repeat(8));
        let file = path.join(format!("{}.json", receipt.run));
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        // Of different times, whatever the kernel's clock says.
        let time = std::time::SystemTime::UNIX_EPOCH
            + Duration::from_secs(60) * u32::try_from(written.len()).unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(time)
            .unwrap();
        written.push(receipt);
    }
    written.reverse();
    let state = State::open(&person).unwrap();
    let (kept, problems) = read(&state, &written[0].digest);
    assert_eq!(kept, written[..KEPT].to_vec());
    let folder = person.state.join("receipts").join("ab".repeat(8));
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let files = names.filter(|name| name.as_encoded_bytes().ends_with(b".json"));
    assert_eq!(files.count(), KEPT);
    assert!(problems.is_empty());
}

#[test]
fn what_is_no_receipt_is_told_and_hides_none() {
    let (_base, person) = person();
    let receipt = receipt();
    keep(&State::open(&person).unwrap(), &receipt).unwrap();
    let folder = person.state.join("receipts").join("ab".repeat(8));
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let file = folder.join("00000000000000aa.json");
    fs::write(&file, "{").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let empty = folder.join("00000000000000cc.json");
    fs::write(&empty, "").unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("/etc/hostname", folder.join("00000000000000bb.json")).unwrap();
    let state = State::open(&person).unwrap();
    let (kept, problems) = read(&state, &receipt.digest);
    assert_eq!(kept, [receipt]);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_file_of_the_callers_is_replaced_and_what_is_none_refused() {
    let base = tempfile::tempdir().unwrap();
    let path = |name: &str| base.path().join(name);
    fs::write(path("kept"), "kept").unwrap();
    symlink("kept", path("link")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    nix::unistd::mkfifo(&path("fifo"), Mode::S_IRWXU).unwrap();
    for bad in ["directory", "fifo", "nothing/receipt.json", "directory/.."] {
        let named = Named::open(Some(&path(bad)), None);
        assert!(matches!(named, Err(LaunchError::Receipt { .. })), "{bad}");
    }
    assert!(Named::open(Some(Path::new("/dev/null")), None).is_err());
    // The directory is the one that was named, whatever stands there later.
    let named = Named::open(Some(&path("link")), None).unwrap();
    let receipt = receipt();
    named.write(&receipt).unwrap();
    assert_eq!(
        fs::read_to_string(path("link")).unwrap(),
        to_text(&receipt).unwrap()
    );
    assert!(!fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path("kept")).unwrap(), "kept");
    let mode = fs::metadata(path("link")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        fs::read_dir(base.path()).unwrap().count(),
        4,
        "nothing half written"
    );
}
