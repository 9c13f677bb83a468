//! The paths in a file, as `syn` reads them: of `use`, of expressions, types and macros.

use proc_macro2::{
    Spacing::Alone,
    TokenStream,
    TokenTree::{Group, Ident, Punct},
};
use syn::{
    Attribute, Item, ItemExternCrate, ItemMod, ItemUse, Macro, Meta, Path, UseTree,
    ext::IdentExt,
    visit::{self, Visit},
};

/// A path, and the number of modules inside of the file that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: Vec<String>,
    pub(crate) depth: usize,
    /// True if it begins with `::`.
    pub(crate) global: bool,
    /// True if the file does not use it: it passes it on (`pub use`), or names it in its documentation.
    pub(crate) only_named: bool,
}

/// The modules that a file declares, and the paths in it.
#[derive(Default)]
pub(crate) struct Paths {
    pub(crate) declared: Vec<String>,
    pub(crate) found: Vec<Found>,
    pub(crate) macros: Vec<String>,
    /// The names that a file imports, and their paths.
    pub(crate) imported: Vec<(String, Vec<String>)>,
    depth: usize,
    only_named: bool,
}

impl Paths {
    /// Reads a file.
    pub(crate) fn of(text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        let declared = file.items.iter().filter_map(|item| match item {
            Item::Mod(module) => Some(module.ident.unraw().to_string()),
            _ => None,
        });
        let mut paths = Self { declared: declared.collect(), ..Self::default() };
        paths.visit_file(&file);
        paths
    }

    fn add(&mut self, path: Vec<String>, global: bool) {
        self.found.push(Found { path, depth: self.depth, global, only_named: self.only_named });
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree, global: bool) {
        let and = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&and(path.ident.unraw().to_string()), &path.tree, global),
            UseTree::Name(name) => self.import(&name.ident, and(name.ident.unraw().to_string()), global),
            UseTree::Rename(name) => self.import(&name.rename, and(name.ident.unraw().to_string()), global),
            UseTree::Glob(_) => self.add(and("*".to_owned()), global),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(before, tree, global)),
        }
    }

    fn import(&mut self, name: &syn::Ident, path: Vec<String>, global: bool) {
        if self.depth == 0 {
            self.imported.push((name.unraw().to_string(), path.clone()));
        }
        self.add(path, global);
    }

    /// Adds the paths in tokens that nobody but their macro can read, and the macros that are called there. What stands in
    /// braces behind a path belongs to it, as in `use`.
    fn add_tokens(&mut self, before: &[String], tokens: TokenStream) {
        let (mut path, mut colons, mut global) =
            (before.to_vec(), 2 * usize::from(!before.is_empty()), false);
        for token in tokens {
            match token {
                Punct(punct) if punct.as_char() == ':' => colons += 1,
                Punct(punct) if punct.as_char() == '!' => {
                    self.macros.extend(path.last().cloned());
                    let path = std::mem::take(&mut path);
                    // An exported macro is at the root of the crate, wherever it is written.
                    let is_exported = punct.spacing() == Alone && path.len() == 2 && path[0] == "crate";
                    if !is_exported {
                        self.add_longer(path, global);
                    }
                    (colons, global) = (0, false);
                }
                Punct(punct) if punct.as_char() == ',' => {
                    self.add_longer(std::mem::take(&mut path), global);
                    (path, global) = (before.to_vec(), false);
                    colons = 2 * usize::from(!before.is_empty());
                }
                Ident(name) => {
                    if colons != 2 {
                        self.add_longer(std::mem::take(&mut path), global);
                        global = false;
                    } else if path.is_empty() {
                        global = true;
                    }
                    path.push(name.unraw().to_string());
                    colons = 0;
                }
                Group(group) if colons == 2 && !path.is_empty() => {
                    self.add_tokens(&std::mem::take(&mut path), group.stream());
                    (colons, global) = (0, false);
                }
                other => {
                    self.add_longer(std::mem::take(&mut path), global);
                    (colons, global) = (0, false);
                    if let Group(group) = other {
                        self.add_tokens(&[], group.stream());
                    }
                }
            }
        }
        self.add_longer(path, global);
    }

    fn add_longer(&mut self, path: Vec<String>, global: bool) {
        if path.len() > 1 {
            self.add(path, global);
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, module);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_for_docs = |attribute: &Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|what| what == "doc")
        };
        self.only_named =
            !matches!(item.vis, syn::Visibility::Inherited) || item.attrs.iter().any(is_for_docs);
        self.add_tree(&[], &item.tree, item.leading_colon.is_some());
        self.only_named = false;
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names = path.segments.iter().map(|segment| segment.ident.unraw().to_string());
        self.add_longer(names.collect(), path.leading_colon.is_some());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.macros.extend(called.path.segments.last().map(|segment| segment.ident.unraw().to_string()));
        self.add_tokens(&[], called.tokens.clone());
        visit::visit_macro(self, called);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(&[], list.tokens.clone());
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast ItemExternCrate) {
        self.add(vec![item.ident.unraw().to_string()], true);
    }
}
