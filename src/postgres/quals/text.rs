//! Constants of texts and bytes, taken out of Postgres: in UTF-8, whatever the database's encoding is.
//! Postgres' documentation: "Character Set Support".

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::encoding::to_utf8;

/// The content of a `bytea`.
///
/// # Safety
/// The value is a varlena.
pub unsafe fn bytes(value: Datum) -> Vec<u8> {
    // SAFETY: by the contract; detoasting gives a whole varlena in memory, which is copied.
    unsafe {
        let whole = pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(whole).to_vec()
    }
}

/// A text in UTF-8; `None` where it has no such form, so that no text of a table equals it.
///
/// # Safety
/// The value is of the type, `name` or one that is stored as `text` is.
pub unsafe fn utf8(value: Datum, type_oid: Oid) -> Option<String> {
    // SAFETY: by the contract; both are copied, and end with a zero byte.
    let text = unsafe {
        match type_oid {
            pg_sys::NAMEOID => CStr::from_ptr(value.cast_mut_ptr()),
            _ => CStr::from_ptr(pg_sys::text_to_cstring(value.cast_mut_ptr())),
        }
    };
    to_utf8(text)
}
