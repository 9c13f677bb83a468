//! Circles: folders that know each other, and files inside of a room that do.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    paths::{Found, Paths},
    rules::{File, Import, module_of},
};

/// The path of a module.
type Module = Vec<String>;

/// The modules that each module knows.
type Known = BTreeMap<Module, BTreeSet<Module>>;

/// The modules of the crate that a file names.
pub(crate) fn inside(path: &str, paths: &Paths, modules: &BTreeSet<Module>) -> Vec<Import> {
    let module = module_of(path);
    let named = |path: Module| longest(&path, modules).unwrap_or(path);
    let absolute = |found| absolute(&module, paths, found);
    paths.found.iter().filter_map(absolute).map(|path| (module.clone(), named(path))).collect()
}

/// The whole path of something that a file names, if it is of the same crate.
fn absolute(module: &[String], paths: &Paths, found: &Found) -> Option<Module> {
    let mut path = &found.path[..];
    if path.len() > 1 && path[0] == "self" && path[1] == "super" {
        path = &path[1..];
    }
    let up = path.iter().take_while(|step| *step == "super").count();
    match path.first()?.as_str() {
        _ if found.global => None,
        "crate" => Some(path[1..].to_vec()),
        "super" if up > found.depth => {
            let stays = module.len().checked_sub(up - found.depth)?;
            Some([&module[..stays], &path[up..]].concat())
        }
        "super" => None,
        "self" if found.depth == 0 => Some([module, &path[1..]].concat()),
        first if paths.declared.iter().any(|name| name == first) => Some([module, path].concat()),
        _ => None,
    }
}

/// The longest part of a path that is a module.
fn longest(path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|path| modules.contains(path))
}

/// Folders beside each other that know each other in a circle.
pub(crate) fn folder_circles(imports: &[Import], modules: &BTreeSet<Vec<String>>) -> Vec<String> {
    let is_folder =
        |path: &[String]| modules.iter().any(|module| module.len() > path.len() && module.starts_with(path));
    let mut knows = Known::new();
    for (from, to) in imports {
        let common = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        let (Some(from), Some(to)) = (from.get(..=common), to.get(..=common)) else { continue };
        if is_folder(from) && is_folder(to) {
            knows.entry(from.to_vec()).or_default().insert(to.to_vec());
        }
    }
    let circled = knows.keys().filter(|folder| reached(folder, &knows).contains(*folder));
    circled.map(|folder| format!("{}: it knows a folder that knows it", folder.join("/"))).collect()
}

/// Files of a package that know each other in a circle, each circle as one line. A name that a module passes on is of the module
/// that defines it. Tests may know what they like.
pub(crate) fn file_circles(files: &[File]) -> BTreeSet<String> {
    let is_test = |module: &Module| module.last().is_some_and(|name| name == "tests");
    let read = |(path, text): &File| (module_of(path), Paths::of(text));
    let files: BTreeMap<Module, Paths> =
        files.iter().map(read).filter(|(module, _)| !is_test(module)).collect();
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let mut knows = Known::new();
    for (module, paths) in &files {
        let used = paths.found.iter().filter(|found| found.depth == 0 && !found.only_named);
        let used = used.filter_map(|found| absolute(module, paths, found));
        let known = used.filter_map(|path| definer(path, &files, &modules)).filter(|known| known != module);
        knows.entry(module.clone()).or_default().extend(known);
    }
    let reach: BTreeMap<&Module, _> = knows.keys().map(|module| (module, reached(module, &knows))).collect();
    let circle = |module: &Module| -> Option<String> {
        let around = reach[module].iter().filter(|other| reach[other].contains(module));
        let names: Vec<_> = around.map(|module| module.join("/")).collect();
        (!names.is_empty()).then(|| names.join(" · "))
    };
    knows.keys().filter_map(circle).collect()
}

/// The module that defines what this path names, if it is one of these.
fn definer(mut path: Module, files: &BTreeMap<Module, Paths>, modules: &BTreeSet<Module>) -> Option<Module> {
    const STEPS: usize = 8;
    let root = vec!["lib".to_owned()];
    for _ in 0..STEPS {
        let module = longest(&path, modules).unwrap_or_else(|| root.clone());
        let rest = if module == root { &path[..] } else { &path[module.len()..] };
        let paths = files.get(&module)?;
        let passed_on = rest.first().and_then(|name| paths.imported.iter().find(|(known, _)| known == name));
        let Some((_, target)) = passed_on else { return Some(module) };
        let found = Found { path: target.clone(), depth: 0, global: false, only_named: true };
        let above = if module == root { &[][..] } else { &module[..] };
        path = [absolute(above, paths, &found)?, rest[1..].to_vec()].concat();
    }
    None
}

/// The modules to which a way leads from this one.
fn reached(start: &Module, knows: &Known) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        for next in knows.get(module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}
