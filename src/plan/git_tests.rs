use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use tempfile::TempDir;

use crate::plan::Rights;
use crate::plan::walk::DEPTH;

struct Home(
    #[expect(dead_code, reason = "kept as long as the test runs")] TempDir,
    Person,
);

impl Home {
    fn new() -> Self {
        let (base, person) = Person::temporary();
        fs::create_dir_all(person.home.join("notes/2024/may")).unwrap();
        Self(base, person)
    }
    fn at(&self, path: &str) -> PathBuf {
        self.1.home.join(path)
    }
    fn dir(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }
    fn check(&self, path: &str) -> Result<PathBuf, PlanError> {
        check(&self.at(path), &self.1, &[])
    }
    #[track_caller]
    fn refused(&self, path: &str, why: &str) {
        let said = self.check(path).unwrap_err().to_string();
        assert!(
            said.starts_with("G1: ") && said.contains(why),
            "{path}: {said}"
        );
    }
    #[track_caller]
    fn allowed(&self, path: &str) {
        assert_eq!(self.check(path).unwrap(), self.at(path));
    }
}

#[test]
fn a_plain_directory_is_allowed() {
    let home = Home::new();
    home.allowed("notes");
    for name in [".gitignore", "git", ".gitkeep", "HEAD", "objects", ".git2"] {
        fs::write(home.at("notes").join(name), "").unwrap();
    }
    home.allowed("notes");
    home.allowed("notes/2024/may");
}

#[test]
fn a_repository_in_above_or_below_is_refused() {
    let home = Home::new();
    home.dir("notes/2024/.git");
    home.refused("notes/2024", "notes/2024/.git");
    home.refused("notes/2024/may", "notes/2024/.git");
    home.refused("notes", "notes/2024/.git");
    home.dir("other");
    home.allowed("other");
    // Above the home too.
    fs::create_dir(home.1.home.parent().unwrap().join(".git")).unwrap();
    home.refused("other", ".git");
}

#[test]
fn every_kind_of_the_mark_is_refused() {
    let home = Home::new();
    fs::write(home.at("notes/.git"), "").unwrap();
    home.refused("notes", "git repository");
    home.refused("notes/2024", "git repository");
    let home = Home::new();
    symlink("nowhere", home.at("notes/.git")).unwrap();
    home.refused("notes", ".git");
    let home = Home::new();
    mkfifo(&home.at("notes/.git"), Mode::from_bits_truncate(0o600)).unwrap();
    home.refused("notes", ".git");
    let home = Home::new();
    fs::write(home.at("notes/.git"), "gitdir: /gone/.git/worktrees/x\n").unwrap();
    home.refused("notes/2024", ".git");
}

/// The file system says itself which spellings are one name; here it keeps them apart, and so
/// does git.
#[test]
fn other_spellings_count_where_the_file_system_folds_them() {
    let home = Home::new();
    for name in [".GIT", ".Git", ".g\u{200c}it", "git~1", ".git ", ".git."] {
        home.dir(&format!("notes/2024/{name}"));
    }
    if home.at("notes/2024/.git").exists() {
        home.refused("notes", "git repository");
    } else {
        home.allowed("notes");
        home.allowed("notes/2024/may");
    }
}

#[test]
fn a_bare_repository_is_refused() {
    let home = Home::new();
    fs::write(home.at("notes/2024/HEAD"), "ref: refs/heads/main\n").unwrap();
    home.dir("notes/2024/objects");
    home.allowed("notes");
    home.dir("notes/2024/refs");
    for path in ["notes", "notes/2024", "notes/2024/may"] {
        home.refused(path, "bare git repository");
    }
    let home = Home::new();
    fs::write(home.at("notes/HEAD"), "").unwrap();
    fs::write(home.at("notes/commondir"), "/x").unwrap();
    home.refused("notes/2024", "bare git repository");
}

#[test]
fn links_are_resolved_first() {
    let home = Home::new();
    home.dir("repo/.git");
    home.dir("repo/sub");
    symlink(home.at("repo"), home.at("into")).unwrap();
    home.refused("into", ".git");
    home.refused("into/sub", ".git");
    symlink(home.at("notes"), home.at("repo/out")).unwrap();
    assert_eq!(
        home.check("repo/out/2024").unwrap(),
        home.at("notes/2024"),
        "out of a repository"
    );
    // What a link below leads to is not the server's to write.
    symlink(home.at("repo"), home.at("notes/link")).unwrap();
    home.allowed("notes");
}

#[test]
fn a_stored_directory_that_has_become_a_link_is_refused() {
    let home = Home::new();
    let places = facts::places(&home.1);
    let stored = home.at("notes/2024");
    assert_eq!(
        check_stored(&stored, &places, &[]).unwrap().resolved,
        stored
    );
    fs::rename(home.at("notes"), home.at("moved")).unwrap();
    symlink("moved", home.at("notes")).unwrap();
    let said = check_stored(&stored, &places, &[]).unwrap_err().to_string();
    assert!(
        said.contains("become a link") && said.contains("moved/2024"),
        "{said}"
    );
    assert!(check(&stored, &home.1, &[]).is_ok());
}

#[test]
fn what_is_no_directory_is_unusable() {
    let home = Home::new();
    fs::write(home.at("file"), "").unwrap();
    mkfifo(&home.at("fifo"), Mode::from_bits_truncate(0o600)).unwrap();
    symlink("circle", home.at("circle")).unwrap();
    for path in ["gone", "file", "fifo", "file/x"] {
        assert!(
            matches!(home.check(path), Err(PlanError::DirUnusable { .. })),
            "{path}"
        );
    }
    home.refused("circle", "cannot be looked at");
}

#[test]
fn sensitive_places_are_refused_where_their_links_lead_too() {
    let home = Home::new();
    for path in [
        "",
        "..",
        ".supervisor",
        ".supervisor/home",
        ".ssh",
        ".config/autostart",
        ".claude",
        "project/.vscode",
        ".local/bin",
    ] {
        home.dir(path);
        home.refused(path, "");
    }
    home.dir("dotfiles/emacs/lisp");
    symlink("dotfiles/emacs", home.at(".emacs.d")).unwrap();
    home.refused("dotfiles/emacs/lisp", "plugins");
    home.refused("dotfiles", "plugins");
    for path in ["/", "/tmp", "/usr/share", "/etc", "/proc/self", "/dev/shm"] {
        assert!(
            matches!(
                check(Path::new(path), &home.1, &[]),
                Err(PlanError::DirRefused { .. })
            ),
            "{path}"
        );
    }
}

#[test]
fn the_installation_is_refused() {
    let home = Home::new();
    home.dir("tool/bin");
    home.dir("tool/data");
    let grant = |path: &str| Grant {
        path: home.at(path),
        rights: Rights::ReadExecute,
        reason: "on PATH".into(),
    };
    let check = |path: &str, installation: &[Grant]| check(&home.at(path), &home.1, installation);
    assert!(matches!(
        check("tool", &[grant("tool/bin")]),
        Err(PlanError::WritableProgram { .. })
    ));
    assert!(matches!(
        check("tool/bin", &[grant("tool/bin")]),
        Err(PlanError::WritableProgram { .. })
    ));
    assert!(matches!(
        check("tool/data", &[grant("tool")]),
        Err(PlanError::DirRefused { .. })
    ));
    assert!(check("tool/data", &[grant("tool/bin")]).is_ok());
}

#[test]
fn the_bounds_refuse() {
    let home = Home::new();
    let deep = "d/".repeat(DEPTH);
    home.dir(&format!("notes/{deep}"));
    home.allowed("notes");
    home.dir(&format!("notes/{deep}/d"));
    home.refused("notes", "directories deep");
    home.dir("crowded/inside");
    for number in 0..3 {
        fs::write(home.at(&format!("crowded/{number}")), "").unwrap();
    }
    let place = home.at("crowded");
    let missed = |entries| {
        let task = Task {
            obeyed: false,
            first: true,
            entries,
            until: None,
        };
        walk::look(&Held::open(&place).unwrap(), &place, task).missed
    };
    for most in [0, 3] {
        assert!(matches!(missed(most), Some(Missed::Entries(_))), "{most}");
    }
    assert!(missed(4).is_none());
}

#[test]
fn what_is_held_is_what_was_looked_at() {
    let home = Home::new();
    let held = Held::open(&home.at("notes/2024")).unwrap();
    fs::rename(home.at("notes/2024"), home.at("away")).unwrap();
    fs::create_dir(home.at("notes/2024")).unwrap();
    assert_eq!(held.place().unwrap(), home.at("away"));
    let open = held.open_inside(Path::new("")).unwrap().unwrap();
    assert!(open.stat(OsStr::new("may")).unwrap().is_some());
    assert!(stays(&home.at("notes/2024"), &held).is_err());
    // What lies above the directory held counts, not what lies above its former path.
    home.dir(".git");
    assert!(above(&home.at("notes/2024"), &held).is_err());
    // A link below that took a directory's place is not followed.
    symlink("/etc", home.at("away/link")).unwrap();
    assert!(held.open_inside(Path::new("link")).unwrap().is_none());
    symlink("/", home.at("link")).unwrap();
    assert!(Held::open(&home.at("link/etc")).is_err());
}

/// As an ordinary user; root lists everything.
#[test]
fn what_cannot_be_listed_is_refused() {
    if geteuid().is_root() {
        return;
    }
    let home = Home::new();
    for mode in [0o000, 0o300] {
        fs::set_permissions(home.at("notes/2024"), fs::Permissions::from_mode(mode)).unwrap();
        home.refused("notes", "cannot be listed");
        if mode != 0 {
            home.refused("notes/2024/may", "cannot be listed");
        }
    }
    fs::set_permissions(home.at("notes/2024"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn other_systems_are_named() {
    let home = Home::new();
    home.dir("notes/.hg");
    home.allowed("notes/2024");
    let found = other_marks(&home.at("notes/2024"));
    assert_eq!(
        found
            .iter()
            .filter(|path| path.starts_with(&home.1.home))
            .collect::<Vec<_>>(),
        [&home.at("notes/.hg")]
    );
}
