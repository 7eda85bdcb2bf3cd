//! What partitions tell of the terms of a filter: the summaries of a manifest list, and the tuples of files.
//! Spec: "Partitioning", "Partition Evolution", "Manifest Lists", "Scan Planning".

use super::facts::Facts;
use crate::spec::partition_tuple::convert;
use crate::spec::{
    FieldSummary, Partition, PartitionSpec, PossibleValues, PrimitiveType, Term, Transform,
};

/// Which fields of a partition spec tell of a term.
#[derive(Debug)]
pub(super) struct TermPartitions<'a> {
    term: &'a Term,
    /// The number of fields that the spec has.
    width: usize,
    /// Places in the spec, with the transforms there.
    fields: Vec<(usize, Transform)>,
}

impl<'a> TermPartitions<'a> {
    pub fn of(term: &'a Term, spec: &PartitionSpec) -> Self {
        Self {
            term,
            width: spec.fields.len(),
            fields: spec
                .fields
                .iter()
                .enumerate()
                .filter(|(_, field)| field.source_id() == Some(term.field_id))
                .map(|(place, field)| (place, field.transform.clone()))
                .collect(),
        }
    }

    /// Adds what a manifest list says of the files of a manifest.
    pub fn add_summaries(&self, summaries: &[FieldSummary], facts: &mut Facts) {
        if summaries.len() != self.width {
            return;
        }
        for (place, transform) in &self.fields {
            if let Some(summary) = summaries.get(*place) {
                let result_type = transform.result_type(&self.term.field_type);
                facts.add_partition_values(
                    self.term,
                    transform,
                    summarised_values(summary, &result_type),
                );
            }
        }
    }

    /// Adds what the partition of a file says of it.
    pub fn add_partition(&self, partition: &Partition, facts: &mut Facts) {
        if partition.values.len() != self.width {
            return;
        }
        for (place, transform) in &self.fields {
            let value = match partition.values.get(*place) {
                None => continue,
                Some(None) => None,
                Some(Some(value)) => {
                    let result_type = transform.result_type(&self.term.field_type);
                    match convert(value.clone(), &result_type) {
                        Ok(value) => Some(value),
                        // A value that the term's type does not have tells nothing of it.
                        Err(_) => continue,
                    }
                }
            };
            facts.add_partition_values(self.term, transform, PossibleValues::constant(value));
        }
    }
}

fn summarised_values(summary: &FieldSummary, result_type: &PrimitiveType) -> PossibleValues {
    let unknown = PossibleValues::unknown(result_type);
    let bounded = summary.lower_bound.is_some() || summary.upper_bound.is_some();
    PossibleValues {
        nulls: summary.contains_null,
        nans: unknown.nans && summary.contains_nan != Some(false),
        // Bounds are missing where all values are null or NaN.
        others: bounded || !(summary.contains_null || summary.contains_nan == Some(true)),
        ..unknown
    }
    .between(
        result_type,
        summary.lower_bound.as_deref(),
        summary.upper_bound.as_deref(),
    )
}
