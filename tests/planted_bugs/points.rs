//! The points for planted bugs in the sources.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

/// The name of every `planted!("…")` in the sources.
pub(crate) fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let tokens = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        add_names(tokens, &mut names);
    }
    names
}

/// Every file of the library and of the packages over it, but the one that defines the macro.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (mut folders, mut files) = (vec![root.join("src"), root.join("crates")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.retain(|path| *path != root.join("src/planted.rs"));
    files
}

/// Adds the names in these tokens, and in those of other macros in them.
fn add_names(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let is_point = match &tokens[..at] {
            [.., TokenTree::Ident(name), TokenTree::Punct(mark)] => {
                name == "planted" && mark.as_char() == '!'
            }
            _ => false,
        };
        if is_point {
            let name: LitStr = syn::parse2(group.stream()).expect("the name of a bug, and nothing else");
            names.insert(name.value());
        } else {
            add_names(group.stream(), names);
        }
    }
}

#[test]
fn points_are_found_wherever_they_are() {
    let mut names = BTreeSet::new();
    let code = r#"fn f() { let a = b || planted!("one"); select! { _ = c => planted!("two") } } // planted!("none")"#;
    add_names(code.parse().unwrap(), &mut names);
    assert_eq!(names, BTreeSet::from(["one".to_owned(), "two".to_owned()]));
}
