//! URI templates, as far as a URI is told to be of one. Pure.

/// Whether a URI may be one of a template: what stands outside its braces stands in the URI, in
/// that order. What stands in braces may be anything, so a URI is rather of too many templates
/// than of too few.
pub(super) fn is_of(uri: &str, template: &str) -> bool {
    let mut parts = template.split('{').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('}').map_or("", |(_, after)| after),
    });
    let Some(mut rest) = parts.next().and_then(|head| uri.strip_prefix(head)) else {
        return false;
    };
    let rest_of: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest_of.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_of_templates() {
        for (uri, template, of) in [
            ("file:///a/b", "file:///{path}", true),
            ("file:///", "file:///{+path}", true),
            ("db://t/7/rows", "db://{table}/{id}/rows", true),
            ("db://t/7/columns", "db://{table}/{id}/rows", false),
            ("http://e/x", "file:///{path}", false),
            ("a://b", "a://b", true),
            ("a://bc", "a://b", false),
            ("a://b?q=1", "a://b{?q}", true),
            ("anything", "{+all}", true),
        ] {
            assert_eq!(is_of(uri, template), of, "{uri} {template}");
        }
    }
}
