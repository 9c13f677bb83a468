//! What the documents point to exists.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The documents: `*.md` at the root and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.to_owned(), root.join("docs")].into_iter().filter(|folder| folder.is_dir());
    let entries = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The links of a document that lead to a file: not to the web, to a heading, or to an item of the crate.
fn file_links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.contains("::"));
    files.filter_map(|target| target.split(['#', ' ']).next()).filter(|path| !path.is_empty()).collect()
}

#[test]
fn every_link_to_a_file_finds_it() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap();
        let broken: Vec<&str> =
            file_links(&text).into_iter().filter(|path| !folder.join(path).exists()).collect();
        assert!(broken.is_empty(), "{} points to what is not there: {broken:?}", document.display());
    }
}

#[test]
fn links_to_files_are_told_from_others() {
    let text =
        "[a](docs/a.md#part) [b](https://b.example) [c](#part) [d](crate::Config) ![e](e.svg \"title\")";
    assert_eq!(file_links(text), ["docs/a.md", "e.svg"]);
}
