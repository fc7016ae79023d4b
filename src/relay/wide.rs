//! Searches of many bytes together: the compiler makes few comparisons of a piece, by vector
//! registers, where what the standard library has goes by words. Pure.

/// So many bytes of a short text are looked at together.
const WIDE: usize = 16;
/// So many of a long one.
const WIDEST: usize = 64;

/// How many bytes come before the first that `is`; all, where none is.
pub(super) fn before(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let mut at = 0;
    // A short text is not looked at by the widest pieces first.
    if bytes
        .first_chunk::<WIDE>()
        .is_some_and(|piece| has_none(piece, &is))
    {
        at = by::<WIDEST>(bytes, &is);
        at += by::<WIDE>(bytes.get(at..).unwrap_or_default(), &is);
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.iter().position(|byte| is(*byte));
    at + found.unwrap_or(rest.len())
}

/// The place of the first of a byte.
pub(super) fn position(byte: u8, bytes: &[u8]) -> Option<usize> {
    let at = before(bytes, |other| other == byte);
    (at < bytes.len()).then_some(at)
}

/// How many are in the whole pieces from the first on of which none is.
fn by<const N: usize>(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let (pieces, _) = bytes.as_chunks::<N>();
    let passed = pieces.iter().take_while(|piece| has_none(piece, &is));
    passed.count() * N
}

fn has_none<const N: usize>(piece: &[u8; N], is: impl Fn(u8) -> bool) -> bool {
    // Every byte is looked at: to stop at the first found is what keeps it from being one comparison.
    !piece.iter().fold(false, |any, byte| any | is(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_the_first_wherever_that_stands(
            before_it in 0_usize..300,
            after_it in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..100),
        ) {
            let mut bytes = vec![b'x'; before_it];
            bytes.extend(after_it);
            let first = bytes.iter().position(|byte| *byte == b'\n');
            prop_assert_eq!(before(&bytes, |byte| byte == b'\n'), first.unwrap_or(bytes.len()));
            prop_assert_eq!(position(b'\n', &bytes), first);
        }
    }
}
