//! The schemas that were parsed last: all manifests of a table have the same, and to parse it takes longer than to read
//! many entries. Avro specification: "Object Container Files".

use std::sync::{Arc, Mutex, PoisonError};

use super::schema::AvroSchema;
use crate::error::Result;

/// How many schemas are known at a time.
const KNOWN: usize = 16;

/// A longer text is parsed each time: no metadata file needs one, and it must not fill memory.
const LONGEST: usize = 64 * 1024;

/// The schemas, the one last used at the end.
static SCHEMAS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// A text and what it says.
struct Known {
    text: Box<[u8]>,
    schema: Arc<AvroSchema>,
}

/// As [`AvroSchema::parse`]; shared with all who asked for the same text.
pub(super) fn parse(json: &[u8]) -> Result<Arc<AvroSchema>> {
    if json.len() > LONGEST {
        return AvroSchema::parse(json);
    }
    if let Some(known) = find(json) {
        return Ok(known);
    }
    let schema = AvroSchema::parse(json)?;
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    if schemas.len() >= KNOWN {
        schemas.remove(0);
    }
    schemas.push(Known {
        text: json.into(),
        schema: Arc::clone(&schema),
    });
    Ok(schema)
}

fn find(json: &[u8]) -> Option<Arc<AvroSchema>> {
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = schemas.iter().rposition(|known| *known.text == *json)?;
    let known = schemas.remove(place);
    let schema = Arc::clone(&known.schema);
    schemas.push(known);
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_parsed_once_and_few_are_kept() {
        let text =
            |number: usize| format!(r#"{{"type":"fixed","name":"known_{number}","size":1}}"#);
        let first = parse(text(0).as_bytes()).expect("a schema");
        let again = parse(text(0).as_bytes()).expect("a schema");
        assert_eq!(first, again);
        for number in 0..3 * KNOWN {
            parse(text(number).as_bytes()).expect("a schema");
        }
        let schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(schemas.len() <= KNOWN);
    }

    #[test]
    fn what_is_no_schema_never_is_known() {
        for _ in 0..2 {
            assert!(parse(b"{\"type\":\"no type\"}").is_err());
        }
    }
}
