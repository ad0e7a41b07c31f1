//! The table of routes as an OpenAPI 3.1 document.
//!
//! Made from [`routes::ALL`](crate::routes::ALL) and the schemas of the shapes: nobody writes it, so it cannot be
//! behind.

use crate::routes::{ALL, Content, MORE, Method, NEXT, Parameter, Route, Value as Kind};
use crate::shapes::Problem;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The document.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ALL {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method(route.method)] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Consort",
            "description": "One scheduler for every accelerator.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Put => "put",
    }
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "operationId": identifier(route),
        "summary": route.summary,
        "security": if route.auth { json!([{"token": []}]) } else { json!([]) },
    });
    let parameters: Vec<Value> =
        route.parameters.iter().map(|parameter| self::parameter(route, parameter)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = route.body {
        operation["requestBody"] = json!({"required": true, "content": content(body, generator)});
    }
    let mut responses = Map::new();
    for &status in route.statuses {
        let response = match status {
            200..300 => answer(route, status, generator),
            _ => {
                let schema = generator.subschema_for::<Problem>();
                json!({"description": meaning(status), "content": {"application/json": {"schema": schema}}})
            }
        };
        responses.insert(status.to_string(), response);
    }
    operation["responses"] = responses.into();
    operation
}

/// `getJobsIdExplain`: unique, and the same for as long as the path is.
fn identifier(route: &Route) -> String {
    let words = route.path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let mut name = method(route.method).to_string();
    for word in words.filter(|word| !word.is_empty() && *word != "v1") {
        name.push_str(&word[..1].to_uppercase());
        name.push_str(&word[1..]);
    }
    name
}

fn parameter(route: &Route, parameter: &Parameter) -> Value {
    let in_path = route.path.contains(&format!("{{{}}}", parameter.name));
    let schema = match parameter.value {
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string"}),
    };
    json!({
        "name": parameter.name,
        "in": if in_path { "path" } else { "query" },
        "required": in_path,
        "description": parameter.about,
        "schema": schema,
    })
}

fn answer(route: &Route, status: u16, generator: &mut SchemaGenerator) -> Value {
    let mut answer = json!({"description": meaning(status), "content": content(route.answer, generator)});
    let header = |about: &str| json!({"description": about, "schema": {"type": "string"}});
    if route.parameters.iter().any(|parameter| parameter.name == "before") {
        answer["headers"] = json!({MORE: header("true when there are more than the limit")});
    }
    if route.path.ends_with("/logs") {
        answer["headers"] = json!({NEXT: header("the offset of the next byte, when not following")});
    }
    answer
}

fn content(content: Content, generator: &mut SchemaGenerator) -> Value {
    let text = json!({"schema": {"type": "string"}});
    match content {
        Content::Json(make) => json!({"application/json": {"schema": make(generator)}}),
        Content::JobFile => {
            let any = json!({"schema": {"type": "object", "description": "A job file: see docs/files.md."}});
            json!({"application/json": any, "application/yaml": any})
        }
        Content::Events(make) => {
            json!({"application/json": {"schema": make(generator)}, "text/event-stream": text})
        }
        Content::Text => json!({"text/plain": text}),
        Content::Document => json!({"application/json": {"schema": {"type": "object"}}}),
    }
}

fn meaning(status: u16) -> &'static str {
    match status {
        200 => "Done.",
        201 => "Done, and durable on disk.",
        202 => "Not yet.",
        400 => "The request is malformed.",
        401 => "The token is missing or wrong.",
        404 => "Not found.",
        409 => "Not possible in this state.",
        413 => "The request is too large.",
        422 => "The request is refused.",
        _ => "Unavailable: the server is starting, or cannot write.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_described_and_names_its_parameters() {
        let document = document();
        let mut identifiers = BTreeSet::new();
        for route in ALL {
            let operation = &document["paths"][route.path][method(route.method)];
            assert!(
                operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()),
                "{}",
                route.path
            );
            assert!(
                identifiers.insert(operation["operationId"].as_str().unwrap().to_string()),
                "{operation}"
            );
            let braces = route.path.split('{').skip(1).map(|part| part.split('}').next().unwrap());
            let described = |name: &str| {
                let parameters = operation["parameters"].as_array().unwrap();
                parameters
                    .iter()
                    .any(|one| one["name"] == name && one["in"] == "path" && one["required"] == true)
            };
            assert!(braces.into_iter().all(described), "{}", route.path);
            assert!(route.statuses.iter().any(|status| (200..300).contains(status)), "{}", route.path);
            assert_eq!(
                route.auth,
                route.statuses.contains(&401) && route.path.starts_with("/v1"),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str).map(String::from));
                    map.values().for_each(|value| references(value, found));
                }
                Value::Array(list) => list.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = vec![];
        references(&document, &mut found);
        assert!(found.len() > 30, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        assert!(document.pointer("/components/schemas/Job/properties/exit_code").is_some());
    }
}
