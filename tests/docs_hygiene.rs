//! What the documents point to exists, and their tables have all that the code has.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The documents: `*.md` at the root and in `docs/`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
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

/// The text of a file of this package.
fn text_of(path: &str) -> String {
    fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)).unwrap()
}

/// The words in code marks that open the rows of the table below a heading.
fn first_cells(text: &str, heading: &str) -> BTreeSet<String> {
    let (_, below) = text.split_once(heading).unwrap_or_else(|| panic!("no heading {heading:?}"));
    let section = below.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.map(str::to_owned).collect()
}

#[test]
fn the_table_of_features_has_those_of_the_package() {
    let package: toml::Table = text_of("Cargo.toml").parse().unwrap();
    let features = package["features"].as_table().unwrap().keys().filter(|name| *name != "default");
    let told = first_cells(&text_of("docs/configuration.md"), "## Cargo features");
    assert_eq!(told, features.cloned().collect(), "docs/configuration.md, Cargo.toml");
}

/// The types of a file that are messages: the next one after each `#[rtype(…)]`.
fn messages(text: &str) -> impl Iterator<Item = String> {
    let derived = text.split("#[rtype(").skip(1).filter_map(|rest| {
        let (before, name) = rest.split_once("struct ")?;
        before.ends_with("pub ").then_some(name)
    });
    let by_hand = text.split("impl Message for ").skip(1);
    derived.chain(by_hand).map(|rest| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        rest.chars().take_while(|&c| is_of_name(c)).collect()
    })
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn the_page_of_requests_names_every_message() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (page, library) = (text_of("docs/configuration.md"), text_of("src/lib.rs"));
    // What is hidden is at the end.
    let public = library.split("#[doc(hidden)]").next().unwrap();
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_owned).collect()
    };
    let (told, public) = (words(&page), words(public));
    let known: BTreeSet<String> = ["request", "lease"]
        .iter()
        .flat_map(|room| files_below(&root.join("src").join(room)))
        .flat_map(|file| messages(&fs::read_to_string(file).unwrap()).collect::<Vec<_>>())
        .filter(|name| public.contains(name))
        .collect();
    assert!(known.contains("Ready") && known.contains("Shutdown"), "{known:?}");
    let missing: Vec<&String> = known.difference(&told).collect();
    assert!(missing.is_empty(), "docs/configuration.md does not name {missing:?}");
}

#[test]
fn the_front_page_of_the_documentation_leads_to_no_file_of_the_repository() {
    let text = text_of("src/lib.rs");
    let page: String = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    assert!(page.len() > 1_000, "the page is in the comment at the top of src/lib.rs");
    assert_eq!(file_links(&page), <[&str; 0]>::default(), "outside of the repository they lead nowhere");
    let included = text
        .lines()
        .take_while(|line| !line.starts_with("mod "))
        .any(|line| line.starts_with("#![") && line.contains("include_str!"));
    assert!(!included, "a file with links of the repository is part of the page");
}

/// The modules of a program of tests that are no suites: what its suites share.
const SHARED: [&str; 1] = ["load"];

/// Returns the suites of a program of tests, by its text.
fn suites(program: &str) -> BTreeSet<String> {
    let modules = program.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    modules.filter(|name| !SHARED.contains(name)).map(str::to_owned).collect()
}

#[test]
fn the_tables_of_tests_have_every_program_with_every_suite() {
    let (page, package) = (text_of("tests/README.md"), text_of("tests/Cargo.toml"));
    let package: toml::Table = package.parse().unwrap();
    let programs = package["test"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap());
    let programs: BTreeSet<String> = programs.map(str::to_owned).collect();
    assert_eq!(first_cells(&page, "| Program |"), programs, "tests/README.md, tests/Cargo.toml");
    for program in programs {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{program}`"))).unwrap();
        let told = row.split(" | ").nth(1).unwrap().split('`').skip(1).step_by(2);
        let told: BTreeSet<String> = told.map(str::to_owned).collect();
        let suites = suites(&text_of(&format!("tests/{program}.rs")));
        assert_eq!(told, suites, "the row of {program} in tests/README.md");
        for suite in suites {
            let names = [format!("`{suite}/"), format!("`{suite}.rs")];
            let mut rows = page.lines().filter(|line| line.starts_with("| `"));
            let has_question = rows.any(|row| names.iter().any(|name| row.contains(name)));
            assert!(has_question, "no table of tests/README.md has the question of {suite}");
        }
    }
}

/// Returns what is wrong with the headings of a changelog: versions from the newest to the oldest, `Unreleased` above them, with the
/// kinds of changes that Keep a Changelog has, and none of them empty.
fn faults_of_changelog(text: &str, version: &str) -> Vec<String> {
    const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let mut faults = Vec::new();
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    let names = sections.iter().map(|section| section.lines().next().unwrap_or_default());
    let numbers = |name: &str| -> Vec<u64> {
        name.split('.').map(|number| number.parse().unwrap_or(u64::MAX)).collect()
    };
    let versions: Vec<&str> =
        names.map(|name| name.trim_start_matches('[').split([']', ' ']).next().unwrap_or_default()).collect();
    if versions.first() != Some(&"Unreleased") {
        faults.push("the first section is not [Unreleased]".to_owned());
    }
    let released = versions.get(1..).unwrap_or_default();
    if !released.is_sorted_by(|one, next| numbers(one) > numbers(next)) {
        faults.push(format!("not from the newest to the oldest: {released:?}"));
    }
    if !released.contains(&version) {
        faults.push(format!("no section for {version}, the version of the package"));
    }
    for kind in sections.iter().flat_map(|section| section.split("\n### ").skip(1)) {
        let (name, changes) = kind.split_once('\n').unwrap_or((kind, ""));
        if !KINDS.contains(&name) || !changes.contains("\n* ") {
            faults.push(format!("{name:?} is no kind of changes, or has none"));
        }
    }
    faults
}

#[test]
fn the_changelog_has_the_version_of_the_package_and_the_form_that_it_names() {
    let package: toml::Table = text_of("Cargo.toml").parse().unwrap();
    let version = package["workspace"]["package"]["version"].as_str().unwrap();
    assert_eq!(faults_of_changelog(&text_of("CHANGELOG.md"), version), [""; 0]);
}

#[test]
fn a_changelog_in_another_form_is_refused() {
    let good =
        "\n## [Unreleased]\n\n### Added\n\n* a\n\n## [0.2.0] - 2026-11-28\n\n### Fixed\n\n* b\n\n## 0.1.0\n";
    assert_eq!(faults_of_changelog(good, "0.2.0"), [""; 0]);
    let changed = [
        ("[Unreleased]", "[0.3.0]", "the first section"),
        ("[0.2.0]", "[0.0.9]", "from the newest"),
        ("[0.2.0]", "[0.2.1]", "no section for 0.2.0"),
        ("Fixed", "Mended", "\"Mended\""),
        ("* b\n", "", "\"Fixed\""),
    ];
    for (from, to, fault) in changed {
        let faults = faults_of_changelog(&good.replace(from, to), "0.2.0").join("; ");
        assert!(faults.contains(fault), "{from} → {to}: {faults}");
    }
}
