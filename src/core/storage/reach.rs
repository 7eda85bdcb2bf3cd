//! The places that one table's metadata may make us read: metadata is untrusted input.
//! No spec section: a rule of this program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::location::Location;
use crate::error::{Error, ErrorKind, Result};

/// What a user says to whom a path that needs more reach is refused.
const HINT: &str = "If the table's directory was moved or copied, set allow_moved_paths; if its files lie elsewhere, \
     name that place in the server option allowed_locations.";

/// The table's own directory, the warehouse and the allowed locations. Everything a table reads
/// lies under one of them, also after symbolic links are followed.
#[derive(Debug)]
pub struct Reach {
    table: Location,
    others: Vec<Location>,
}

/// A location that [`Reach`] lets a table read; nothing else can be opened.
#[derive(Debug, Clone)]
pub struct ResolvedPath {
    location: Location,
    reach: Arc<Reach>,
}

impl ResolvedPath {
    /// Where the file is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Refuses a real path, all symbolic links followed, that the table may not read.
    pub(super) fn check_real_path(&self, real: &Path) -> Result<()> {
        if self.reach.contains_real_path(real) {
            return Ok(());
        }
        Err(denied(
            &self.location,
            "a symbolic link leads outside of the table, the warehouse and the allowed locations",
        ))
    }
}

impl Reach {
    /// The reach of the table at `table`.
    pub fn new(table: Location, others: impl IntoIterator<Item = Location>) -> Arc<Self> {
        Arc::new(Self {
            table,
            others: others.into_iter().collect(),
        })
    }

    /// The table's own directory.
    pub fn table(&self) -> &Location {
        &self.table
    }

    /// Lets `location` be opened if it lies within reach.
    ///
    /// # Errors
    /// `PermissionDenied` with a hint that names the options which widen the reach.
    pub fn check(self: &Arc<Self>, location: Location) -> Result<ResolvedPath> {
        if location.is_local() && !self.table.is_local() {
            return Err(denied(
                &location,
                "a table in an object store cannot reach local files",
            ));
        }
        if self.places().any(|place| location.is_under(place)) || self.reaches_by_link(&location) {
            return Ok(ResolvedPath {
                location,
                reach: Arc::clone(self),
            });
        }
        Err(denied(
            &location,
            &format!(
                "it lies outside of the table \"{}\", the warehouse and the allowed locations",
                self.table
            ),
        ))
    }

    fn places(&self) -> impl Iterator<Item = &Location> {
        std::iter::once(&self.table).chain(&self.others)
    }

    /// Whether a local path that is spelled differently from every place leads into one, as for a
    /// table whose metadata names it through a symbolic link. A path that does not exist does not,
    /// so the refusal says nothing about what exists outside.
    fn reaches_by_link(&self, location: &Location) -> bool {
        location.is_local()
            && std::fs::canonicalize(location.path())
                .is_ok_and(|real| self.contains_real_path(&real))
    }

    fn contains_real_path(&self, real: &Path) -> bool {
        self.places()
            .filter(|place| place.is_local())
            .filter_map(real_directory)
            .any(|directory| real.starts_with(directory))
    }
}

/// Followed anew each time: a link that is switched to the next version of a directory is common.
fn real_directory(place: &Location) -> Option<PathBuf> {
    std::fs::canonicalize(place.path()).ok()
}

fn denied(location: &Location, why: &str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        format!("access to \"{location}\" is refused: {why}"),
    )
    .with_hint(HINT)
}
