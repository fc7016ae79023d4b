//! A set of rights, in one word: a ruleset has one for each of some fifty paths.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::landlock::Right;

/// Rights, each once. Written as the list of their names, in the order of [`Right::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<Right>")]
pub struct RightSet(u32);

impl RightSet {
    /// Whether a right is among them.
    #[must_use]
    pub const fn contains(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// The rights, in the order of [`Right::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Right> {
        let rights = Right::ALL.into_iter();
        rights.filter(move |right| self.contains(*right))
    }
}

impl FromIterator<Right> for RightSet {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        let bits = rights.into_iter().map(Right::bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

impl fmt::Debug for RightSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for RightSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl From<Vec<Right>> for RightSet {
    fn from(rights: Vec<Right>) -> Self {
        rights.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_has_a_place_of_its_own_and_is_written_by_its_name() {
        let all: RightSet = Right::ALL.into_iter().collect();
        assert_eq!(all.0.count_ones(), u32::try_from(Right::ALL.len()).unwrap());
        assert_eq!(all.iter().collect::<Vec<_>>(), Right::ALL);
        let some: RightSet = [Right::ReadDir, Right::Execute].into_iter().collect();
        assert!(some.contains(Right::Execute) && !some.contains(Right::WriteFile));
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, r#"["execute","read_dir"]"#);
        assert_eq!(serde_json::from_str::<RightSet>(&text).unwrap(), some);
        for bad in [r#"["fly"]"#, r#""execute""#, "3"] {
            assert!(serde_json::from_str::<RightSet>(bad).is_err(), "{bad}");
        }
    }
}
