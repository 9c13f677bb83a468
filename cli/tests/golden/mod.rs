//! The shape of JSON: each kind of object as its example in `json` beside this file.

use std::{fs, path::Path};

use serde_json::Value;

/// Panics unless a value has the fields of the example of this name, each of the same type, or `null`.
#[track_caller]
pub(crate) fn assert_like(name: &str, value: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/json");
    let text = fs::read_to_string(folder.join(format!("{name}.json")));
    let example = serde_json::from_str(&text.unwrap_or_else(|_| panic!("no example of {name}"))).unwrap();
    let found = differences(&example, value, name);
    assert!(found.is_empty(), "{found:#?} in {value:#}");
}

fn differences(example: &Value, value: &Value, at: &str) -> Vec<String> {
    match (example, value) {
        (_, Value::Null) => Vec::new(),
        // Its keys are those of an application, or of the errors that there were.
        (Value::Object(_), Value::Object(_))
            if [".metadata", ".others"].iter().any(|open| at.ends_with(open)) =>
        {
            Vec::new()
        }
        (Value::Object(example), Value::Object(fields)) => {
            let missing = example.keys().filter(|key| !fields.contains_key(*key));
            let missing = missing.map(|key| format!("{at}.{key} is missing"));
            let others = fields.iter().flat_map(|(key, value)| match example.get(key) {
                Some(example) => differences(example, value, &format!("{at}.{key}")),
                None => vec![format!("{at}.{key} is not known")],
            });
            missing.chain(others).collect()
        }
        (Value::Array(example), Value::Array(items)) => {
            items.iter().flat_map(|item| differences(&example[0], item, &format!("{at}[]"))).collect()
        }
        (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_)) => Vec::new(),
        _ => vec![format!("{at}: {value} is of another type than {example}")],
    }
}
