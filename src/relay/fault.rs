//! What a line or a message can be wrong in.
//!
//! Pure: the words of the record.

/// What can be wrong with a line; each is told once and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Junk,
    Dropped,
    LongFromServer,
    LongFromHost,
    HostGarbage,
    HostAnswer,
    TooMany,
    ServerRequest,
    Unwanted,
}

impl Fault {
    /// The word of the record.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Junk => "junk",
            Self::Dropped => "answer-dropped",
            Self::LongFromServer => "message-too-long",
            Self::LongFromHost => "host-message-too-long",
            Self::HostGarbage => "host-garbage",
            Self::HostAnswer => "host-answer-dropped",
            Self::TooMany => "too-many-requests",
            Self::ServerRequest => "server-request",
            Self::Unwanted => "request-refused",
        }
    }
}
