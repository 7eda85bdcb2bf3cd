//! Sort orders: how rows are ordered within files.
//! Spec: "Sorting"; JSON form in Appendix C.

use serde_json::{Map, Value};

use super::json::{Node, ObjectWriter};
use super::partition::{read_source_ids, read_transform, write_source_ids};
use super::transform::Transform;
use crate::error::Result;

/// The id of the order that orders nothing.
pub const UNSORTED_ORDER_ID: i32 = 0;

const ORDER_KEYS: &[&str] = &["order-id", "fields"];
const FIELD_KEYS: &[&str] = &[
    "transform",
    "source-id",
    "source-ids",
    "direction",
    "null-order",
];

/// An order of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortOrder {
    /// The id that files refer to this order by; 0 is unsorted.
    pub order_id: i32,
    /// The fields, the most significant first.
    pub fields: Vec<SortField>,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// One key of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortField {
    /// How the key is made.
    pub transform: Transform,
    /// The columns that it is made from; more than one only under a transform with several
    /// arguments (v3).
    pub source_ids: Vec<i32>,
    /// Up or down.
    pub direction: SortDirection,
    /// Where nulls are.
    pub null_order: NullOrder,
    /// Keys this version does not know, kept through a rewrite.
    pub unknown: Map<String, Value>,
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortDirection {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// Where nulls are, whatever the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullOrder {
    /// Before all values.
    NullsFirst,
    /// After all values.
    NullsLast,
}

impl SortOrder {
    /// The order that orders nothing.
    pub fn unsorted() -> Self {
        Self {
            order_id: UNSORTED_ORDER_ID,
            fields: Vec::new(),
            unknown: Map::new(),
        }
    }

    /// Whether it orders nothing.
    pub fn is_unsorted(&self) -> bool {
        self.fields.is_empty()
    }

    /// Reads an order from its JSON form.
    ///
    /// # Errors
    /// `Corrupt`, naming the key at fault.
    pub fn from_json(value: &Value) -> Result<Self> {
        Self::from_node(&Node::root(value))
    }

    pub(crate) fn from_node(node: &Node<'_>) -> Result<Self> {
        let order_id = node.required("order-id")?;
        let fields = node.required("fields")?;
        let order = Self {
            order_id: order_id.int()?,
            fields: fields
                .items()?
                .map(|item| SortField::from_node(&item))
                .collect::<Result<_>>()?,
            unknown: node.unknown(ORDER_KEYS)?,
        };
        if order.order_id == UNSORTED_ORDER_ID && !order.is_unsorted() {
            return Err(order_id.corrupt("id 0 is that of the unsorted order, which has no fields"));
        }
        Ok(order)
    }

    /// The order in its JSON form.
    pub fn to_json(&self) -> Value {
        ObjectWriter::default()
            .put("order-id", self.order_id)
            .put_list("fields", self.fields.iter().map(SortField::to_json))
            .finish(&self.unknown)
    }
}

impl SortField {
    fn from_node(node: &Node<'_>) -> Result<Self> {
        let transform = node.required("transform")?;
        let direction = node.required("direction")?;
        let null_order = node.required("null-order")?;
        Ok(Self {
            transform: read_transform(&transform)?,
            source_ids: read_source_ids(node)?,
            direction: match direction.text()?.to_ascii_lowercase().as_str() {
                "asc" => SortDirection::Ascending,
                "desc" => SortDirection::Descending,
                _ => return Err(direction.corrupt("expected \"asc\" or \"desc\"")),
            },
            null_order: match null_order.text()?.to_ascii_lowercase().as_str() {
                "nulls-first" => NullOrder::NullsFirst,
                "nulls-last" => NullOrder::NullsLast,
                _ => return Err(null_order.corrupt("expected \"nulls-first\" or \"nulls-last\"")),
            },
            unknown: node.unknown(FIELD_KEYS)?,
        })
    }

    fn to_json(&self) -> Value {
        let mut writer = ObjectWriter::default();
        writer.put("transform", self.transform.to_string());
        write_source_ids(&mut writer, &self.source_ids)
            .put(
                "direction",
                match self.direction {
                    SortDirection::Ascending => "asc",
                    SortDirection::Descending => "desc",
                },
            )
            .put(
                "null-order",
                match self.null_order {
                    NullOrder::NullsFirst => "nulls-first",
                    NullOrder::NullsLast => "nulls-last",
                },
            )
            .finish(&self.unknown)
    }
}
