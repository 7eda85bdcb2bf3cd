//! Tables as directories of a file system or an object store, without a catalog service.
//! Spec: "File System Tables".

mod candidates;
mod content;
mod file_name;
mod head;
mod listing;
mod resolve;

use async_trait::async_trait;

use super::{Catalog, Table, TableIdent, TableListing, TableOptions, open_table, parse_places};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Location, Storage, StoreSettings};

pub use content::MetadataContent;
pub(super) use resolve::names_metadata_file;
pub use resolve::{MetadataSelection, ResolvedMetadata, resolve_metadata_file};

/// The catalog that a warehouse directory is: namespaces are directories, tables directories in
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathCatalog {
    /// The directory that holds the namespaces.
    pub warehouse: Option<String>,
    /// Further places in which a table's files may lie.
    pub allowed_locations: Vec<String>,
    /// Whether tables may have been moved after they were written.
    pub allow_moved_paths: bool,
    /// How remote stores are reached, and with whose rights.
    pub stores: StoreSettings,
}

impl PathCatalog {
    /// The directory of a namespace: `a.b` is `<warehouse>/a/b`, and an absolute location is
    /// itself.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty level, one with a slash, or a name without a warehouse;
    /// `PermissionDenied` for a `..` level.
    pub fn namespace_location(&self, namespace: &str) -> Result<Location> {
        if Location::is_absolute(namespace) {
            return Location::parse(namespace);
        }
        let Some(warehouse) = &self.warehouse else {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("namespace \"{namespace}\" needs a warehouse to be looked up in"),
            )
            .with_hint(
                "Set the server option warehouse, or give the directory by its full path.",
            ));
        };
        let mut location = Location::parse(warehouse)?;
        for level in namespace.split('.') {
            location = location.join(checked_name(level)?)?;
        }
        Ok(location)
    }

    /// How to open a table of this catalog by its location.
    ///
    /// # Errors
    /// Those of [`PathCatalog::namespace_location`], and `InvalidArgument` for a name that no
    /// directory can have.
    pub fn table_options(&self, ident: &TableIdent) -> Result<TableOptions> {
        let location = self
            .namespace_location(&ident.namespace)?
            .join(checked_name(&ident.name)?)?;
        Ok(TableOptions {
            location: location.to_string(),
            selection: MetadataSelection::default(),
            allow_moved_paths: self.allow_moved_paths,
            warehouse: self.warehouse.clone(),
            allowed_locations: self.allowed_locations.clone(),
            stores: self.stores.clone(),
        })
    }
}

#[async_trait]
impl Catalog for PathCatalog {
    async fn list_tables(&self, namespace: &str) -> Result<TableListing> {
        let places = parse_places(self.warehouse.as_deref(), &self.allowed_locations)?;
        let directory = self.namespace_location(namespace)?;
        let storage = Storage::with_settings(self.stores.clone());
        listing::list_tables(&storage, &directory, &places).await
    }

    async fn load_table(&self, ident: &TableIdent) -> Result<Table> {
        open_table(self.table_options(ident)?).await
    }
}

/// The name of one directory.
fn checked_name(name: &str) -> Result<&str> {
    if name.is_empty() || name == "." || name.contains('/') {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("\"{name}\" cannot be the name of a namespace or table"),
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(warehouse: &str) -> PathCatalog {
        PathCatalog {
            warehouse: Some(warehouse.to_owned()),
            ..PathCatalog::default()
        }
    }

    #[test]
    fn namespaces_are_directories() {
        for (warehouse, namespace, location) in [
            ("/wh", "sales", "/wh/sales"),
            ("file:///wh/", "sales", "/wh/sales"),
            ("/wh", "sales.eu.north", "/wh/sales/eu/north"),
            ("/wh", "a b%20#", "/wh/a b%20#"),
            ("/wh", "c:x", "/wh/c:x"),
            ("/wh", "/other/place.x", "/other/place.x"),
            ("/wh", "file:///other", "/other"),
            ("/wh", "s3://bucket/ns", "s3://bucket/ns"),
            ("s3://bucket/wh", "ns", "s3://bucket/wh/ns"),
        ] {
            let found = catalog(warehouse).namespace_location(namespace);
            assert_eq!(
                found.map(|found| found.to_string()).ok().as_deref(),
                Some(location)
            );
        }
        for namespace in ["", "a..b", ".", "a.", "a/b", "a./b"] {
            let found = catalog("/wh").namespace_location(namespace);
            let kind = found.map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::InvalidArgument), "{namespace}");
        }
        let found = PathCatalog::default().namespace_location("sales");
        assert_eq!(
            found.map_err(|error| error.kind()),
            Err(ErrorKind::InvalidArgument)
        );
    }

    #[test]
    fn tables_are_directories_of_a_namespace() {
        let options = |name: &str| {
            catalog("/wh").table_options(&TableIdent {
                namespace: "sales.eu".to_owned(),
                name: name.to_owned(),
            })
        };
        for (name, location) in [
            ("orders", "/wh/sales/eu/orders"),
            ("a.b", "/wh/sales/eu/a.b"),
            ("Ünï %2F", "/wh/sales/eu/Ünï %2F"),
        ] {
            let options = options(name).expect("options");
            assert_eq!(options.location, location);
            assert_eq!(options.warehouse.as_deref(), Some("/wh"));
        }
        for (name, kind) in [
            ("", ErrorKind::InvalidArgument),
            (".", ErrorKind::InvalidArgument),
            ("a/b", ErrorKind::InvalidArgument),
            ("..", ErrorKind::PermissionDenied),
        ] {
            assert_eq!(
                options(name).map_err(|error| error.kind()),
                Err(kind),
                "{name}"
            );
        }
    }
}
