//! The recommendation on the page about tuning: a file that `leasehold tune recommend` has made, as it is now.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use actix_web::web::block;
use leasehold::text::one_line;
use serde::Serialize;

use super::model::{millis, shown};
use crate::seconds;

/// The largest part of the file that is shown, in bytes.
const LARGEST: u64 = 64 * 1024;
/// The longest line, in characters.
const LONGEST: usize = 500;

/// A recommendation, as its file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RecommendationView {
    pub(crate) text: String,
    /// The time since it was written, by the clock of this machine; `None` if that is not known.
    #[serde(rename = "written_seconds_ago", serialize_with = "seconds::of_known_millis")]
    pub(crate) written_ms_ago: Option<u64>,
    /// The reason why it is not shown, or not all of it.
    pub(crate) trouble: Option<String>,
}

/// Reads the recommendation.
pub(crate) async fn read(file: PathBuf) -> RecommendationView {
    match block(move || RecommendationView::read(&file)).await {
        Ok(Ok(view)) => view,
        Ok(Err(error)) => RecommendationView::unread(&error),
        Err(error) => RecommendationView::unread(&error),
    }
}

impl RecommendationView {
    fn read(file: &Path) -> io::Result<Self> {
        // To open a pipe waits for a writer.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        let length = File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)? as u64;
        bytes.truncate(LARGEST as usize);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().map(|line| shown(line, LONGEST)).collect();
        let written = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        Ok(Self {
            text: lines.join("\n"),
            written_ms_ago: written.map(millis),
            trouble: (length > LARGEST).then(|| format!("only the first {LARGEST} bytes are shown")),
        })
    }

    fn unread(error: &dyn std::error::Error) -> Self {
        let trouble = format!("the file of the recommendation cannot be read: {}", one_line(error));
        Self { trouble: Some(trouble), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_as_it_is_without_what_a_browser_or_a_terminal_obeys() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("found.toml");
        std::fs::write(&file, b"[wait]\ntimeout = \"2s\"\n# \x1b[31mred\xff").unwrap();
        let view = RecommendationView::read(&file).unwrap();
        assert_eq!(view.text, "[wait]\ntimeout = \"2s\"\n# \\u{1b}[31mred\u{fffd}");
        assert!(view.trouble.is_none() && view.written_ms_ago.is_some_and(|ago| ago < 600_000), "{view:?}");
    }

    #[test]
    fn what_is_too_large_is_cut_and_what_is_no_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("large");
        std::fs::write(&file, "a line\n".repeat(20_000)).unwrap();
        let view = RecommendationView::read(&file).unwrap();
        assert!(view.text.len() <= LARGEST as usize && view.trouble.is_some(), "{:?}", view.trouble);
        assert!(RecommendationView::read(folder.path()).is_err());
        assert!(RecommendationView::read(&folder.path().join("missing")).is_err());
    }
}
