//! Text on its way between Rust, which holds UTF-8, and a database, which may use another encoding.

use std::ffi::{CStr, CString};

use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys;

use pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};

/// The most bytes that one byte of an encoding becomes in any other, as `pg_wchar.h` has it.
const MAX_GROWTH: usize = 4;

/// The database's encoding.
fn database_encoding() -> pg_sys::pg_enc::Type {
    // SAFETY: reads a variable of the backend.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
    pg_sys::pg_enc::Type::try_from(encoding).unwrap_or(PG_SQL_ASCII)
}

/// Whether the database holds text as Rust does. `SQL_ASCII` stands for "whatever was put in".
fn holds_utf8() -> bool {
    matches!(database_encoding(), PG_UTF8 | PG_SQL_ASCII)
}

/// A text of the server as UTF-8.
pub fn from_server(text: &CStr) -> Result<String> {
    let bytes = if holds_utf8() {
        text.to_bytes()
    } else {
        let length = i32::try_from(text.count_bytes()).unwrap_or(i32::MAX);
        // SAFETY: the text ends with a zero byte within `length`; the result is the text itself or a
        // copy in the current memory context, also ended by a zero byte, and copied below.
        unsafe {
            CStr::from_ptr(pg_sys::pg_server_to_any(
                text.as_ptr(),
                length,
                PG_UTF8 as i32,
            ))
        }
        .to_bytes()
    };
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        Error::new(
            ErrorKind::InvalidText,
            "an option or name is not valid UTF-8",
        )
        .with_hint("A database with encoding SQL_ASCII must hold these in UTF-8.")
    })
}

/// A text of the server as UTF-8, if it can be that; as [`from_server`] otherwise.
pub fn to_utf8(text: &CStr) -> Option<String> {
    let bytes = text.to_bytes();
    if holds_utf8() || bytes.is_ascii() {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let converted = convert(text, database_encoding() as i32, PG_UTF8 as i32)?;
    String::from_utf8(converted.into_bytes()).ok()
}

/// A text for the server in the database's encoding; `None` if the database cannot hold it, either
/// for a character that its encoding does not have or for an embedded zero byte.
pub fn to_server(text: &str) -> Option<CString> {
    if holds_utf8() || text.is_ascii() {
        return CString::new(text).ok();
    }
    let source = CString::new(text).ok()?;
    convert(&source, PG_UTF8 as i32, database_encoding() as i32)
}

/// A text in another encoding; `None` if that lacks a character.
fn convert(source: &CStr, from: i32, to: i32) -> Option<CString> {
    let source_length = i32::try_from(source.count_bytes()).ok()?;
    let capacity = source
        .count_bytes()
        .checked_mul(MAX_GROWTH)?
        .checked_add(1)?;
    let mut target = vec![0_u8; capacity];
    // SAFETY: `source` and `target` are as long as said; with `noError` the call gives back how many
    // bytes it could convert and leaves the result ended by a zero byte.
    let converted = unsafe {
        let procedure = pg_sys::FindDefaultConversionProc(from, to);
        if procedure == pg_sys::InvalidOid {
            return None;
        }
        pg_sys::pg_do_encoding_conversion_buf(
            procedure,
            from,
            to,
            source.as_ptr().cast_mut().cast(),
            source_length,
            target.as_mut_ptr(),
            i32::try_from(capacity).ok()?,
            true,
        )
    };
    if converted != source_length {
        return None;
    }
    CStr::from_bytes_until_nul(&target).ok().map(CStr::to_owned)
}

/// The text as a message may show it in this database: where the encoding is not UTF-8, characters
/// beyond ASCII are written as `\u{…}`, for a message must never fail.
pub fn printable(text: &str) -> String {
    if holds_utf8() || text.is_ascii() {
        return text.to_owned();
    }
    text.chars()
        .map(|character| match character.is_ascii() {
            true => character.to_string(),
            false => character.escape_unicode().to_string(),
        })
        .collect()
}
