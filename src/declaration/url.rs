//! The URL of a server elsewhere: one check, for `add` and for `mcp.json`. Pure.

/// Why a URL is refused. The text never repeats it: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Neither `https://` nor `http://`.
    #[error("a URL here begins with https:// or http://")]
    Scheme,
    /// A user or password before the host.
    #[error(
        "a URL here holds no user and no password (a token goes into --header or --bearer-env)"
    )]
    Credentials,
    /// No host, or one with characters a host has not.
    #[error("the URL names no host")]
    Host,
    /// Spaces, controls, backslashes, or characters that are not ASCII.
    #[error(
        "a URL here has printable ASCII characters only, and no space, quote, angle bracket or backslash"
    )]
    Character,
    /// Longer than any URL is.
    #[error("a URL here is at most 2048 characters long")]
    Long,
}

/// Checks that `url` is an absolute http or https URL without user and password.
///
/// # Errors
/// What it is not.
pub(crate) fn check(url: &str) -> Result<(), UrlError> {
    if url.len() > 2048 {
        return Err(UrlError::Long);
    }
    if !url
        .chars()
        .all(|c| c.is_ascii_graphic() && !r#"\"'<>`"#.contains(c))
    {
        return Err(UrlError::Character);
    }
    let (scheme, rest) = url.split_once("://").ok_or(UrlError::Scheme)?;
    if !["https", "http"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err(UrlError::Scheme);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    if is_authority(authority) {
        Ok(())
    } else {
        Err(UrlError::Host)
    }
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if !address.is_empty() => {
                let address_only = address
                    .chars()
                    .all(|c| c.is_ascii_hexdigit() || ":.".contains(c));
                return address_only
                    && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
            }
            _ => return false,
        },
        None => authority
            .split_once(':')
            .map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let named = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    !host.is_empty() && host.chars().all(named) && port.is_none_or(is_port)
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        for good in [
            "https://mcp.example.com/mcp",
            "http://127.0.0.1:8080",
            "HTTPS://x.example/?a=b@c",
            "http://[::1]:80/a",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("https://me:key@mcp.example.com/", UrlError::Credentials),
            ("https://@mcp.example.com/", UrlError::Credentials),
            (
                "https://mcp.example.com\\@example.org/",
                UrlError::Character,
            ),
            ("file:///etc/passwd", UrlError::Scheme),
            ("example.com/mcp", UrlError::Scheme),
            ("", UrlError::Scheme),
            ("javascript:alert(1)", UrlError::Scheme),
            ("https:///x", UrlError::Host),
            ("https://exa mple.com/", UrlError::Character),
            ("https://example.com/\nX: y", UrlError::Character),
            ("https://example.com:0/", UrlError::Host),
            ("https://a%40b/", UrlError::Host),
            ("https://[]/", UrlError::Host),
        ] {
            assert_eq!(check(bad), Err(why), "{bad:?}");
        }
    }
}
