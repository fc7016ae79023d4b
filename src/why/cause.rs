//! Why a start failed, by one of a few causes with a stable code each. Pure.
//!
//! Read off what the server said beside the protocol, for which [`Said`] has the words of many
//! programs; what is told of it is ours, so that nothing a server writes reaches a host by this
//! way. `docs/troubleshooting.md` has a part for each code.

use super::said::{STDOUT, Said};

/// Why a server did not come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A variable that it wants is not there.
    MissingVariable,
    /// It looks for files of the person's home.
    WantsHome,
    /// It wants a service by its local socket.
    WantsSocket,
    /// What it runs could not be fetched.
    FetchFailed,
    /// It does not trust who signed a certificate.
    TlsRoots,
    /// Native code did not build.
    NativeBuild,
    /// It ended before it answered, and nothing says why.
    ExitBeforeHandshake,
    /// It frames messages by `Content-Length`, as language servers do.
    ContentLength,
    /// What it writes is no MCP.
    NotMcp,
}

/// Every cause, in the order in which they are looked for.
pub(crate) const ALL: [Cause; 9] = [
    Cause::ContentLength,
    Cause::TlsRoots,
    Cause::NativeBuild,
    Cause::FetchFailed,
    Cause::MissingVariable,
    Cause::WantsSocket,
    Cause::WantsHome,
    Cause::NotMcp,
    Cause::ExitBeforeHandshake,
];

/// What programs say that did not get what they fetch.
const FETCH: [&str; 22] = [
    "npm error code e",
    "npm err! code e",
    "npm error 404",
    "npm err! 404",
    "npm error network",
    "err_pnpm_fetch",
    "err_pnpm_no_matching_version",
    "err_pnpm_meta_fetch",
    "failed to fetch",
    "no solution found when resolving",
    "was not found in the package registry",
    "was not found in the cache",
    "network connectivity is disabled",
    "no matching distribution found",
    "could not find a version that satisfies",
    "failed to resolve dependency",
    "request failed after",
    "error sending request for url",
    "failed to download",
    "could not fetch",
    "package not found",
    "no versions available",
];

/// What builds of native code say that fail.
const BUILD: [&str; 10] = [
    "failed building wheel",
    "failed to build",
    "build backend returned an error",
    "error: command 'gcc' failed",
    "error: command 'cc' failed",
    "error: linker `cc` not found",
    "error: could not compile",
    "prebuild-install warn",
    "node-pre-gyp err",
    "make: *** ",
];

/// What names a service of the machine or of the person's session.
const SOCKET: [&str; 14] = [
    "docker daemon",
    "docker.sock",
    "podman.sock",
    "containerd.sock",
    "dbus",
    "d-bus",
    "ssh-agent",
    "ssh_auth_sock",
    "gpg-agent",
    "cannot open display",
    "missing x server",
    "wayland",
    "pulseaudio",
    "unix socket",
];

/// What names a place where programs keep their settings in a home.
const HOME: [&str; 12] = [
    "/.config/",
    "~/.",
    "$home",
    "/.aws/",
    "/.kube/",
    "/.ssh/",
    "/.npmrc",
    "/.netrc",
    "/.gitconfig",
    "/.docker/",
    "/.azure/",
    "/.local/share/",
];

/// What says of a file that it is not there.
const ABSENT: [&str; 9] = [
    "no such file",
    "enoent",
    "not found",
    "does not exist",
    "doesn't exist",
    "missing",
    "cannot find",
    "could not find",
    "not logged in",
];

/// Whether a line is the header by which language servers frame their messages.
#[must_use]
pub(crate) fn is_header(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("content-length")
}

impl Cause {
    /// The cause that shows in the lines of a server that ended before it answered, or that
    /// answered with what cannot be read; standard output that is no message is among them.
    #[must_use]
    pub(crate) fn of(lines: &[String]) -> Self {
        let said = Said::new(lines);
        let text: Vec<String> = lines.iter().map(|line| line.to_lowercase()).collect();
        let has = |words: &[&str]| {
            text.iter()
                .any(|line| words.iter().any(|word| line.contains(word)))
        };
        let both = |line: &String, words: &[&str], more: &[&str]| {
            words.iter().any(|word| line.contains(word))
                && more.iter().any(|word| line.contains(word))
        };
        let shows = |cause: &Self| match cause {
            Self::ContentLength => {
                let header = |line: &String| line.strip_prefix(STDOUT).is_some_and(is_header);
                lines.iter().any(header)
            }
            Self::TlsRoots => said.distrusts(),
            Self::NativeBuild => said.header().is_some() || said.gyp() || has(&BUILD),
            Self::FetchFailed => has(&FETCH),
            Self::MissingVariable => said.lacks_a_variable() || !said.variables().is_empty(),
            Self::WantsSocket => has(&SOCKET),
            Self::WantsHome => text.iter().any(|line| both(line, &HOME, &ABSENT)),
            Self::NotMcp => said.junk() > 0,
            Self::ExitBeforeHandshake => true,
        };
        ALL.into_iter()
            .find(shows)
            .unwrap_or(Self::ExitBeforeHandshake)
    }

    /// The stable code.
    #[must_use]
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::MissingVariable => "missing-variable",
            Self::WantsHome => "wants-home",
            Self::WantsSocket => "wants-socket",
            Self::FetchFailed => "fetch-failed",
            Self::TlsRoots => "tls-roots",
            Self::NativeBuild => "native-build",
            Self::ExitBeforeHandshake => "exit-before-handshake",
            Self::ContentLength => "content-length",
            Self::NotMcp => "not-mcp",
        }
    }

    /// What it is, after `the server …: `.
    #[must_use]
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::MissingVariable => {
                "it says that a variable is missing, which it gets by -e alone"
            }
            Self::WantsHome => "it looks for files of your home, which it does not see",
            Self::WantsSocket => {
                "it wants a service of this machine, whose socket it does not reach"
            }
            Self::FetchFailed => "what it runs could not be fetched",
            Self::TlsRoots => "it does not trust who signed a certificate",
            Self::NativeBuild => "native code that it needs did not build",
            Self::ExitBeforeHandshake => "it does not say why in words that are known",
            Self::ContentLength => {
                "it frames its messages by Content-Length, as language servers do: that is not MCP"
            }
            Self::NotMcp => "what it writes to its standard output is no MCP",
        }
    }

    /// Whether what it runs may not have been fetched whole.
    #[must_use]
    pub(crate) const fn is_of_fetching(self) -> bool {
        matches!(self, Self::FetchFailed | Self::TlsRoots | Self::NativeBuild)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_and_what_it_comes_from() {
        for (text, cause) in [
            (
                "Error: BRAVE_API_KEY environment variable is required",
                Cause::MissingVariable,
            ),
            ("KeyError: 'API_TOKEN'", Cause::MissingVariable),
            (
                "called `Result::unwrap()` on an `Err` value: NotPresent",
                Cause::MissingVariable,
            ),
            (
                "npm error code E404\nnpm error 404 Not Found - GET https://r/x",
                Cause::FetchFailed,
            ),
            ("npm ERR! code ENOTFOUND", Cause::FetchFailed),
            ("npm error code SELF_SIGNED_CERT_IN_CHAIN", Cause::TlsRoots),
            (
                "error: Failed to fetch: `https://index.example/simple/x/`\n  Caused by: dns error",
                Cause::FetchFailed,
            ),
            (
                "error: Failed to fetch: `x`\n Caused by: invalid peer certificate: UnknownIssuer",
                Cause::TlsRoots,
            ),
            (
                "  × No solution found when resolving tool dependencies:",
                Cause::FetchFailed,
            ),
            ("gyp ERR! build error", Cause::NativeBuild),
            (
                "x.c:1:10: fatal error: Python.h: No such file or directory",
                Cause::NativeBuild,
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock",
                Cause::WantsSocket,
            ),
            (
                "Error: ENOENT: no such file or directory, open '/h/.config/x/token.json'",
                Cause::WantsHome,
            ),
            (
                "could not find credentials in ~/.aws/credentials",
                Cause::WantsHome,
            ),
            ("(stdout) Content-Length: 52", Cause::ContentLength),
            ("(stdout) Welcome to my program!", Cause::NotMcp),
            ("Segmentation fault", Cause::ExitBeforeHandshake),
            ("", Cause::ExitBeforeHandshake),
        ] {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(Cause::of(&lines), cause, "{text}");
        }
    }

    #[test]
    fn each_has_a_code_and_a_part_of_the_guide() {
        let guide = include_str!("../../docs/troubleshooting.md");
        for cause in ALL {
            assert!(
                guide.contains(&format!("## `{}`", cause.code())),
                "{cause:?}"
            );
            assert!(guide.contains(cause.text()), "{cause:?}");
        }
    }
}
