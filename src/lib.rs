//! Placeholder until the rooms are filled.
