//! The rules, each as a function from files to what is wrong with them.

use std::{collections::BTreeSet, fs};

use super::{
    circles::{folder_circles, inside},
    paths::Paths,
};

/// Each imports only those before it. Those in one row do not know each other.
const LAYERS: [&[&str]; 9] = [
    &["core"],
    &["listeners", "runtime"],
    &["store"],
    &["lease"],
    &["request"],
    &["manager", "fenced"],
    &["leading", "config"],
    &["web"],
    &["lib"],
];
const LONGEST: usize = 350;

/// A file of the library: its path from the root, and its text.
pub(crate) type File = (String, String);

/// An import within the crate: the file, and the module that it names.
pub(crate) type Import = (Vec<String>, Vec<String>);

/// The crates that the manifest names, as they are written in code.
pub(crate) fn dependencies() -> Vec<String> {
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let targets = manifest.get("target").and_then(|targets| targets.as_table());
    let tables =
        targets.into_iter().flat_map(|targets| targets.values()).filter_map(|target| target.as_table());
    let tables = tables
        .chain([&manifest])
        .flat_map(|table| [table.get("dependencies"), table.get("dev-dependencies")]);
    let names = tables.flatten().filter_map(|table| table.as_table()).flat_map(|table| table.keys());
    names.map(|name| name.replace('-', "_")).collect()
}

/// Everything that is wrong with the files of the library.
pub(crate) fn broken_rules(files: &[File]) -> Vec<String> {
    let modules: BTreeSet<Vec<String>> = files.iter().map(|(path, _)| module_of(path)).collect();
    let mut imports = Vec::new();
    let mut broken = Vec::new();
    for (path, text) in files {
        let paths = Paths::of(text);
        broken.extend(first_line(path, text));
        broken.extend(length(path, text));
        broken.extend(leftovers(path, &paths));
        broken.extend(foreign(path, &paths));
        imports.extend(inside(path, &paths, &modules));
    }
    broken.extend(layers(&imports));
    broken.extend(folder_circles(&imports, &modules));
    broken
}

/// Returns the faults of files in the packages over the library. They have no layers: the compiler keeps them apart.
pub(crate) fn badly_kept(files: &[File]) -> Vec<String> {
    let broken = |(path, text): &File| {
        let found = Paths::of(text);
        first_line(path, text).into_iter().chain(length(path, text)).chain(leftovers(path, &found)).collect()
    };
    files.iter().flat_map(|file| -> Vec<String> { broken(file) }).collect()
}

/// The path of the module that a file is.
pub(crate) fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// A file opens with one sentence that says what it is.
fn first_line(path: &str, text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.strip_prefix("//! ").and_then(|line| line.strip_suffix('.'));
    let starts_well = |sentence: &str| sentence.starts_with(|c: char| c.is_uppercase() || c == '`');
    // An end inside of the line is a full stop before a capital: "e.g. this" is none.
    let ends_once =
        |sentence: &str| sentence.split(". ").skip(1).all(|rest| !rest.starts_with(char::is_uppercase));
    let says_what = sentence.is_some_and(|sentence| starts_well(sentence) && ends_once(sentence));
    (!says_what).then(|| format!("{path}: its first line is not one sentence after //!"))
}

fn length(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST).then(|| format!("{path}: it has {lines} lines, more than {LONGEST}"))
}

fn leftovers(path: &str, paths: &Paths) -> Vec<String> {
    let left = |name: &&String| ["todo", "unimplemented", "dbg"].contains(&name.as_str());
    paths.macros.iter().filter(left).map(|name| format!("{path}: {name}! is left in it")).collect()
}

/// The crates that a file uses and may not.
fn foreign(path: &str, paths: &Paths) -> Vec<String> {
    let (module, dependencies) = (module_of(path), dependencies());
    let used = paths.found.iter().filter_map(|found| {
        let first = found.path.first()?;
        let is_own = !found.global && paths.declared.contains(first);
        (!is_own && dependencies.contains(first) && !may_use(&module, first)).then_some(first)
    });
    let used: BTreeSet<_> = used.collect();
    used.into_iter().map(|name| format!("{path}: it uses the crate {name}")).collect()
}

fn may_use(module: &[String], dependency: &str) -> bool {
    let module: Vec<&str> = module.iter().map(String::as_str).collect();
    match module[..] {
        // Keys of a table that nobody outside sees.
        ["core", "engine", ..] => dependency == "slotmap",
        ["core", ..] => false,
        ["fenced", "redis"] => dependency == "redis" || !is_apart(dependency),
        ["store", "redis", ..] => {
            dependency == "redis" || !dependency.starts_with("actix") && !is_apart(dependency)
        }
        ["store", ..] => !dependency.starts_with("actix") && !is_apart(dependency),
        ["listeners", "spans", ..] => {
            ["opentelemetry", "tracing_opentelemetry"].contains(&dependency) || !is_apart(dependency)
        }
        ["listeners", "meters"] => dependency == "metrics" || !is_apart(dependency),
        ["web", ..] => dependency.starts_with("actix") || !is_apart(dependency),
        _ => !is_apart(dependency),
    }
}

/// Crates that one room each is for.
fn is_apart(dependency: &str) -> bool {
    ["redis", "actix_http", "actix_service", "actix_web", "metrics", "opentelemetry", "tracing_opentelemetry"]
        .contains(&dependency)
}

/// Imports of a layer that is not before their own.
fn layers(imports: &[Import]) -> BTreeSet<String> {
    let row = |layer: &str| LAYERS.iter().position(|row| row.contains(&layer));
    let broken = imports.iter().filter_map(|(from, to)| {
        let layer = from[0].as_str();
        let Some(own) = row(layer) else { return Some(format!("{layer} is not a known layer")) };
        let target = to.first().map_or("", String::as_str);
        match row(target) {
            _ if layer == "lib" || target == layer => None,
            Some(other) if other < own => None,
            Some(_) => Some(format!("{}: it imports {}", from.join("/"), to.join("::"))),
            None => Some(format!("{}: crate::{} does not name its layer", from.join("/"), to.join("::"))),
        }
    });
    broken.collect()
}
