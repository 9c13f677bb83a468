//! The description of the API, compared with what the API answers.

use std::{fs, path::Path};

use leasehold::{Acquire, ReadLock, partitions::Partitions, schedule::Schedule};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::site::{Idle, Site, TOKEN};
use support::virtual_time::{in_virtual_time, secs};

/// A schema as one object: what it refers to, and with the properties of all its parts.
fn whole(description: &Value, schema: &Value) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = description.pointer(&name[1..]).unwrap_or_else(|| panic!("{name} is not described"));
        return whole(description, schema);
    }
    let Some(parts) = schema["allOf"].as_array() else { return schema.clone() };
    let parts: Vec<Value> = parts.iter().map(|part| whole(description, part)).collect();
    let properties: Map<String, Value> =
        parts.iter().filter_map(|part| part["properties"].as_object().cloned()).flatten().collect();
    let required = parts.iter().filter_map(|part| part["required"].as_array()).flatten();
    json!({ "type": "object", "properties": properties, "required": required.collect::<Vec<_>>() })
}

/// The differences of a value from its schema: OpenAPI 3.1, as far as the description uses it.
fn differences(description: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = &whole(description, schema);
    if let Some(either) = schema["oneOf"].as_array() {
        let each = either.iter().map(|schema| differences(description, schema, value, at));
        return each.min_by_key(Vec::len).unwrap();
    }
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{other}?"),
    };
    let types = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    if !types.iter().any(is) {
        return vec![format!("{at}: {value} is not {types:?}")];
    }
    let mut found = Vec::new();
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        found.push(format!("{at}: {value} is not known"));
    }
    for item in value.as_array().into_iter().flatten() {
        found.extend(differences(description, &schema["items"], item, &format!("{at}[]")));
    }
    let Some(object) = value.as_object() else { return found };
    for (key, value) in object {
        let at = format!("{at}.{key}");
        match (schema["properties"].get(key), &schema["additionalProperties"]) {
            (Some(schema), _) => found.extend(differences(description, schema, value, &at)),
            (None, others @ Value::Object(_)) => found.extend(differences(description, others, value, &at)),
            (None, _) => found.push(format!("{at} is not described")),
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    found.extend(
        required.filter(|key| !object.contains_key(*key)).map(|key| format!("{at}.{key} is missing")),
    );
    found
}

async fn assert_described(site: &Site, method: &str, path: &str, answer: &Value) {
    let description = site.get_json("openapi.json").await;
    let base = format!("/{}", path.split('?').next().unwrap());
    let schema =
        &description["paths"][&base][method]["responses"]["200"]["content"]["application/json"]["schema"];
    let found = differences(&description, schema, answer, &base);
    assert!(schema.is_object() && found.is_empty(), "{found:#?} in {answer:#}");
}

#[test]
fn each_answer_is_as_it_is_described() {
    in_virtual_time(|| async {
        let site = Site::new();
        let schedule = Schedule::every(secs(60)).named("report").start(&site.locks, async |_| ()).unwrap();
        let _fleet = Partitions::start(&site.locks, "orders", 4, "host-1", |_| Idle).unwrap();
        let _first = site.hold(Acquire::new("orders/1").owner("o").purpose("pay")).await;
        let _second = site.locks.send(ReadLock::new("catalogue")).await.unwrap().unwrap();
        site.wait_for("orders/1").await;
        sleep(secs(70)).await;
        site.get("resource?name=orders/1").await;
        let revoke = json!({ "resource": "catalogue", "reason": "x", "grace_seconds": 0 });
        let outcome = site.call(TOKEN, "revoke", &revoke).await;
        assert_eq!(outcome.status, 200, "{}", outcome.text);
        assert_described(&site, "post", "api/revoke", &outcome.json()).await;
        let examined = site.call(TOKEN, "examine", &json!({})).await.json();
        assert_described(&site, "post", "api/examine", &examined).await;
        for path in [
            "api/resources",
            "api/resources?all=true",
            "api/resource?name=orders/1",
            "api/resource?name=catalogue",
            "api/resource?name=nobody",
            "api/managers",
            "api/elections?name=report",
            "api/schedules",
            "api/partitions?name=orders",
            "api/tuning",
            "api/diagnosis",
        ] {
            assert_described(&site, "get", path, &site.get_json(path).await).await;
        }
        schedule.stop().await;
    });
}

/// Compares the description with the examples of the command line.
#[test]
fn holders_waiters_and_runs_are_those_of_the_command_line() {
    in_virtual_time(|| async {
        let site = Site::new();
        let description = site.get_json("openapi.json").await;
        let example = |kind: &str| -> Value {
            let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("cli/tests/golden/json");
            serde_json::from_str(&fs::read_to_string(folder.join(format!("{kind}.json"))).unwrap()).unwrap()
        };
        let (resource, mut run) = (example("resource"), example("run"));
        run.as_object_mut().unwrap().remove("kind");
        for (schema, example) in
            [("Holder", &resource["holders"][0]), ("Waiter", &resource["waiters"][0]), ("Run", &run)]
        {
            let described = &description["components"]["schemas"][schema];
            assert_eq!(differences(&description, described, example, schema), Vec::<String>::new());
        }
        for (list, example) in [("Schedules", example("schedule")), ("Elections", example("election"))] {
            let list = &description["components"]["schemas"][list]["properties"][list.to_lowercase()];
            let described = whole(&description, &list["items"]);
            let known = described["properties"].as_object().unwrap();
            let both: Vec<_> = known.keys().filter(|key| example.get(*key).is_some()).collect();
            assert!(both.len() >= 4, "{both:?} of {known:#?}");
        }
    });
}

#[test]
fn a_failure_is_a_problem_document_as_it_is_described() {
    in_virtual_time(|| async {
        let site = Site::new();
        let description = site.get_json("openapi.json").await;
        let schema = &description["components"]["schemas"]["Problem"];
        for (path, status) in
            [("api/resource", 400), ("api/resources?limit=x", 400), ("api/resource?name=", 400)]
        {
            let answer = site.get(path).await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (status, "application/problem+json"),
                "{path}"
            );
            assert_eq!(differences(&description, schema, &answer.json(), path), Vec::<String>::new());
        }
        assert_eq!(site.get("api/revoke").await.status, 405);
    });
}

#[test]
fn every_field_of_an_answer_is_required_and_of_a_question_those_without_a_default() {
    in_virtual_time(|| async {
        let description = Site::new().get_json("openapi.json").await;
        let required =
            |name: &str| whole(&description, &description["components"]["schemas"][name])["required"].clone();
        assert_eq!(required("Revoke"), json!(["resource", "reason"]));
        assert_eq!(required("Holder").as_array().map(Vec::len), Some(14));
        assert_eq!(required("Watch").as_array().map(Vec::len), Some(7));
    });
}

#[test]
fn a_difference_is_found() {
    let description = json!({});
    let schema = json!({ "type": "object", "properties": { "a": { "type": ["integer", "null"] } }, "required": ["a"] });
    let found = |value| differences(&description, &schema, &value, "v");
    assert_eq!(found(json!({ "a": null })), Vec::<String>::new());
    assert_eq!(found(json!({ "a": 1, "b": 2 })), ["v.b is not described"]);
    assert_eq!(found(json!({})), ["v.a is missing"]);
    assert_eq!(found(json!({ "a": "1" })).len(), 1);
    let both = json!({ "allOf": [schema, { "type": "object", "properties": { "b": { "type": "string" } }, "required": ["b"] }] });
    let found = |value| differences(&description, &both, &value, "v");
    assert_eq!(found(json!({ "a": null, "b": "" })), Vec::<String>::new());
    assert_eq!(found(json!({ "b": "", "c": 1 })), ["v.c is not described", "v.a is missing"]);
}
