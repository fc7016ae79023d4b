//! Short texts that the kernel makes when they are read (`proc(5)`, `cgroups(7)`).
#![expect(clippy::disallowed_methods, reason = "reads what the kernel says")]

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Bytes that are asked for at a time, as many as the kernel puts in one piece.
const PIECE: usize = 4 << 10;

/// A text, whole. Such a file tells no size, and who asks for one reads it in pieces that grow
/// from a few bytes.
///
/// # Errors
/// What the system says; it is no text.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut bytes = Vec::new();
    bytes_of(path, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The bytes of a file, in place of what stood there.
///
/// # Errors
/// What the system says.
pub fn bytes_of(path: impl AsRef<Path>, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let mut file = File::open(path)?;
    let mut piece = [0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => bytes.extend(piece.iter().take(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_longer_than_a_piece_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            std::fs::write(&path, "x".repeat(length)).unwrap();
            assert_eq!(text(&path).unwrap().len(), length);
        }
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(text(&path).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(
            text(folder.path().join("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        let mut kept = b"before".to_vec();
        bytes_of(&path, &mut kept).unwrap();
        assert_eq!(kept, [0xff]);
        assert!(text("/proc/self/status").unwrap().ends_with('\n'));
    }
}
