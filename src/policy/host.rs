//! Host names in entries and in URLs. Pure.
//!
//! A URL's host is read by the strictest grammar there is; what another parser could read as another
//! host is [`UrlHost::Doubtful`] and nobody's. Letter case and one trailing dot do not matter.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// `example.com`, or `*.example.com` for what lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    below: bool,
    name: String,
}

/// A word that is no host of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAHost {
    /// It has a scheme, a port, a path or a user.
    #[error("`host` is a name alone: no scheme, no port, no path, no user")]
    MoreThanAName,
    /// `*` stands elsewhere than as the first label.
    #[error("`*` stands for whole labels at the start alone: `*.example.com`")]
    Star,
    /// It is no host name or address.
    #[error("this is no host name: labels of letters, digits, `-` and `_`, or an address")]
    Name,
    /// `*.` before an address.
    #[error("nothing lies below an address")]
    BelowAddress,
}

/// The host that a URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlHost {
    /// One that every parser reads alike, in lower case.
    Plain(String),
    /// One with labels that are spelled in two ways (`xn--` or not ASCII), as it is spelled.
    Spelled(String),
    /// One that two parsers could read apart.
    Doubtful,
}

impl HostPattern {
    /// Whether a host is this one. What is covered by `*` is not spelled in the pattern, so that
    /// labels spelled in two ways do not match there; a doubtful host matches nothing.
    #[must_use]
    pub(crate) fn matches(&self, host: &UrlHost) -> bool {
        let (name, spelled) = match host {
            UrlHost::Plain(name) => (name, false),
            UrlHost::Spelled(name) => (name, true),
            UrlHost::Doubtful => return false,
        };
        if !self.below {
            return *name == self.name;
        }
        let covered = name
            .strip_suffix(&self.name)
            .and_then(|rest| rest.strip_suffix('.'));
        covered.is_some_and(|covered| !(spelled && covered.split('.').any(is_spelled_in_two_ways)))
    }

    /// Whether it covers more than one name.
    #[must_use]
    pub(crate) fn is_below(&self) -> bool {
        self.below
    }

    /// The name without `*.`.
    #[must_use]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.below { "*." } else { "" })?;
        f.write_str(&self.name)
    }
}

impl FromStr for HostPattern {
    type Err = NotAHost;

    fn from_str(word: &str) -> Result<Self, NotAHost> {
        let (below, rest) = match word.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        if rest.contains('*') {
            return Err(NotAHost::Star);
        }
        let address = rest.starts_with('[');
        if rest.contains(['/', '@', '?', '#', '\\']) || (rest.contains(':') && !address) {
            return Err(NotAHost::MoreThanAName);
        }
        match read_name(rest) {
            UrlHost::Plain(name) if below && is_address(&name) => Err(NotAHost::BelowAddress),
            UrlHost::Plain(name) | UrlHost::Spelled(name) => Ok(Self { below, name }),
            UrlHost::Doubtful => Err(NotAHost::Name),
        }
    }
}

/// The host of a URL. Doubtful: a backslash anywhere, a space or control, another scheme than http and
/// https or another form than `scheme://host`, an `@` before the path, a percent escape in the
/// host, an empty label, an address not in its plain form.
#[must_use]
pub(crate) fn of_url(url: &str) -> UrlHost {
    let odd = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    let Some((scheme, rest)) = url.split_once("://").filter(|_| !url.contains(odd)) else {
        return UrlHost::Doubtful;
    };
    let known = ["https", "http"];
    if !known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return UrlHost::Doubtful;
    }
    // Parsers of old took `http://a?@b` for a user `a?` at `b`.
    let before_path = rest.split('/').next().unwrap_or(rest);
    if before_path.contains('@') {
        return UrlHost::Doubtful;
    }
    let authority = before_path.split(['?', '#']).next().unwrap_or(before_path);
    match without_port(authority) {
        Some(host) => read_name(host),
        None => UrlHost::Doubtful,
    }
}

/// The host before a port; `None` where what follows is no port.
fn without_port(authority: &str) -> Option<&str> {
    let end = match authority.strip_prefix('[') {
        Some(_) => authority.find(']')?.checked_add(1)?,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at_checked(end)?;
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host)
}

/// A host name or address in its one form.
fn read_name(host: &str) -> UrlHost {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return match address.parse::<Ipv6Addr>() {
            // `::ffff:127.0.0.1` is 127.0.0.1 to some.
            Ok(address) if address.to_ipv4().is_none() || address.is_loopback() => {
                UrlHost::Plain(format!("[{address}]"))
            }
            _ => UrlHost::Doubtful,
        };
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c) || !c.is_ascii();
    let labels = || name.split('.');
    if name.len() > 253
        || !name
            .chars()
            .all(|c| sound(c) && !c.is_control() && !c.is_whitespace())
        || labels().any(|label| label.is_empty() || label.len() > 63)
    {
        return UrlHost::Doubtful;
    }
    if labels().any(is_spelled_in_two_ways) {
        return UrlHost::Spelled(name);
    }
    // `127.1`, `0x7f.0.0.1` and `2130706433` are addresses to some (URL Standard, 3.5).
    let last = labels().next_back().unwrap_or_default();
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    if numeric && name.parse::<Ipv4Addr>().is_err() {
        return UrlHost::Doubtful;
    }
    UrlHost::Plain(name)
}

fn is_spelled_in_two_ways(label: &str) -> bool {
    label.starts_with("xn--") || !label.is_ascii()
}

fn is_address(name: &str) -> bool {
    name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A host that is read in one way is what every reader of its parts would find.
        #[test]
        fn a_plain_host_stands_between_the_slashes(url in "(https?://)?[a-z@:%/.?#\\\\xn0-9 -]{0,24}|\\PC{0,40}") {
            if let UrlHost::Plain(host) = of_url(&url) {
                let rest = url.split_once("://").unwrap().1.to_ascii_lowercase();
                let authority = rest.split(['/', '?', '#', '\\']).next().unwrap();
                let after = authority.strip_prefix(host.as_str());
                prop_assert!(after.is_some(), "{}: {}", url, host);
                let after = after.unwrap();
                let port = after.strip_prefix('.').unwrap_or(after);
                let port = port.strip_prefix(':').unwrap_or(port);
                prop_assert!(port.bytes().all(|byte| byte.is_ascii_digit()), "{}: {}", url, host);
            }
        }

        /// What an entry may be written as reads back, and matches the URL of its own name.
        #[test]
        fn a_pattern_reads_back(word in "(\\*\\.)?[a-z0-9.-]{1,12}|\\PC{0,20}") {
            if let Ok(pattern) = word.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string().parse::<HostPattern>(), Ok(pattern.clone()));
                let url = format!("https://{}{}/", if pattern.below { "a." } else { "" }, pattern.name);
                prop_assert!(pattern.matches(&of_url(&url)), "{}", url);
            }
        }
    }

    fn matches(pattern: &str, url: &str) -> bool {
        pattern
            .parse::<HostPattern>()
            .unwrap()
            .matches(&of_url(url))
    }

    #[test]
    fn patterns_match_urls() {
        for (pattern, url, expected) in [
            ("example.com", "https://example.com/mcp", true),
            ("example.com", "http://EXAMPLE.com.:8443?x#y", true),
            ("Example.Com.", "https://example.com", true),
            ("example.com", "https://a.example.com/", false),
            ("*.example.com", "https://a.b.example.com/", true),
            ("*.example.com", "https://example.com/", false),
            ("*.example.com", "https://badexample.com/", false),
            ("*.example.com", "https://.example.com/", false),
            ("127.0.0.1", "http://127.0.0.1:80/", true),
            ("[::1]", "http://[0:0:0:0:0:0:0:1]/", true),
            (
                "xn--bcher-kva.example",
                "https://xn--bcher-kva.example/",
                true,
            ),
            ("bücher.example", "https://bücher.example/", true),
            ("bücher.example", "https://xn--bcher-kva.example/", false),
            ("*.example.com", "https://xn--bcher-kva.example.com/", false),
            (
                "*.xn--bcher-kva.example",
                "https://a.xn--bcher-kva.example/",
                true,
            ),
            ("example.com", "https://example.com/a%2fb@c:d", true),
        ] {
            assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn what_parsers_read_apart_is_doubtful() {
        for url in [
            "https://example.com\\@evil.example/",
            "https://example.com\\.evil.example/",
            "https://user@example.com/",
            "https://example.com:pw@evil.example/",
            "https://example.com?@evil.example/",
            "https://example.com#@evil.example/",
            "https://ex%61mple.com/",
            "https:/example.com/",
            "https:example.com",
            "//example.com/",
            "https:///example.com/",
            "https://exa mple.com/",
            "https://exa\tmple.com/",
            "ftp://example.com/",
            "https://example..com/",
            "https://example.com../",
            "https://example.com:80x/",
            "https://127.1/",
            "https://0x7f.0.0.1/",
            "https://2130706433/",
            "https://127.0.0.01/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fe80::1%25eth0]/",
            "https://[::1/",
            "https://",
            "",
        ] {
            assert_eq!(of_url(url), UrlHost::Doubtful, "{url}");
        }
    }

    #[test]
    fn what_is_no_host_of_an_entry() {
        for (word, why) in [
            ("https://example.com", NotAHost::MoreThanAName),
            ("example.com:443", NotAHost::MoreThanAName),
            ("example.com/mcp", NotAHost::MoreThanAName),
            ("me@example.com", NotAHost::MoreThanAName),
            ("*", NotAHost::Star),
            ("a.*.example.com", NotAHost::Star),
            ("*example.com", NotAHost::Star),
            ("*.*.example.com", NotAHost::Star),
            ("*.127.0.0.1", NotAHost::BelowAddress),
            ("", NotAHost::Name),
            ("*.", NotAHost::Name),
            ("exam ple.com", NotAHost::Name),
            ("%65xample.com", NotAHost::Name),
            ("127.1", NotAHost::Name),
        ] {
            assert_eq!(word.parse::<HostPattern>(), Err(why), "{word}");
        }
    }
}
