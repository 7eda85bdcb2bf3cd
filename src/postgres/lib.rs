//! `iceberg_fdw`: the extension. The only crate that touches `pgrx`.

::pgrx::pg_module_magic!(name, version);
