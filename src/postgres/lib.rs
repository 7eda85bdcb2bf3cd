//! `iceberg_fdw`: the extension. The only crate that touches `pgrx`.

pub mod encoding;
pub mod error;
pub mod fdw;
pub mod functions;
pub mod list;
pub mod options;
pub mod privileges;
pub mod quals;
pub mod session;
pub mod sql;
pub mod types;

::pgrx::pg_module_magic!(name, version);

/// Called by Postgres when the library is loaded.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    session::settings::define();
    fdw::statistics::install();
}
