use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::confine::receipt::{Exit, Found, Ran};
use crate::declaration::BoundLimits;
use crate::plan::Person;

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
    for _ in 0..RECEIPTS.kept + 3 {
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
    assert_eq!(kept, written[..RECEIPTS.kept].to_vec());
    let folder = person.state.join("receipts").join("ab".repeat(8));
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let files = names.filter(|name| name.as_encoded_bytes().ends_with(b".json"));
    assert_eq!(files.count(), RECEIPTS.kept);
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
    let text = fs::read_to_string(file_of(&person, &receipt)).unwrap();
    for (name, content) in [("dd", "\0".repeat(5_000)), ("ee", text)] {
        let file = folder.join(format!("00000000000000{name}.json"));
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
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

/// The receipts of a declaration of which so many were kept as there are to be, the first first.
fn full(person: &Person) -> Vec<Receipt> {
    let state = State::open(person).unwrap();
    let written: Vec<Receipt> = (0..RECEIPTS.kept).map(|_| receipt()).collect();
    for (at, receipt) in written.iter().enumerate() {
        keep(&state, receipt).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH
            + Duration::from_secs(60) * u32::try_from(at).unwrap();
        let file = File::options()
            .write(true)
            .open(file_of(person, receipt))
            .unwrap();
        file.set_modified(time).unwrap();
    }
    written
}

fn file_of(person: &Person, receipt: &Receipt) -> PathBuf {
    let folder = person.state.join("receipts").join("ab".repeat(8));
    folder.join(format!("{}.json", receipt.run))
}

#[test]
fn the_oldest_ones_file_is_taken_for_the_next() {
    use std::os::unix::fs::MetadataExt;
    let (_base, person) = person();
    let written = full(&person);
    let oldest = file_of(&person, &written[0]);
    let inode = fs::metadata(&oldest).unwrap().ino();
    // Longer than what comes: nothing of it stays behind the end.
    fs::write(&oldest, "x".repeat(20_000)).unwrap();
    let old = fs::metadata(file_of(&person, &written[1])).unwrap();
    File::options()
        .write(true)
        .open(&oldest)
        .unwrap()
        .set_modified(old.modified().unwrap() - Duration::from_secs(30))
        .unwrap();
    let next = receipt();
    keep(&State::open(&person).unwrap(), &next).unwrap();
    assert!(!oldest.exists());
    let file = file_of(&person, &next);
    // Where the file system can make a file's bytes zero and keep its room.
    let probe = File::create(person.state.join("probe")).unwrap();
    let can = nix::fcntl::fallocate(
        &probe,
        nix::fcntl::FallocateFlags::FALLOC_FL_ZERO_RANGE,
        0,
        1,
    );
    assert_eq!(fs::metadata(&file).unwrap().ino() == inode, can.is_ok());
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        to_text(&next).unwrap(),
        "whole, and nothing else"
    );
    let (kept, problems) = read(&State::open(&person).unwrap(), &next.digest);
    assert_eq!(
        (kept.len(), &kept[0], problems.len()),
        (RECEIPTS.kept, &next, 0)
    );
}

#[test]
fn one_that_somebody_else_names_too_is_not_written_over() {
    let (base, person) = person();
    let written = full(&person);
    let saved = base.path().join("saved");
    fs::hard_link(file_of(&person, &written[0]), &saved).unwrap();
    let next = receipt();
    keep(&State::open(&person).unwrap(), &next).unwrap();
    let text = to_text(&written[0]).unwrap();
    assert_eq!(fs::read_to_string(&saved).unwrap(), text);
    assert!(!file_of(&person, &written[0]).exists());
    // Nor does one stand in the way that is open to others.
    let file = file_of(&person, &written[1]);
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&file, open).unwrap();
    let last = receipt();
    keep(&State::open(&person).unwrap(), &last).unwrap();
    let found = file_of(&person, &last);
    assert_eq!(fs::read_to_string(&found).unwrap(), to_text(&last).unwrap());
    let mode = fs::metadata(&found).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, file.exists()), (0o600, false));
    assert_eq!(fs::read_to_string(&saved).unwrap(), text);
    let names = fs::read_dir(file_of(&person, &next).parent().unwrap()).unwrap();
    let left = names.filter(|name| {
        let name = name.as_ref().unwrap().file_name();
        name.as_encoded_bytes().ends_with(b".new")
    });
    assert_eq!(left.count(), 0, "nothing half written");
}
