//! What the shim says, and whether it is all that the plan asks for.

use super::{Explanation, LaunchError};
use crate::confine::Mechanism;
use crate::confine::spec::{Enforced, Report};

/// One of its reports.
pub(super) fn understood(line: &[u8]) -> Result<Report, LaunchError> {
    serde_json::from_slice(line).map_err(|_| {
        LaunchError::Unconfirmed("the confining process cannot be understood".to_owned())
    })
}

/// It ended without one.
pub(super) fn wordless() -> LaunchError {
    LaunchError::Unconfirmed("the confining process ended without a word".to_owned())
}

/// Its report is not the one that is due.
pub(super) fn unexpected(report: Report) -> LaunchError {
    match report {
        Report::Failed(failed) => LaunchError::Step { failed },
        _ => LaunchError::Unconfirmed("the confining process is out of step".to_owned()),
    }
}

/// Whether what the shim said, with the group that it was moved to, is all that the plan asks for.
pub(super) fn judge(
    explanation: &Explanation,
    reports: &[u8],
    grouped: bool,
) -> Result<Enforced, LaunchError> {
    let mut enforced = None;
    for line in reports
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match understood(line)? {
            Report::Enforced(report) => enforced = Some(report),
            other => return Err(unexpected(other)),
        }
    }
    let mut enforced = enforced.ok_or_else(wordless)?;
    // Made, entered and read back from outside.
    let grouped = grouped.then_some(Mechanism::Cgroup);
    enforced.mechanisms.extend(grouped);
    let missing: Vec<String> = explanation
        .confinement
        .mechanisms
        .iter()
        // What the supervisor itself does is not the shim's to confirm.
        .filter(|mechanism| !mechanism.is_supervisors() && !enforced.mechanisms.contains(mechanism))
        .map(|mechanism| format!("{mechanism:?}"))
        .collect();
    if missing.is_empty() {
        Ok(enforced)
    } else {
        Err(LaunchError::Unconfirmed(format!(
            "not in force: {}",
            missing.join(", ")
        )))
    }
}
