//! Partition specs: which partition values files carry and what they are made from.
//! Spec: "Partitioning", "Partition Evolution"; JSON form in Appendix C.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::json::{self, Node, ObjectWriter};
use super::schema::Schema;
use super::transform::Transform;
use super::types::{NestedField, PrimitiveType, StructType, Type};
use crate::error::Result;

/// The first id of partition fields; v1 counts up from here in each spec.
pub const FIRST_PARTITION_FIELD_ID: i32 = 1000;

const SPEC_KEYS: &[&str] = &["spec-id", "fields"];
const FIELD_KEYS: &[&str] = &["source-id", "source-ids", "field-id", "name", "transform"];

/// How files are partitioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The id that manifests refer to this spec by.
    pub spec_id: i32,
    /// The fields in order.
    pub fields: Vec<PartitionField>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// One value of a partition tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionField {
    /// The columns that the value is made from; more than one only under a transform with several
    /// arguments (v3).
    pub source_ids: Vec<i32>,
    /// The id of the value in partition tuples.
    pub field_id: i32,
    /// The name of the value in partition tuples.
    pub name: String,
    /// How the value is made.
    pub transform: Transform,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

impl PartitionField {
    /// The source column of a transform with one argument.
    pub fn source_id(&self) -> Option<i32> {
        match self.source_ids.as_slice() {
            [source_id] => Some(*source_id),
            _ => None,
        }
    }

    fn from_node(node: &Node<'_>, assigned_id: Option<i32>) -> Result<Self> {
        let transform = node.required("transform")?;
        let field_id = match assigned_id {
            Some(field_id) => field_id,
            None => node.required("field-id")?.int()?,
        };
        Ok(Self {
            source_ids: read_source_ids(node)?,
            field_id,
            name: node.required("name")?.text()?.to_owned(),
            transform: read_transform(&transform)?,
            unknown: node.unknown(FIELD_KEYS)?,
        })
    }

    fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        write_source_ids(&mut writer, &self.source_ids)
            .put("field-id", self.field_id)
            .put("name", self.name.as_str())
            .put("transform", self.transform.to_string())
            .finish(&self.unknown)
    }
}

/// `source-id`, or the several `source-ids` of a partition or sort field.
pub(crate) fn read_source_ids(node: &Node<'_>) -> Result<Vec<i32>> {
    let Some(list) = node.optional("source-ids")? else {
        return Ok(vec![node.required("source-id")?.int()?]);
    };
    let source_ids = list.ints()?;
    if source_ids.is_empty() {
        return Err(list.corrupt("there must be at least one source column"));
    }
    Ok(source_ids)
}

/// Writes what [`read_source_ids`] reads: one as `source-id`, several as `source-ids`.
pub(crate) fn write_source_ids<'a>(
    writer: &'a mut ObjectWriter,
    source_ids: &[i32],
) -> &'a mut ObjectWriter {
    match source_ids {
        [source_id] => writer.put("source-id", *source_id),
        several => writer.put_list("source-ids", several.iter().copied()),
    }
}

/// The name of a transform.
pub(crate) fn read_transform(node: &Node<'_>) -> Result<Transform> {
    Transform::parse(node.text()?).map_err(|error| node.at(&error, None))
}

impl PartitionSpec {
    /// A spec without fields.
    pub fn unpartitioned(spec_id: i32) -> Self {
        Self::new(spec_id, Vec::new())
    }

    /// A spec of these fields.
    pub fn new(spec_id: i32, fields: Vec<PartitionField>) -> Self {
        Self {
            spec_id,
            fields,
            unknown: Map::new(),
        }
    }

    /// Whether the spec tells no files apart: it has no fields, or all of them are `void`.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields
            .iter()
            .all(|field| field.transform == Transform::Void)
    }

    /// The largest field id; one less than the first that can be given if there are no fields.
    pub fn highest_field_id(&self) -> i32 {
        self.fields
            .iter()
            .map(|field| field.field_id)
            .max()
            .unwrap_or(FIRST_PARTITION_FIELD_ID - 1)
    }

    /// The type of partition tuples, with partition field ids as ids, all fields optional.
    ///
    /// A field whose source column `schema` does not have (it was dropped) or whose transform is
    /// unknown is of type `unknown`.
    pub fn partition_type(&self, schema: &Schema) -> StructType {
        self.partition_type_by(|source_id| {
            schema
                .field_by_id(source_id)
                .map(|field| field.field_type.clone())
        })
    }

    /// As [`PartitionSpec::partition_type`], with the types of source columns from `source_type`.
    pub(crate) fn partition_type_by(
        &self,
        source_type: impl Fn(i32) -> Option<Type>,
    ) -> StructType {
        StructType::new(self.fields.iter().map(|field| {
            let source = field.source_id().and_then(&source_type);
            let result = match (&field.transform, source) {
                // Their results do not depend on the source.
                (
                    transform @ (Transform::Bucket(_)
                    | Transform::Year
                    | Transform::Month
                    | Transform::Day
                    | Transform::Hour),
                    _,
                ) => transform.result_type(&PrimitiveType::Unknown),
                (transform, Some(Type::Primitive(source))) => transform.result_type(&source),
                _ => PrimitiveType::Unknown,
            };
            NestedField::optional(field.field_id, field.name.clone(), Type::Primitive(result))
        }))
    }

    /// Reads a spec from its JSON form, `{"spec-id": …, "fields": […]}`.
    ///
    /// # Errors
    /// `Corrupt`, naming the key at fault.
    pub fn from_json(value: &Value) -> Result<Self> {
        Self::from_node(&Node::root(value))
    }

    /// Reads the list of fields alone, as manifests and v1's `partition-spec` keep it.
    ///
    /// # Errors
    /// `Corrupt`, naming the key at fault.
    pub fn parse_fields(spec_id: i32, text: &str) -> Result<Self> {
        let value = json::parse(text.as_bytes())?;
        Self::from_fields_node(spec_id, &Node::root(&value))
    }

    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        let spec_id = node.required("spec-id")?.int()?;
        Ok(Self {
            unknown: node.unknown(SPEC_KEYS)?,
            ..Self::from_fields_node(spec_id, &node.required("fields")?)?
        })
    }

    pub(crate) fn from_fields_node(spec_id: i32, node: &Node<'_>) -> Result<Self> {
        let mut without_id = 0;
        for item in node.items()? {
            without_id += usize::from(item.optional("field-id")?.is_none());
        }
        let count = node.items()?.count();
        if without_id != 0 && without_id != count {
            return Err(node.corrupt(format!(
                "{without_id} of {count} partition fields have no \"field-id\""
            )));
        }
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        let mut fields = Vec::new();
        for (item, counted_id) in node.items()?.zip(FIRST_PARTITION_FIELD_ID..) {
            let field = PartitionField::from_node(&item, (without_id != 0).then_some(counted_id))?;
            if !ids.insert(field.field_id) {
                return Err(item.corrupt(format!(
                    "the partition field id {} is there twice in the spec",
                    field.field_id
                )));
            }
            if !names.insert(field.name.clone()) {
                return Err(item.corrupt(format!(
                    "the partition field name \"{}\" is there twice in the spec",
                    field.name
                )));
            }
            fields.push(field);
        }
        Ok(Self::new(spec_id, fields))
    }

    /// The spec in its JSON form.
    pub fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("spec-id", self.spec_id)
            .put("fields", self.fields_to_json())
            .finish(&self.unknown)
    }

    /// The list of fields alone, as manifests and v1's `partition-spec` keep it.
    pub fn fields_to_json(&self) -> Value {
        self.fields.iter().map(PartitionField::to_json).collect()
    }
}
