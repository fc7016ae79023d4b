//! The file of an approved surface, `surface/<digest>.json`. Pure.
//!
//! A file that does not hash to the surface digest of its line, item by item and as a whole,
//! approves nothing.

use serde::{Deserialize, Serialize};

use crate::declaration::{Digest, SurfaceDigest};
use crate::surface::Surface;
use crate::surface::canonical::Written;

const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SurfaceFile {
    version: u64,
    digest: Digest,
    surface_digest: SurfaceDigest,
    items: Vec<Written>,
}

/// The text of the file.
///
/// # Errors
/// None in practice.
pub(super) fn to_text(digest: &Digest, surface: &Surface) -> Result<String, serde_json::Error> {
    let file = SurfaceFile {
        version: VERSION,
        digest: digest.clone(),
        surface_digest: surface.digest(),
        items: surface.iter().map(Written::from).collect(),
    };
    // Schemas are deep: laid out, a large surface would be several times its size.
    serde_json::to_string(&file).map(|text| text + "\n")
}

/// The surface that a text holds, if it is the one of these digests and hashes to them.
pub(super) fn parse(text: &str, digest: &Digest, approved: &SurfaceDigest) -> Option<Surface> {
    let file: SurfaceFile = serde_json::from_str(text).ok()?;
    let known = file.version == VERSION && file.digest == *digest;
    let surface: Surface = file
        .items
        .into_iter()
        .map(Written::read)
        .collect::<Option<_>>()?;
    (known && file.surface_digest == *approved && surface.digest() == *approved).then_some(surface)
}
