//! The public types of a package, as `src/lib.rs` and the rooms that it opens name them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Expr, ExprLit, Item, Lit, MetaNameValue, UseTree, Visibility};

/// The public types, each by its whole path, by the room where users find them. The root is the room without a name.
pub(crate) type Surface = BTreeMap<String, Vec<String>>;

/// Reads the public types that a package has with these features, without what is hidden from the documentation. The package is named
/// by its folder; the library is at the root.
pub(crate) fn surface(package: &str, features: &[&str]) -> Surface {
    let mut surface = Surface::new();
    let package = Package { sources: root().join(package).join("src"), features };
    package.add_room(&mut surface, "", "", &file(&package.sources.join("lib.rs")));
    surface
}

/// The types that more than one path leads to.
pub(crate) fn twice(surface: &Surface) -> Vec<&String> {
    let mut seen = BTreeSet::new();
    surface.values().flatten().filter(|path| !seen.insert(*path)).collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn file(path: &Path) -> Vec<Item> {
    syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap().items
}

fn below(place: &str, name: &str) -> String {
    [place, name].join("/").trim_start_matches('/').to_owned()
}

/// The sources of a package, and the features that it is compiled with.
struct Package<'a> {
    sources: PathBuf,
    features: &'a [&'a str],
}

impl Package<'_> {
    /// Reads a module, which is a folder, or a file of its own.
    fn module_at(&self, path: &str) -> Option<Vec<Item>> {
        let files = [self.sources.join(path).join("mod.rs"), self.sources.join(format!("{path}.rs"))];
        files.iter().find(|path| path.exists()).map(|path| file(path))
    }

    /// Adds the types of a room, whose module is at this path.
    fn add_room(&self, surface: &mut Surface, room: &str, path: &str, items: &[Item]) {
        let is_shown = |visibility, attributes| is_shown(visibility, attributes, self.features);
        for item in items {
            let defined = match item {
                Item::Mod(module) if is_shown(&module.vis, &module.attrs) => {
                    let name = module.ident.to_string();
                    let (room, path) = (below(room, &name), below(path, &name));
                    match &module.content {
                        Some((_, items)) => self.add_room(surface, &room, &path, items),
                        None => self.add_room(surface, &room, &path, &self.module_at(&path).unwrap()),
                    }
                    continue;
                }
                Item::Use(import) if is_shown(&import.vis, &import.attrs) => {
                    self.add_imports(surface, room, "", &import.tree);
                    continue;
                }
                Item::Struct(item) if is_shown(&item.vis, &item.attrs) => &item.ident,
                Item::Enum(item) if is_shown(&item.vis, &item.attrs) => &item.ident,
                Item::Trait(item) if is_shown(&item.vis, &item.attrs) => &item.ident,
                Item::Type(item) if is_shown(&item.vis, &item.attrs) => &item.ident,
                _ => continue,
            };
            surface.entry(room.to_owned()).or_default().push(format!("{room}::{defined}"));
        }
    }

    fn add_imports(&self, surface: &mut Surface, room: &str, before: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                let step = match path.ident.to_string().as_str() {
                    "crate" => String::new(),
                    "self" => room.to_owned(),
                    step if before.is_empty() => step.to_owned(),
                    step => format!("{before}::{step}"),
                };
                self.add_imports(surface, room, &step, &path.tree);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_imports(surface, room, before, tree));
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                // Constants are in capitals, functions in small letters.
                let is_type = name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
                if is_type {
                    surface.entry(room.to_owned()).or_default().push(format!("{before}::{name}"));
                }
                // A room inside of another one, which users find here.
                let path = below(&before.replace("::", "/"), &name);
                if let Some(items) = self.module_at(&path) {
                    self.add_room(surface, &below(room, &name), &path, &items);
                }
            }
            UseTree::Rename(_) | UseTree::Glob(_) => panic!("{room}: name what is public, one by one"),
        }
    }
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute], features: &[&str]) -> bool {
    let is_hidden = |attribute: &Attribute| {
        attribute.path().is_ident("doc")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|what| what == "hidden")
    };
    let is_public = matches!(visibility, Visibility::Public(_));
    is_public && !attributes.iter().any(is_hidden) && attributes.iter().all(|it| is_compiled(it, features))
}

/// Returns true unless this is a `#[cfg(feature = "…")]` for a feature that is not one of these.
fn is_compiled(attribute: &Attribute, features: &[&str]) -> bool {
    if !attribute.path().is_ident("cfg") {
        return true;
    }
    let condition = attribute.parse_args::<MetaNameValue>();
    let Ok(MetaNameValue { path, value: Expr::Lit(ExprLit { lit: Lit::Str(feature), .. }), .. }) = condition
    else {
        panic!("a public item depends on more than one feature");
    };
    assert!(path.is_ident("feature"), "a public item depends on something else than a feature");
    features.contains(&feature.value().as_str())
}
