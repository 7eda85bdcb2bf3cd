//! The types of an ORC file as the tree in which wanted fields are found, with the ids that Iceberg
//! puts into their attributes. Spec: Appendix A "ORC".

use super::tail::OrcType;
use crate::error::{Error, ErrorKind, Result};
use crate::read::stored::{StoredField, StoredShape};
use crate::read::values::{StoredLeaf, Unit};

/// How deep types may nest; a type of the table takes one level a nesting of its own.
const MAX_DEPTH: usize = 128;

/// The columns of a file.
///
/// # Errors
/// `Corrupt` for types that are no tree.
pub(super) fn fields(types: &[OrcType]) -> Result<Vec<StoredField>> {
    match types.first() {
        Some(root) if root.kind == kind::STRUCT => members(types, 0, root, 0),
        _ => Err(corrupt("the type of its rows is not a struct".to_owned())),
    }
}

/// Numbers of the types.
pub(super) mod kind {
    pub(crate) const BOOLEAN: u32 = 0;
    pub(crate) const BYTE: u32 = 1;
    pub(crate) const SHORT: u32 = 2;
    pub(crate) const INT: u32 = 3;
    pub(crate) const LONG: u32 = 4;
    pub(crate) const FLOAT: u32 = 5;
    pub(crate) const DOUBLE: u32 = 6;
    pub(crate) const STRING: u32 = 7;
    pub(crate) const BINARY: u32 = 8;
    pub(crate) const TIMESTAMP: u32 = 9;
    pub(crate) const LIST: u32 = 10;
    pub(crate) const MAP: u32 = 11;
    pub(crate) const STRUCT: u32 = 12;
    pub(crate) const UNION: u32 = 13;
    pub(crate) const DECIMAL: u32 = 14;
    pub(crate) const DATE: u32 = 15;
    pub(crate) const VARCHAR: u32 = 16;
    pub(crate) const CHAR: u32 = 17;
    pub(crate) const TIMESTAMP_INSTANT: u32 = 18;
}

fn members(
    types: &[OrcType],
    number: usize,
    parent: &OrcType,
    depth: usize,
) -> Result<Vec<StoredField>> {
    if parent.subtypes.len() != parent.field_names.len() {
        return Err(corrupt(format!(
            "column {number} has {} members and {} names",
            parent.subtypes.len(),
            parent.field_names.len()
        )));
    }
    parent
        .subtypes
        .iter()
        .enumerate()
        .zip(&parent.field_names)
        .map(|((place, _), name)| field(types, number, parent, place, name, depth + 1))
        .collect()
}

/// The number of the column at a place among those inside of another. Columns are numbered depth
/// first, so that each has a number of its own, after that of the one it is in.
pub(super) fn subtype(types: &[OrcType], number: usize, place: usize) -> Result<usize> {
    let lies = || corrupt(format!("column {number} does not say what is inside of it"));
    let parent = types.get(number).ok_or_else(lies)?;
    let at = |place: usize| {
        parent
            .subtypes
            .get(place)
            .and_then(|inner| usize::try_from(*inner).ok())
    };
    let inner = at(place).ok_or_else(lies)?;
    let after = match place.checked_sub(1) {
        None => number,
        Some(before) => at(before).ok_or_else(lies)?,
    };
    if inner <= after || inner >= types.len() {
        return Err(lies());
    }
    Ok(inner)
}

fn field(
    types: &[OrcType],
    parent_number: usize,
    parent: &OrcType,
    place: usize,
    name: &str,
    depth: usize,
) -> Result<StoredField> {
    if depth > MAX_DEPTH {
        return Err(Error::not_supported(format!(
            "its schema nests deeper than {MAX_DEPTH} levels"
        )));
    }
    let number = subtype(types, parent_number, place)?;
    // Of siblings and what is inside of them: each number must be reached once only.
    if let Some(next) = parent.subtypes.get(place + 1)
        && last_inside(types, number)? >= usize::try_from(*next).unwrap_or(0)
    {
        return Err(corrupt(format!("column {number} is there twice")));
    }
    let orc_type = types
        .get(number)
        .ok_or_else(|| corrupt(format!("column {number} has no type")))?;
    let id = orc_type
        .attribute("iceberg.id")
        .map(|id| {
            id.parse::<i32>()
                .map_err(|_| corrupt(format!("column \"{name}\" has the field id \"{id}\"")))
        })
        .transpose()?;
    let child = |place, name| field(types, number, orc_type, place, name, depth + 1);
    let shape = match orc_type.kind {
        kind::STRUCT => StoredShape::Struct(members(types, number, orc_type, depth)?),
        kind::LIST => StoredShape::List(Box::new(child(0, "element")?)),
        kind::MAP => StoredShape::Map(Box::new(child(0, "key")?), Box::new(child(1, "value")?)),
        kind::UNION => StoredShape::Other("a union"),
        _ => match leaf(orc_type) {
            Some(leaf) => StoredShape::Leaf(leaf),
            None => StoredShape::Other("of a type that no Iceberg type is stored as"),
        },
    };
    Ok(StoredField {
        id,
        name: name.to_owned(),
        shape,
    })
}

/// The last number of the column and what is inside of it, which is its last child's last.
fn last_inside(types: &[OrcType], number: usize) -> Result<usize> {
    let mut number = number;
    while let Some(last) = types
        .get(number)
        .and_then(|orc_type| orc_type.subtypes.len().checked_sub(1))
    {
        number = subtype(types, number, last)?;
    }
    Ok(number)
}

fn leaf(orc_type: &OrcType) -> Option<StoredLeaf> {
    Some(match orc_type.kind {
        kind::BOOLEAN => StoredLeaf::Boolean,
        kind::BYTE | kind::SHORT | kind::INT => StoredLeaf::Int,
        kind::LONG if orc_type.attribute("iceberg.long-type") == Some("TIME") => {
            StoredLeaf::Time(Unit::Micro)
        }
        kind::LONG => StoredLeaf::Long,
        kind::FLOAT => StoredLeaf::Float,
        kind::DOUBLE => StoredLeaf::Double,
        kind::STRING | kind::VARCHAR | kind::CHAR => StoredLeaf::Text,
        kind::BINARY => StoredLeaf::Bytes,
        kind::TIMESTAMP | kind::TIMESTAMP_INSTANT => StoredLeaf::Timestamp(Unit::Nano),
        kind::DECIMAL => StoredLeaf::Decimal {
            scale: i64::from(orc_type.scale),
        },
        kind::DATE => StoredLeaf::Date,
        _ => return None,
    })
}

impl OrcType {
    fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, what)
}
