//! Which manifests and data files a filter leaves, and what of the filter is left for each of these.
//! Spec: "Scan Planning".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::column_bounds::ColumnBounds;
use super::equality_group::{KeyColumns, KeyValues};
use super::facts::Facts;
use super::metrics_facts::Column;
use super::partition_facts::TermPartitions;
use crate::spec::{
    DataFile, ManifestFile, Partition, PartitionSpec, RowFilter, ScanFilter, TableMetadata, Test,
    Transform, Verdict,
};

/// A filter, ready to judge manifests and files.
#[derive(Debug)]
pub(super) struct Pruning<'a> {
    metadata: &'a TableMetadata,
    filter: &'a ScanFilter,
    /// The tests of the exact part, then those of the inexact one.
    tests: Vec<&'a Test>,
    /// The columns that the tests are about.
    columns: Vec<Column>,
    /// The columns that equality deletes compare: what files have in them tells which of these apply.
    keys: KeyColumns,
    /// The number of the first test of each field as it is.
    first_tests: HashMap<i32, usize>,
    /// What is left of the filter, by what its tests are; shared among files.
    residuals: Mutex<HashMap<Vec<Verdict>, Arc<RowFilter>>>,
}

/// A filter, ready to judge files of one partition spec.
#[derive(Debug)]
pub(super) struct SpecPruning<'a> {
    pruning: &'a Pruning<'a>,
    /// What the spec tells of each test's term.
    partitions: Vec<TermPartitions<'a>>,
}

/// What becomes of a data file.
#[derive(Debug)]
pub(super) enum Judgement {
    /// It is read, for the rows that this wants.
    Read {
        residual: Arc<RowFilter>,
        /// What is known of each test's term.
        facts: Vec<Facts>,
    },
    /// No row in its partition is wanted.
    SkippedByPartition,
    /// No row with such columns is wanted.
    SkippedByMetrics,
}

impl<'a> Pruning<'a> {
    pub fn new(metadata: &'a TableMetadata, filter: &'a ScanFilter) -> Self {
        let mut tests = filter.rows.exact.tests();
        tests.extend(filter.rows.inexact.tests());
        let mut first_tests = HashMap::new();
        for (number, test) in tests.iter().enumerate() {
            if test.term.transform == Transform::Identity {
                first_tests.entry(test.term.field_id).or_insert(number);
            }
        }
        Self {
            first_tests,
            metadata,
            filter,
            columns: tests
                .iter()
                .map(|test| Column::new(metadata, test.term.field_id, test.term.field_type.clone()))
                .collect(),
            tests,
            keys: KeyColumns::default(),
            residuals: Mutex::default(),
        }
    }

    /// The same, that also tells what files have in the columns that equality deletes compare.
    #[must_use]
    pub fn with_keys(mut self, keys: &KeyColumns) -> Self {
        if self.filter.levels.metrics {
            self.keys = keys.clone();
        }
        self
    }

    /// Whether files of a manifest may have wanted rows, by what the manifest list says of their partitions.
    pub fn may_want(&self, manifest: &ManifestFile) -> bool {
        let spec = manifest
            .partition_spec_id
            .and_then(|spec_id| self.metadata.partition_specs.get(&spec_id));
        let summaries = manifest.partitions.as_deref();
        let Some((spec, summaries)) = spec.zip(summaries) else {
            return true;
        };
        if !self.filter.levels.partitions || self.tests.is_empty() {
            return true;
        }
        let verdicts: Vec<_> = self
            .tests
            .iter()
            .map(|test| {
                let mut facts = Facts::default();
                TermPartitions::of(&test.term, spec).add_summaries(summaries, &mut facts);
                facts.verdict(&test.check)
            })
            .collect();
        self.may_hold(&verdicts)
    }

    /// The fields whose statistics tell which files are wanted, and which deletes apply to them.
    pub fn stats_field_ids(&self) -> Vec<i32> {
        if !self.filter.levels.metrics {
            return Vec::new();
        }
        let tested = self.tests.iter().map(|test| test.term.field_id);
        tested.chain(self.keys.field_ids()).collect()
    }

    /// The same for files of one spec; `None` where it is not known.
    pub fn of_spec(&'a self, spec: Option<&PartitionSpec>) -> SpecPruning<'a> {
        let spec = spec.filter(|_| self.filter.levels.partitions);
        SpecPruning {
            pruning: self,
            partitions: spec.map_or_else(Vec::new, |spec| {
                self.tests
                    .iter()
                    .map(|test| TermPartitions::of(&test.term, spec))
                    .collect()
            }),
        }
    }

    fn may_hold(&self, verdicts: &[Verdict]) -> bool {
        let RowFilter { exact, inexact } = &self.filter.rows;
        let mut verdicts = verdicts.iter();
        let mut of = |_: &Test| verdicts.next().copied().unwrap_or(Verdict::UNKNOWN);
        let exact = exact.verdict(&mut of);
        let inexact = inexact.verdict(&mut of);
        exact.may_hold && inexact.may_hold
    }

    /// What is left of the filter.
    fn residual(&self, verdicts: Vec<Verdict>) -> Arc<RowFilter> {
        let mut residuals = self
            .residuals
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(residual) = residuals.get(&verdicts) {
            return Arc::clone(residual);
        }
        let RowFilter { exact, inexact } = &self.filter.rows;
        let mut each = verdicts.iter();
        let mut of = |_: &Test| each.next().copied().unwrap_or(Verdict::UNKNOWN);
        let residual = Arc::new(RowFilter {
            exact: exact.simplified(&mut of),
            inexact: inexact.simplified(&mut of),
        });
        residuals.insert(verdicts, Arc::clone(&residual));
        residual
    }
}

impl SpecPruning<'_> {
    /// Whether files of a partition may have wanted rows.
    pub fn may_want(&self, partition: &Partition) -> bool {
        let verdicts = self.pruning.verdicts(&self.facts_of(partition));
        self.pruning.may_hold(&verdicts)
    }

    fn facts_of(&self, partition: &Partition) -> Vec<Facts> {
        let mut facts: Vec<Facts> = self
            .pruning
            .tests
            .iter()
            .map(|_| Facts::default())
            .collect();
        for (facts, partitions) in facts.iter_mut().zip(&self.partitions) {
            partitions.add_partition(partition, facts);
        }
        facts
    }

    /// What becomes of a live data file.
    pub fn judge(&self, file: &DataFile) -> Judgement {
        let pruning = self.pruning;
        let mut facts = self.facts_of(&file.partition);
        let mut verdicts = pruning.verdicts(&facts);
        if !pruning.may_hold(&verdicts) {
            return Judgement::SkippedByPartition;
        }
        if pruning.filter.levels.metrics {
            let columns = pruning.tests.iter().zip(&pruning.columns);
            for (facts, (test, column)) in facts.iter_mut().zip(columns) {
                facts.add_field_values(&test.term, &column.values_in(file));
            }
            verdicts = pruning.verdicts(&facts);
            if !pruning.may_hold(&verdicts) {
                return Judgement::SkippedByMetrics;
            }
        }
        Judgement::Read {
            residual: pruning.residual(verdicts),
            facts,
        }
    }

    /// What values a file may have in the columns that equality deletes compare.
    pub fn key_values(&self, file: &DataFile) -> KeyValues {
        self.pruning.keys.values_in(file)
    }

    /// Counts in a file that is read.
    pub fn add_bounds(&self, file: &DataFile, facts: &[Facts], bounds: &mut ColumnBounds) {
        let tests = self.pruning.tests.iter().zip(facts);
        for (number, (test, facts)) in tests.enumerate() {
            let is_first = self
                .pruning
                .first_tests
                .get(&test.term.field_id)
                .is_some_and(|first| *first == number);
            if is_first {
                let nulls = file
                    .stats
                    .column(test.term.field_id)
                    .and_then(|stats| stats.null_value_count);
                let values = facts.field_values(&test.term);
                bounds.add(test.term.field_id, &values, file.record_count, nulls);
            }
        }
    }
}

impl Pruning<'_> {
    fn verdicts(&self, facts: &[Facts]) -> Vec<Verdict> {
        let tests = self.tests.iter().zip(facts);
        tests
            .map(|(test, facts)| facts.verdict(&test.check))
            .collect()
    }
}

#[cfg(test)]
#[path = "pruning_tests.rs"]
mod tests;
