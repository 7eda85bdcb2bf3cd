//! The backend's cache of table metadata, as large as the settings say.

use std::sync::{Arc, LazyLock};

use iceberg_core::storage::MetadataCache;

use super::settings;

static CACHE: LazyLock<Arc<MetadataCache>> = LazyLock::new(|| MetadataCache::new(0));

/// The cache for a table that is about to be opened; what the settings leave no room for is gone.
pub fn metadata_cache() -> Arc<MetadataCache> {
    CACHE.set_capacity(settings::metadata_cache_size());
    CACHE.begin_round();
    Arc::clone(&CACHE)
}
