//! The rules, each as a function from a file to what is wrong with it.

use std::fs;

use super::text::{code_of, paths_of};

/// From left to right; those in one row do not know each other.
const LAYERS: [&[&str]; 7] = [
    &["protocol"],
    &["world"],
    &["store"],
    &["actor"],
    &["config", "web", "election"],
    &["doctor"],
    &["bin"],
];
const LONGEST: usize = 350;

/// The crates that the manifest names, as they are written in code.
pub(crate) fn dependencies() -> Vec<String> {
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
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

/// Everything that is wrong with a file of the library.
pub(crate) fn broken_rules(path: &str, text: &str) -> Vec<String> {
    let code = code_of(text);
    let mut broken = first_line(path, text);
    broken.extend(length(path, text));
    broken.extend(leftovers(&code).map(|found| format!("{path}: {found}")));
    broken.extend(imports(path, &code).into_iter().map(|found| format!("{path}: {found}")));
    broken
}

/// A file opens with one sentence that says what it is. The front page is the README.
fn first_line(path: &str, text: &str) -> Vec<String> {
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.strip_prefix("//! ").and_then(|line| line.strip_suffix('.'));
    let starts_well = |sentence: &str| sentence.starts_with(|c: char| c.is_uppercase() || c == '`');
    // An end inside of the line is a full stop before a capital: "e.g. this" is none.
    let ends_once =
        |sentence: &str| sentence.split(". ").skip(1).all(|rest| !rest.starts_with(char::is_uppercase));
    let front_page = path == "src/lib.rs" && line.starts_with("#![doc = include_str!");
    match front_page || sentence.is_some_and(|sentence| starts_well(sentence) && ends_once(sentence)) {
        true => Vec::new(),
        false => vec![format!("{path}: its first line is not one sentence after //!")],
    }
}

fn length(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST).then(|| format!("{path}: it has {lines} lines, more than {LONGEST}"))
}

fn leftovers(code: &str) -> impl Iterator<Item = String> {
    ["todo!", "unimplemented!", "dbg!"]
        .into_iter()
        .filter(|left| code.contains(left))
        .map(|left| format!("{left} is left in it"))
}

fn imports(path: &str, code: &str) -> Vec<String> {
    let module: Vec<&str> = path.trim_start_matches("src/").trim_end_matches(".rs").split('/').collect();
    let layer = module[0];
    if layer == "lib" {
        return Vec::new();
    }
    let Some(place) = place_of(layer) else { return vec![format!("{layer} is not a known layer")] };
    let depth = module.len() - usize::from(module.last() == Some(&"mod"));
    let dependencies = dependencies();
    // In the file that declares it, `redis` is the module of that name.
    let own_redis = code.contains("mod redis;");
    let mut broken = Vec::new();
    for (nested, path) in paths_of(code) {
        let steps: Vec<&str> = path.split("::").collect();
        let up = steps.iter().take_while(|step| **step == "super").count();
        let (first, outside) = match steps[0] {
            "" => (steps[1], true),
            first => (first, !(own_redis && first == "redis")),
        };
        if first == "crate" {
            broken.extend(inside(layer, place, &path, steps.get(1).copied().unwrap_or_default()));
        } else if up >= depth + usize::from(nested) {
            broken.push(format!("{path} leaves its layer"));
        } else if outside && dependencies.iter().any(|name| name == first) && !may_use(&module, first) {
            broken.push(format!("{layer} uses the crate {first}"));
        }
    }
    broken.dedup();
    broken
}

/// A path within the crate must name a layer to the left, or the same.
fn inside(layer: &str, place: usize, path: &str, target: &str) -> Option<String> {
    if layer == "bin" || target == layer {
        return None;
    }
    match place_of(target) {
        None => Some(format!("{path} does not name its layer")),
        Some(other) if other >= place => Some(format!("{layer} imports crate::{target}")),
        Some(_) => None,
    }
}

fn may_use(module: &[&str], dependency: &str) -> bool {
    match module {
        ["protocol", ..] => false,
        ["store", "redis", ..] => !dependency.starts_with("actix"),
        ["store", ..] => !dependency.starts_with("actix") && dependency != "redis",
        _ => dependency != "redis",
    }
}

fn place_of(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&layer))
}
