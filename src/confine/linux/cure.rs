//! What would let this machine make namespaces, said as commands for its administrator.
//!
//! Asked only where they were refused; what refused is looked for in the order of how often it is
//! the reason.
#![expect(clippy::disallowed_methods, reason = "reads the kernel's settings")]

use std::fs;
use std::path::Path;

/// The remedy for this machine, made once: commands, or a sentence where there is none.
#[must_use]
pub fn cure() -> String {
    let setting = |name: &str| {
        let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let program = fs::read_link("/proc/self/exe").ok();
    let program = program.as_deref().and_then(Path::to_str);
    remedy(
        &Settings {
            apparmor: setting("kernel/apparmor_restrict_unprivileged_userns"),
            count: setting("user/max_user_namespaces"),
            debian: setting("kernel/unprivileged_userns_clone"),
            filtered: filtered(),
            user_namespaces: Path::new("/proc/self/ns/user").exists(),
        },
        program.unwrap_or("/usr/local/bin/supervisor"),
    )
}

/// What the kernel says of itself.
struct Settings {
    /// Ubuntu's restriction by AppArmor (23.10 and later).
    apparmor: Option<u64>,
    /// How many user namespaces there may be.
    count: Option<u64>,
    /// Debian's switch for ordinary users.
    debian: Option<u64>,
    /// Whether a system-call filter is in force on this very process.
    filtered: bool,
    /// Whether the kernel has them at all.
    user_namespaces: bool,
}

fn filtered() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|text| {
        text.lines().any(|line| {
            line.strip_prefix("Seccomp:")
                .is_some_and(|mode| mode.trim() == "2")
        })
    })
}

fn remedy(settings: &Settings, program: &str) -> String {
    if !settings.user_namespaces {
        return "run a kernel built with CONFIG_USER_NS".to_owned();
    }
    if settings.count == Some(0) {
        return lasting("user.max_user_namespaces", 15_000);
    }
    if settings.debian == Some(0) {
        return lasting("kernel.unprivileged_userns_clone", 1);
    }
    if settings.apparmor == Some(1) {
        return format!(
            "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile supervisor \"{program}\" flags=(unconfined) {{\\n  userns,\\n}}\\n' | sudo tee /etc/apparmor.d/supervisor && sudo apparmor_parser -r /etc/apparmor.d/supervisor"
        );
    }
    if settings.filtered {
        return "start this container or service with a system-call filter that lets unshare, mount, umount2 and pivot_root pass".to_owned();
    }
    "ask the administrator of this machine which security module refuses user namespaces".to_owned()
}

/// A setting made now and at each start of the machine.
fn lasting(name: &str, value: u64) -> String {
    format!(
        "echo {name}={value} | sudo tee /etc/sysctl.d/60-supervisor.conf && sudo sysctl --system"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Settings = Settings {
        apparmor: None,
        count: Some(100),
        debian: None,
        filtered: false,
        user_namespaces: true,
    };

    #[test]
    fn each_reason_has_its_remedy() {
        for (settings, word) in [
            (
                Settings {
                    user_namespaces: false,
                    ..NOTHING
                },
                "CONFIG_USER_NS",
            ),
            (
                Settings {
                    count: Some(0),
                    ..NOTHING
                },
                "user.max_user_namespaces=15000",
            ),
            (
                Settings {
                    debian: Some(0),
                    ..NOTHING
                },
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                Settings {
                    apparmor: Some(1),
                    ..NOTHING
                },
                "profile supervisor \"/opt/s\"",
            ),
            (
                Settings {
                    filtered: true,
                    ..NOTHING
                },
                "unshare",
            ),
            (NOTHING, "administrator"),
        ] {
            let said = remedy(&settings, "/opt/s");
            assert!(said.contains(word), "{said}");
            assert!(
                !said.contains('\n'),
                "a command to copy stands on one line: {said}"
            );
        }
    }
}
