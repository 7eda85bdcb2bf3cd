//! Equality deletes that compare the same columns, and which of them can be about rows of a data file.
//! Spec: "Equality Delete Files", "Scan Planning".

use std::sync::Arc;

use super::delete_file::{DeleteFile, EqualityColumn, EqualityDeletes};
use super::metrics_facts::Column;
use crate::spec::{DataFile, PossibleValues, TableMetadata};

/// The columns that any equality deletes of a snapshot compare, each once.
#[derive(Debug, Default, Clone)]
pub(super) struct KeyColumns(Vec<Column>);

/// What values a file may have in each of the [`KeyColumns`].
pub(super) type KeyValues = Box<[PossibleValues]>;

/// Equality deletes of one scope and one set of columns.
#[derive(Debug)]
pub(super) struct Group {
    columns: Vec<EqualityColumn>,
    /// The places of the columns among the key columns.
    places: Vec<usize>,
    files: Vec<GroupFile>,
}

#[derive(Debug)]
struct GroupFile {
    sequence_number: i64,
    file: Arc<DeleteFile>,
    /// What values it may have in the group's columns, in their order.
    values: Vec<PossibleValues>,
    /// Whether it applies to any data file.
    applies: bool,
}

impl KeyColumns {
    /// The field ids of the columns.
    pub fn field_ids(&self) -> impl Iterator<Item = i32> {
        self.0.iter().map(Column::field_id)
    }

    /// What values a data file may have in them.
    pub fn values_in(&self, file: &DataFile) -> KeyValues {
        self.0.iter().map(|column| column.values_in(file)).collect()
    }

    /// The place of a column, which is added if it is not there.
    fn place_of(&mut self, metadata: &TableMetadata, column: &EqualityColumn) -> Option<usize> {
        let field = column.field()?;
        let known = self.field_ids().position(|field_id| field_id == field.id);
        if known.is_some() {
            return known;
        }
        let field_type = field.field_type.as_primitive()?;
        self.0
            .push(Column::new(metadata, field.id, field_type.clone()));
        Some(self.0.len() - 1)
    }
}

impl Group {
    /// A group without files yet.
    pub fn new(
        metadata: &TableMetadata,
        columns: Vec<EqualityColumn>,
        keys: &mut KeyColumns,
    ) -> Self {
        Self {
            places: columns
                .iter()
                .filter_map(|column| keys.place_of(metadata, column))
                .collect(),
            columns,
            files: Vec::new(),
        }
    }

    /// Adds a delete file, of which the manifest says `told`.
    pub fn add(
        &mut self,
        sequence_number: i64,
        told: &DataFile,
        file: DeleteFile,
        keys: &KeyColumns,
    ) {
        self.files.push(GroupFile {
            sequence_number,
            file: Arc::new(file),
            values: self
                .places
                .iter()
                .filter_map(|place| Some(keys.0.get(*place)?.values_in(told)))
                .collect(),
            applies: false,
        });
    }

    /// Whether any of the files applies to a data file with this sequence number and these values, as far as
    /// they are known.
    pub fn applies_to(&mut self, data_sequence_number: i64, values: Option<&KeyValues>) -> bool {
        let Self { places, files, .. } = self;
        let mut any = false;
        for file in files {
            if data_sequence_number < file.sequence_number
                && values.is_none_or(|values| file.may_be_about(places, values))
            {
                file.applies = true;
                any = true;
            }
        }
        any
    }

    /// The files that apply to any data file; `None` if none does.
    pub fn used(self) -> Option<Arc<EqualityDeletes>> {
        let files: Vec<_> = self
            .files
            .into_iter()
            .filter(|file| file.applies)
            .map(|file| (file.sequence_number, file.file))
            .collect();
        (!files.is_empty()).then(|| {
            Arc::new(EqualityDeletes {
                columns: self.columns,
                files,
            })
        })
    }
}

impl GroupFile {
    /// Whether a row with such values may be deleted: each column may have a value that the file has.
    fn may_be_about(&self, places: &[usize], values: &KeyValues) -> bool {
        places.iter().zip(&self.values).all(|(place, own)| {
            values
                .get(*place)
                .is_none_or(|values| values.may_share_a_value_with(own))
        })
    }
}
