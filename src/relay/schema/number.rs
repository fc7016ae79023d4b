//! Numbers of JSON by their decimal digits: exact where a binary fraction is not.
//!
//! Pure. `0.3` is a multiple of `0.1` here, and two integers beyond 2^53 are not one.

use std::cmp::Ordering;
use std::fmt;

/// A number: `digits` times ten to the `exponent`, without a zero at the end of the digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    digits: i128,
    exponent: i32,
    /// The same, as far as a double is.
    near: f64,
}

impl Number {
    const ONE: Self = Self {
        digits: 1,
        exponent: 0,
        near: 1.0,
    };

    /// A number as it was read; `None` beyond what fits, which nothing that was read is.
    pub(super) fn of(number: &serde_json::Number) -> Option<Self> {
        let text = number.to_string();
        let (body, exponent) = match text.split_once(['e', 'E']) {
            Some((body, exponent)) => (body, exponent.parse().ok()?),
            None => (text.as_str(), 0_i32),
        };
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        while digits != 0 && digits.checked_rem(10) == Some(0) {
            digits = digits.checked_div(10)?;
            exponent = exponent.checked_add(1)?;
        }
        if digits == 0 {
            exponent = 0;
        }
        let near = number.as_f64()?;
        Some(Self {
            digits,
            exponent,
            near,
        })
    }

    /// Whether it has no fraction.
    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether it is above zero.
    pub(super) fn is_positive(&self) -> bool {
        self.digits > 0
    }

    /// How the two compare.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match self.aligned(other) {
            Some((one, two)) => one.cmp(&two),
            // So far apart that a double tells them.
            None => self.near.total_cmp(&other.near),
        }
    }

    /// Whether it is a multiple; `None` where their digits lie too far apart to say.
    pub(super) fn is_multiple_of(&self, other: &Self) -> Option<bool> {
        if self.digits == 0 {
            return Some(true);
        }
        let (one, two) = self.aligned(other)?;
        Some(one.checked_rem(two)? == 0)
    }

    /// Both by the lesser of the two exponents.
    fn aligned(&self, other: &Self) -> Option<(i128, i128)> {
        let least = self.exponent.min(other.exponent);
        let digits = |number: &Self| {
            let places = u32::try_from(number.exponent.checked_sub(least)?).ok()?;
            number.digits.checked_mul(10_i128.checked_pow(places)?)
        };
        Some((digits(self)?, digits(other)?))
    }
}

/// One text for each number, however it was written.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.aligned(&Self::ONE), self.exponent) {
            (Some((whole, _)), 0..) => write!(f, "{whole}"),
            (_, -20..0) => write!(f, "{}", self.near),
            (_, exponent) => write!(f, "{}e{exponent}", self.digits),
        }
    }
}
