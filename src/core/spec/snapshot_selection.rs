//! Time travel: which state of a table is read, and which of its fields a column's name means there.
//! Spec: "Point in Time Reads", "Snapshot References", "Schemas".

use std::sync::Arc;

use super::iso_text::iso_timestamp;
use super::schema::Schema;
use super::snapshot::{ReferenceKind, Snapshot};
use super::table_metadata::{MAIN_BRANCH, TableMetadata};
use super::types::NestedField;
use crate::error::{Error, ErrorKind, Result};

/// How many snapshots or references an error lists at most.
const LISTED: usize = 10;

/// Which state of a table is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SnapshotSelector {
    /// The current one.
    #[default]
    Current,
    /// The snapshot with this id.
    Snapshot(i64),
    /// What was current at this time, in milliseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// The branch or tag of this name.
    Reference(String),
    /// Not the rows of a state, but what changed from one snapshot to another.
    Changes {
        /// The snapshot whose rows are known; `None` for none, before the first.
        from: Option<i64>,
        /// The last snapshot whose changes are wanted; `None` for the current one.
        to: Option<i64>,
    },
}

/// A state of a table.
#[derive(Debug, Clone)]
pub struct SelectedSnapshot {
    /// The snapshot; `None` for a table without rows.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The schema its rows are read in: a snapshot's own, but a branch is read in the table's current
    /// one.
    pub schema: Arc<Schema>,
    /// The snapshots whose changes are wanted instead of the rows of `snapshot`, which is the last of them;
    /// oldest first, each the parent of the next.
    pub changes: Option<Arc<[Arc<Snapshot>]>>,
}

/// How a column says which field it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldReference<'a> {
    /// By field id.
    Id(i32),
    /// By name, as the current schema has it.
    Name(&'a str),
}

/// What a column stands for in a state of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundField {
    /// This field of the state's schema.
    Field(Arc<NestedField>),
    /// A field of the table, but not of that state: all of its rows have null there.
    NotThen,
    /// No field at all.
    Unknown,
}

impl TableMetadata {
    /// The state that a selector means.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such snapshot or reference, or if the time is before the first
    /// entry of the snapshot log; it lists what there is. `Corrupt` if the snapshot names a schema
    /// that the table does not have.
    pub fn select_snapshot(&self, selector: &SnapshotSelector) -> Result<SelectedSnapshot> {
        match selector {
            SnapshotSelector::Current => self.current_state(self.current_snapshot()),
            SnapshotSelector::Snapshot(snapshot_id) => {
                let snapshot = self.snapshot_by_id(*snapshot_id).ok_or_else(|| {
                    self.refused(format!("has no snapshot {snapshot_id}"))
                        .with_detail(self.list_snapshots())
                })?;
                self.own_state(snapshot)
            }
            SnapshotSelector::Timestamp(timestamp_ms) => self.state_as_of(*timestamp_ms),
            SnapshotSelector::Reference(name) => self.state_of_reference(name),
            SnapshotSelector::Changes { from, to } => self.changes(*from, *to),
        }
    }

    /// The field that a column of a foreign table stands for in a schema of this table. A name is looked up
    /// in the current schema, and the field found by its id; a name that the current schema does not lead
    /// to is looked up in the schema itself.
    pub fn find_field(&self, schema: &Schema, wanted: FieldReference<'_>) -> FoundField {
        let own = |id: i32| schema.fields().field_by_id(id).map(Arc::clone);
        let any = |has: &dyn Fn(&Schema) -> bool| self.schemas.values().any(|other| has(other));
        let (found, known) = match wanted {
            FieldReference::Id(id) => (
                own(id),
                any(&|other| other.fields().field_by_id(id).is_some()),
            ),
            FieldReference::Name(name) => (
                self.current_schema()
                    .and_then(|current| current.fields().field_by_name(name))
                    .and_then(|field| own(field.id))
                    .or_else(|| schema.fields().field_by_name(name).map(Arc::clone)),
                self.current_schema()
                    .is_some_and(|current| current.fields().field_by_name(name).is_some()),
            ),
        };
        match found {
            Some(field) => FoundField::Field(field),
            // In the table's current state every field that there is has values.
            None if known && schema.schema_id() != self.current_schema_id => FoundField::NotThen,
            None => FoundField::Unknown,
        }
    }

    fn state_as_of(&self, timestamp_ms: i64) -> Result<SelectedSnapshot> {
        let Some(entry) = self.snapshot_as_of(timestamp_ms) else {
            let refused = self.refused(format!(
                "had no snapshot at {timestamp_ms} ms ({})",
                time_text(timestamp_ms)
            ));
            return Err(match self.snapshot_log.first() {
                Some(first) => refused.with_detail(format!(
                    "The earliest time it can be read at is {} ms ({}).",
                    first.timestamp_ms,
                    time_text(first.timestamp_ms)
                )),
                None => refused.with_detail("Its snapshot log is empty."),
            });
        };
        let snapshot = self.snapshot_by_id(entry.snapshot_id).ok_or_else(|| {
            self.refused(format!(
                "no longer has snapshot {}, which was current at {timestamp_ms} ms ({})",
                entry.snapshot_id,
                time_text(timestamp_ms)
            ))
            .with_detail(self.list_snapshots())
        })?;
        self.own_state(snapshot)
    }

    fn state_of_reference(&self, name: &str) -> Result<SelectedSnapshot> {
        let Some(reference) = self.refs.get(name) else {
            if name == MAIN_BRANCH {
                return self.current_state(self.current_snapshot());
            }
            return Err(self
                .refused(format!("has no branch or tag \"{name}\""))
                .with_detail(self.list_references()));
        };
        let snapshot = self.snapshot_by_id(reference.snapshot_id).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "\"{name}\" of the table at \"{}\" is snapshot {}, which the table does not have",
                    self.location, reference.snapshot_id
                ),
            )
        })?;
        match reference.kind {
            ReferenceKind::Branch => self.current_state(Some(snapshot)),
            ReferenceKind::Tag => self.own_state(snapshot),
        }
    }

    fn own_state(&self, snapshot: &Arc<Snapshot>) -> Result<SelectedSnapshot> {
        Ok(SelectedSnapshot {
            schema: Arc::clone(self.schema_for_snapshot(snapshot)?),
            snapshot: Some(Arc::clone(snapshot)),
            changes: None,
        })
    }

    fn current_state(&self, snapshot: Option<&Arc<Snapshot>>) -> Result<SelectedSnapshot> {
        let schema = self.current_schema().map(Arc::clone).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the table at \"{}\" has no schema {}, which is its current one",
                    self.location, self.current_schema_id
                ),
            )
        })?;
        Ok(SelectedSnapshot {
            snapshot: snapshot.map(Arc::clone),
            schema,
            changes: None,
        })
    }

    pub(super) fn refused(&self, what: String) -> Error {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("the table at \"{}\" {what}", self.location),
        )
    }

    fn list_snapshots(&self) -> String {
        let newest_first = self.snapshots.iter().rev().map(|snapshot| {
            format!(
                "{} ({})",
                snapshot.snapshot_id,
                time_text(snapshot.timestamp_ms)
            )
        });
        listed(
            "It has no snapshots.",
            "Its snapshots are, newest first",
            self.snapshots.len(),
            newest_first,
        )
    }

    fn list_references(&self) -> String {
        let names = self.refs.iter().map(|(name, reference)| {
            let kind = match reference.kind {
                ReferenceKind::Branch => "branch",
                ReferenceKind::Tag => "tag",
            };
            format!("{kind} \"{name}\"")
        });
        listed(
            "It has no branches and tags.",
            "It has",
            self.refs.len(),
            names,
        )
    }
}

/// So many of the names as a person wants to read.
pub(super) fn listed(
    none: &str,
    start: &str,
    count: usize,
    names: impl Iterator<Item = String>,
) -> String {
    let names: Vec<String> = names.take(LISTED).collect();
    match count.saturating_sub(names.len()) {
        0 if names.is_empty() => none.to_owned(),
        0 => format!("{start}: {}.", names.join(", ")),
        more => format!("{start}: {}, and {more} more.", names.join(", ")),
    }
}

/// A time in milliseconds since 1970-01-01 UTC for a person: ISO 8601 in UTC.
pub fn time_text(timestamp_ms: i64) -> String {
    format!("{}Z", iso_timestamp(timestamp_ms, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "v1.metadata.json";

    /// A table whose column was renamed (2), dropped and made anew (3 to 5), and added (4); whose log has a
    /// rollback; with a branch and a tag.
    fn table() -> TableMetadata {
        let text = r#"{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": "/t", "last-sequence-number": 3, "last-updated-ms": 5000, "last-column-id": 5,
            "current-schema-id": 1, "schemas": [
              {"type": "struct", "schema-id": 0, "fields": [
                {"id": 1, "name": "a", "required": true, "type": "long"},
                {"id": 2, "name": "old", "required": false, "type": "string"},
                {"id": 3, "name": "c", "required": false, "type": "int"}]},
              {"type": "struct", "schema-id": 1, "fields": [
                {"id": 1, "name": "a", "required": true, "type": "long"},
                {"id": 2, "name": "new", "required": false, "type": "string"},
                {"id": 4, "name": "d", "required": false, "type": "int"},
                {"id": 5, "name": "c", "required": false, "type": "int"}]}],
            "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999, "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}], "properties": {},
            "current-snapshot-id": 20,
            "refs": {"main": {"snapshot-id": 20, "type": "branch"},
              "b": {"snapshot-id": 10, "type": "branch"}, "t": {"snapshot-id": 10, "type": "tag"}},
            "snapshots": [
              {"snapshot-id": 10, "sequence-number": 1, "timestamp-ms": 1000, "manifest-list": "/t/1",
               "summary": {"operation": "append"}, "schema-id": 0},
              {"snapshot-id": 20, "sequence-number": 2, "timestamp-ms": 2000, "manifest-list": "/t/2",
               "summary": {"operation": "append"}, "schema-id": 1},
              {"snapshot-id": 30, "sequence-number": 3, "timestamp-ms": 3000, "manifest-list": "/t/3",
               "summary": {"operation": "append"}}],
            "snapshot-log": [{"timestamp-ms": 1000, "snapshot-id": 10},
              {"timestamp-ms": 2000, "snapshot-id": 20}, {"timestamp-ms": 3000, "snapshot-id": 30},
              {"timestamp-ms": 4000, "snapshot-id": 20}, {"timestamp-ms": 4500, "snapshot-id": 40},
              {"timestamp-ms": 5000, "snapshot-id": 20}],
            "metadata-log": []}"#;
        TableMetadata::parse(FILE, text.as_bytes()).unwrap()
    }

    /// Snapshot and schema that a selector means.
    fn selected(selector: SnapshotSelector) -> (Option<i64>, i32) {
        let selected = table().select_snapshot(&selector).unwrap();
        (
            selected.snapshot.map(|snapshot| snapshot.snapshot_id),
            selected.schema.schema_id(),
        )
    }

    fn refused(selector: SnapshotSelector) -> String {
        let error = table().select_snapshot(&selector).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        format!("{error} {}", error.detail().unwrap_or_default())
    }

    #[test]
    fn a_snapshot_and_a_tag_have_their_own_schema_a_branch_the_current_one() {
        assert_eq!(selected(SnapshotSelector::Current), (Some(20), 1));
        assert_eq!(selected(SnapshotSelector::Snapshot(10)), (Some(10), 0));
        assert_eq!(
            selected(SnapshotSelector::Reference("t".into())),
            (Some(10), 0)
        );
        assert_eq!(
            selected(SnapshotSelector::Reference("b".into())),
            (Some(10), 1)
        );
        // A snapshot that names no schema is read in the current one.
        assert_eq!(selected(SnapshotSelector::Snapshot(30)), (Some(30), 1));
    }

    #[test]
    fn the_log_decides_what_was_current() {
        for (timestamp_ms, snapshot_id) in [
            (1000, 10),
            (1999, 10),
            (2000, 20),
            (3999, 30),
            (4000, 20),
            (i64::MAX, 20),
        ] {
            assert_eq!(
                selected(SnapshotSelector::Timestamp(timestamp_ms)).0,
                Some(snapshot_id),
                "{timestamp_ms}"
            );
        }
    }

    #[test]
    fn what_there_is_not_is_answered_with_what_there_is() {
        let early = refused(SnapshotSelector::Timestamp(999));
        assert!(
            early.contains("1000 ms (1970-01-01T00:00:01.000Z)"),
            "{early}"
        );
        assert!(refused(SnapshotSelector::Timestamp(i64::MIN)).contains("1000 ms"));
        let expired = refused(SnapshotSelector::Timestamp(4600));
        assert!(expired.contains("no longer has snapshot 40"), "{expired}");
        let unknown = refused(SnapshotSelector::Snapshot(11));
        assert!(
            unknown.contains("snapshot 11") && unknown.contains("10 (1970-01-01T00:00:01.000Z)"),
            "{unknown}"
        );
        let nameless = refused(SnapshotSelector::Reference("x".into()));
        assert!(
            nameless.contains("branch \"b\", branch \"main\", tag \"t\""),
            "{nameless}"
        );
    }

    #[test]
    fn main_is_there_before_the_first_snapshot() {
        let mut empty = table();
        empty.refs.clear();
        empty.current_snapshot_id = None;
        empty.snapshots.clear();
        empty.snapshot_log.clear();
        let main = SnapshotSelector::Reference("main".into());
        assert!(empty.select_snapshot(&main).unwrap().snapshot.is_none());
        let error = empty
            .select_snapshot(&SnapshotSelector::Timestamp(9_000))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn names_lead_through_the_current_schema_to_the_field_of_that_time() {
        let table = table();
        let then = &table.schemas[&0];
        let found = |wanted| match table.find_field(then, wanted) {
            FoundField::Field(field) => Ok(field.id),
            other => Err(other),
        };
        assert_eq!(found(FieldReference::Name("new")), Ok(2));
        assert_eq!(found(FieldReference::Name("old")), Ok(2));
        assert_eq!(found(FieldReference::Name("d")), Err(FoundField::NotThen));
        assert_eq!(found(FieldReference::Name("x")), Err(FoundField::Unknown));
        // A name that was given to a new field meant the old one then; an id never means another.
        assert_eq!(found(FieldReference::Name("c")), Ok(3));
        assert_eq!(found(FieldReference::Id(5)), Err(FoundField::NotThen));
        assert_eq!(found(FieldReference::Id(9)), Err(FoundField::Unknown));
    }

    #[test]
    fn a_dropped_field_is_unknown_to_the_current_state() {
        let table = table();
        let now = &table.schemas[&1];
        for wanted in [FieldReference::Id(3), FieldReference::Name("old")] {
            assert_eq!(table.find_field(now, wanted), FoundField::Unknown);
        }
    }
}
