//! Reading JSON that is not to be trusted: every fault names the key it was found at.
//! Spec: Appendix C.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};

/// How deep arrays and objects may nest; a type takes at most three levels a nesting of its own.
pub(crate) const MAX_JSON_DEPTH: usize = 3 * super::type_json::MAX_TYPE_DEPTH + 16;

/// Parses a JSON text in UTF-8, with or without byte order mark.
pub(crate) fn parse(text: &[u8]) -> Result<Value> {
    parse_to_depth(text, MAX_JSON_DEPTH)
}

/// Parses a JSON text that may nest so deep.
pub(crate) fn parse_to_depth(text: &[u8], max_depth: usize) -> Result<Value> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::new(ErrorKind::Corrupt, "is empty, expected JSON"));
    }
    if depth(text) > max_depth {
        return Err(Error::new(
            ErrorKind::NotSupported,
            format!("JSON nests deeper than {max_depth} levels"),
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The depth was counted above: serde's own limit would be too low for nested types.
    deserializer.disable_recursion_limit();
    let value = serde::Deserialize::deserialize(&mut deserializer);
    value
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("not valid JSON: {error}")).with_source(error)
        })
}

/// The deepest nesting of brackets outside strings; needs no stack.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    deepest
}

/// A place in a JSON document, linked to the place around it.
#[derive(Clone, Copy)]
struct Place<'a> {
    around: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(around) = self.around {
            around.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Key(key) => {
                let first = self
                    .around
                    .is_none_or(|around| matches!(around.step, Step::Root));
                let dot = if first { "" } else { "." };
                if key.is_empty() || key.contains(['.', '[', '"', ' ']) {
                    write!(f, "{dot}{key:?}")
                } else {
                    write!(f, "{dot}{key}")
                }
            }
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A JSON value together with its place in the document.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    place: Place<'a>,
}

impl<'a> Node<'a> {
    /// The document itself.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self {
            value,
            place: Place {
                around: None,
                step: Step::Root,
            },
        }
    }

    /// The value as it is.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// A fault at this place.
    pub(crate) fn corrupt(&self, what: impl fmt::Display) -> Error {
        self.error(ErrorKind::Corrupt, what)
    }

    /// A fault of another kind at this place.
    pub(crate) fn error(&self, kind: ErrorKind, what: impl fmt::Display) -> Error {
        match self.place.step {
            Step::Root => Error::new(kind, what.to_string()),
            _ => Error::new(kind, format!("{}: {what}", self.place)),
        }
    }

    /// Puts this place, and what is described there, in front of an error that does not name them.
    pub(crate) fn at(&self, error: &Error, owner: Option<&str>) -> Error {
        let placed = match owner {
            Some(owner) => self.error(error.kind(), format!("{owner}: {}", error.message())),
            None => self.error(error.kind(), error.message()),
        };
        match error.hint() {
            Some(hint) => placed.with_hint(hint),
            None => placed,
        }
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "another number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.corrupt(format!("expected {what}, found {found}"))
    }

    /// This value as an object.
    pub(crate) fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value
            .as_object()
            .ok_or_else(|| self.expected("an object"))
    }

    /// The elements of this array, each with its place.
    pub(crate) fn items<'s>(&'s self) -> Result<impl Iterator<Item = Node<'s>>> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.expected("an array"))?;
        Ok(items.iter().enumerate().map(move |(index, value)| Node {
            value,
            place: Place {
                around: Some(&self.place),
                step: Step::Index(index),
            },
        }))
    }

    /// The entries of this object, each with its place.
    pub(crate) fn entries<'s>(&'s self) -> Result<impl Iterator<Item = (&'s str, Node<'s>)>> {
        let object = self.object()?;
        Ok(object
            .iter()
            .map(move |(key, value)| (key.as_str(), self.child(key, value))))
    }

    fn child<'s>(&'s self, key: &'s str, value: &'s Value) -> Node<'s> {
        Node {
            value,
            place: Place {
                around: Some(&self.place),
                step: Step::Key(key),
            },
        }
    }

    /// The value of `key`; null counts as absent.
    pub(crate) fn optional<'s>(&'s self, key: &'s str) -> Result<Option<Node<'s>>> {
        Ok(self
            .object()?
            .get(key)
            .filter(|value| !value.is_null())
            .map(|value| self.child(key, value)))
    }

    /// The value of `key`, which must be there.
    pub(crate) fn required<'s>(&'s self, key: &'s str) -> Result<Node<'s>> {
        self.optional(key)?
            .ok_or_else(|| self.corrupt(format!("the required key \"{key}\" is missing")))
    }

    /// This value as a 64-bit integer.
    pub(crate) fn long(&self) -> Result<i64> {
        self.value
            .as_i64()
            .ok_or_else(|| self.expected("a 64-bit integer"))
    }

    /// This value as a 32-bit integer.
    pub(crate) fn int(&self) -> Result<i32> {
        self.value
            .as_i64()
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| self.expected("a 32-bit integer"))
    }

    /// This value as a boolean.
    pub(crate) fn boolean(&self) -> Result<bool> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("a boolean"))
    }

    /// This value as a text.
    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    /// This array as 32-bit integers.
    pub(crate) fn ints(&self) -> Result<Vec<i32>> {
        self.items()?.map(|item| item.int()).collect()
    }

    /// This array as texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        self.items()?
            .map(|item| item.text().map(str::to_owned))
            .collect()
    }

    /// This object as a map from text to text.
    pub(crate) fn text_map(&self) -> Result<BTreeMap<String, String>> {
        self.entries()?
            .map(|(key, value)| Ok((key.to_owned(), value.text()?.to_owned())))
            .collect()
    }

    /// The 64-bit integer at `key`, if it is there.
    pub(crate) fn optional_long(&self, key: &str) -> Result<Option<i64>> {
        self.optional(key)?.map(|node| node.long()).transpose()
    }

    /// The 32-bit integer at `key`, if it is there.
    pub(crate) fn optional_int(&self, key: &str) -> Result<Option<i32>> {
        self.optional(key)?.map(|node| node.int()).transpose()
    }

    /// The text at `key`, if it is there.
    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<String>> {
        self.optional(key)?
            .map(|node| node.text().map(str::to_owned))
            .transpose()
    }

    /// The map from text to text at `key`; empty if it is not there.
    pub(crate) fn optional_text_map(&self, key: &str) -> Result<BTreeMap<String, String>> {
        self.optional(key)?
            .map_or_else(|| Ok(BTreeMap::new()), |node| node.text_map())
    }

    /// What `read` makes of each element of the array at `key`; nothing if it is not there.
    pub(crate) fn optional_list<T>(
        &self,
        key: &str,
        read: impl Fn(&Node<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self.optional(key)? {
            Some(list) => list.items()?.map(|item| read(&item)).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// The keys that are not in `known`, to be kept through a rewrite.
    pub(crate) fn unknown(&self, known: &[&str]) -> Result<Map<String, Value>> {
        Ok(self
            .object()?
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }
}

/// Writes an object: keys that are absent are left out, unknown ones come last.
#[derive(Default)]
pub(crate) struct ObjectWriter(Map<String, Value>);

impl ObjectWriter {
    /// Writes a key.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Writes a key if there is a value.
    pub(crate) fn put_some(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        if let Some(value) = value {
            self.put(key, value);
        }
        self
    }

    /// Writes a map from text to text.
    pub(crate) fn put_text_map(&mut self, key: &str, map: &BTreeMap<String, String>) -> &mut Self {
        let object: Map<String, Value> = map
            .iter()
            .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
            .collect();
        self.put(key, object)
    }

    /// Writes a list.
    pub(crate) fn put_list<T: Into<Value>>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        self.put(
            key,
            items.into_iter().map(Into::into).collect::<Vec<Value>>(),
        )
    }

    /// Writes the keys that reading did not know.
    pub(crate) fn finish(&mut self, unknown: &Map<String, Value>) -> Value {
        for (key, value) in unknown {
            self.0.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(std::mem::take(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_names_its_place() {
        let document = json!({"a": {"b.c": [1, {"d": "x"}]}});
        let root = Node::root(&document);
        let a = root.required("a").unwrap();
        let list = a.required("b.c").unwrap();
        let item = list.items().unwrap().nth(1).unwrap();
        let fault = item.required("d").unwrap().int().unwrap_err();
        assert_eq!(
            fault.message(),
            "a.\"b.c\"[1].d: expected a 32-bit integer, found a string"
        );
        let missing = item.required("e").map(|_| ()).unwrap_err();
        assert_eq!(
            missing.message(),
            "a.\"b.c\"[1]: the required key \"e\" is missing"
        );
    }

    #[test]
    fn integers_do_not_wrap_or_round() {
        for (text, fits) in [
            ("9223372036854775807", true),
            ("9223372036854775808", false),
            ("-9223372036854775808", true),
            ("1.5", false),
            ("1e3", false),
        ] {
            let value = parse(text.as_bytes()).unwrap();
            assert_eq!(Node::root(&value).long().is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert_eq!(depth(br#"{"a[[[\"{{": ["x\\", {}]}"#), 3);
        assert_eq!(depth(br#"["\"[[[["]"#), 1);
        assert_eq!(depth(br#"["\\", [[]]]"#), 3);
        assert_eq!(depth(b"]]]]["), 1);
    }

    #[test]
    fn deep_documents_are_refused_without_using_the_stack() {
        let bomb = "[".repeat(1_000_000);
        let fault = parse(bomb.as_bytes()).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::NotSupported);
        let deep = format!(
            "{}{}",
            "[".repeat(MAX_JSON_DEPTH),
            "]".repeat(MAX_JSON_DEPTH)
        );
        assert!(parse(deep.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", " \n", "{", "{} {}", "\u{1}", "{\"a\": nan}"] {
            let fault = parse(text.as_bytes()).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Corrupt, "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert_eq!(parse(b"\xEF\xBB\xBF{}").unwrap(), json!({}));
    }
}
