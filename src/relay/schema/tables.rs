//! What schemas say of values, row by row, for the tests.

/// What does not fit the schema of a forecast: where, and what it says there.
pub(super) const BAD: &[(&str, &str, &str)] = &[
    (r##"[]"##, "", "type: object"),
    (r##"{}"##, "", "required: \"lat\""),
    (r##"{"lat": 90.5}"##, "/lat", "maximum: 90"),
    (r##"{"lat": "1"}"##, "/lat", "type: number"),
    (r##"{"lat": 1, "days": 1}"##, "/days", "multipleOf: 2"),
    (
        r##"{"lat": 1, "days": 1.5}"##,
        "/days",
        "type: integer or null",
    ),
    (
        r##"{"lat": 1, "unit": "k"}"##,
        "/unit",
        "enum: \"c\", \"f\"",
    ),
    (
        r##"{"lat": 1, "name": "日"}"##,
        "/name",
        "at least 2 characters",
    ),
    (
        r##"{"lat": 1, "name": "日本"}"##,
        "/name",
        "pattern: ^\\w+$",
    ),
    (
        r##"{"lat": 1, "tags": ["a", 1]}"##,
        "/tags/1",
        "type: string",
    ),
    (
        r##"{"lat": 1, "tags": ["a", "a"]}"##,
        "/tags",
        "no item twice",
    ),
    (
        r##"{"lat": 1, "tags": [""]}"##,
        "/tags/0",
        "not what the schema has under not",
    ),
    (
        r##"{"lat": 1, "any": 1}"##,
        "/any",
        "type: string, or type: null",
    ),
    (
        r##"{"lat": 1, "one": 3}"##,
        "/one",
        "only one of the schemas under oneOf",
    ),
    (
        r##"{"lat": 1, "a/b~": 3}"##,
        "/a~1b~0",
        "nothing is allowed here",
    ),
];

/// Schemas, each with a value that fits and one that does not.
pub(super) const FURTHER: &[(&str, &str, &str)] = &[
    (
        r##"{"prefixItems": [{"type": "string"}], "items": false}"##,
        r##"["a"]"##,
        r##"["a", 1]"##,
    ),
    (
        r##"{"items": [{"type": "string"}], "additionalItems": false}"##,
        r##"["a"]"##,
        r##"["a", 1]"##,
    ),
    (
        r##"{"contains": {"const": 1}, "maxContains": 1}"##,
        r##"[1, 2]"##,
        r##"[1, 1.0]"##,
    ),
    (r##"{"contains": {"const": 1}}"##, r##"[1]"##, r##"[]"##),
    (
        r##"{"minProperties": 1, "maxProperties": 1}"##,
        r##"{"a": 1}"##,
        r##"{}"##,
    ),
    (
        r##"{"propertyNames": {"pattern": "^a"}}"##,
        r##"{"ab": 1}"##,
        r##"{"b": 1}"##,
    ),
    (
        r##"{"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": {"type": "string"}}"##,
        r##"{"n": 1, "s": "x"}"##,
        r##"{"s": 1}"##,
    ),
    (
        r##"{"dependentRequired": {"a": ["b"]}}"##,
        r##"{"b": 1}"##,
        r##"{"a": 1}"##,
    ),
    (
        r##"{"dependencies": {"a": {"required": ["b"]}}}"##,
        r##"{"a": 1, "b": 1}"##,
        r##"{"a": 1}"##,
    ),
    (
        r##"{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": false}"##,
        r##"{"a": 1, "b": 1}"##,
        r##"{"a": 1}"##,
    ),
    (
        r##"{"exclusiveMinimum": 0, "exclusiveMaximum": 1}"##,
        r##"0.5"##,
        r##"1"##,
    ),
    (
        r##"{"enum": [{"a": [1, 2.0]}]}"##,
        r##"{"a": [1.0, 2]}"##,
        r##"{"a": [2, 1]}"##,
    ),
    (r##"{"multipleOf": 0.1}"##, r##"0.3"##, r##"0.35"##),
    (
        r##"{"maximum": 9007199254740992}"##,
        r##"9007199254740992"##,
        r##"9007199254740993"##,
    ),
    (
        r##"{"properties": {"c": {"$ref": "#"}}, "additionalProperties": false}"##,
        r##"{"c": {"c": {}}}"##,
        r##"{"c": {"d": 1}}"##,
    ),
    // Beside a reference the older dialects have nothing.
    (
        r##"{"$ref": "#/$defs/a", "$defs": {"a": true}, "type": "string"}"##,
        r##""a""##,
        r##"1"##,
    ),
];

/// What is held against nothing: where, and why.
pub(super) const UNUSABLE: &[(&str, &str, &str)] = &[
    (r##"7"##, "", "is no schema"),
    (r##"{"type": "strin"}"##, "/type", "is no value of `type`"),
    (
        r##"{"properties": {"a": {"required": true}}}"##,
        "/properties/a/required",
        "is no value",
    ),
    (
        r##"{"properties": {"a": 1}}"##,
        "/properties/a",
        "is no schema",
    ),
    (
        r##"{"$ref": "https://example.com/x.json"}"##,
        "/$ref",
        "leads out of the document",
    ),
    (
        r##"{"properties": {"a": {"$ref": "file:///etc/passwd"}}}"##,
        "/properties/a/$ref",
        "leads out",
    ),
    (
        r##"{"$ref": "other.json#/a"}"##,
        "/$ref",
        "leads out of the document",
    ),
    (r##"{"$ref": "#/$defs/none"}"##, "/$ref", "leads nowhere"),
    (r##"{"$ref": "#name"}"##, "/$ref", "leads nowhere"),
    (
        r##"{"$schema": "https://example.com/own"}"##,
        "/$schema",
        "dialect",
    ),
    (
        r##"{"$schema": "http://json-schema.org/draft-04/schema#"}"##,
        "/$schema",
        "dialect",
    ),
    (
        r##"{"unevaluatedProperties": false}"##,
        "/unevaluatedProperties",
        "not held",
    ),
    (r##"{"$dynamicRef": "#a"}"##, "/$dynamicRef", "not held"),
    (
        r##"{"items": {"$id": "https://example.com/x"}}"##,
        "/items/$id",
        "not held",
    ),
    (r##"{"pattern": "(?=a)"}"##, "/pattern", "linear time"),
    (r##"{"pattern": "(a)\\1"}"##, "/pattern", "linear time"),
    (
        r##"{"pattern": "((a{500}){500}){500}"}"##,
        "/pattern",
        "linear time",
    ),
    (r##"{"pattern": "["}"##, "/pattern", "linear time"),
    (
        r##"{"$defs": {"unused": {"type": 1}}}"##,
        "/$defs/unused/type",
        "is no value",
    ),
    (r##"{"anyOf": []}"##, "/anyOf", "is no value"),
    (r##"{"minLength": -1}"##, "/minLength", "is no value"),
    (r##"{"multipleOf": 0}"##, "/multipleOf", "is no value"),
];
