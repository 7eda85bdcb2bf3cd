//! What a collation says of texts as Iceberg orders them, byte by byte, and what the database's encoding makes of them.
//! Postgres' documentation: "Collation Support"; DESIGN.md 3.

use std::ffi::CStr;

use pgrx::pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};
use pgrx::pg_sys::{self, Oid};

use super::outcome::Class;

/// What is right to conclude from bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRules {
    /// Of which texts are equal.
    pub equality: Class,
    /// Of which text is less than another.
    pub order: Class,
}

impl TextRules {
    /// Nothing.
    const NONE: Self = Self {
        equality: Class::Local,
        order: Class::Local,
    };

    /// Those of a collation in this database.
    pub fn of(collation: Oid) -> Self {
        let (equality, order) = of_encoding();
        if collation == Oid::INVALID || !is_deterministic(collation) {
            return Self::NONE;
        }
        let order_of_collation = if orders_bytes(collation) {
            Class::Exact
        } else if is_libc_c_utf8(collation) {
            // The C library promises the order of code points, but Postgres does not rely on it.
            Class::Inexact
        } else {
            Class::Local
        };
        Self {
            equality,
            order: order.min(order_of_collation),
        }
    }

    /// Those of operators that compare bytes under whichever collation.
    pub fn bytewise() -> Self {
        let (equality, order) = of_encoding();
        Self { equality, order }
    }
}

/// What the bytes of UTF-8 say of the equality and the order of texts in the database's encoding.
fn of_encoding() -> (Class, Class) {
    // SAFETY: both read variables of the backend.
    let (encoding, longest) = unsafe {
        (
            pg_sys::GetDatabaseEncoding(),
            pg_sys::pg_database_encoding_max_length(),
        )
    };
    match pg_sys::pg_enc::Type::try_from(encoding) {
        Ok(PG_UTF8) => (Class::Exact, Class::Exact),
        // Texts are there as the table has them; constants may be anything.
        Ok(PG_SQL_ASCII) => (Class::Exact, Class::Inexact),
        _ if longest == 1 => (Class::Inexact, Class::Local),
        // Several characters may become one.
        _ => (Class::Local, Class::Local),
    }
}

fn is_deterministic(collation: Oid) -> bool {
    // SAFETY: a look-up of a collation that an expression names.
    unsafe { pg_sys::get_collation_isdeterministic(collation) }
}

/// Whether Postgres itself compares bytes under a collation.
fn orders_bytes(collation: Oid) -> bool {
    #[cfg(not(feature = "pg18"))]
    {
        unsafe extern "C-unwind" {
            fn lc_collate_is_c(collation: Oid) -> bool;
        }
        // SAFETY: the server's own function, which looks a collation up.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| lc_collate_is_c(collation)) }
    }
    #[cfg(feature = "pg18")]
    {
        /// The beginning of `pg_locale_struct` of Postgres 18 (`utils/pg_locale.h`).
        #[repr(C)]
        struct Locale {
            provider: std::ffi::c_char,
            deterministic: bool,
            collate_is_c: bool,
        }
        unsafe extern "C-unwind" {
            fn pg_newlocale_from_collation(collation: Oid) -> *mut Locale;
        }
        // SAFETY: the server's own function, which looks a collation up and keeps what it gives.
        unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| pg_newlocale_from_collation(collation))
                .as_ref()
                .is_some_and(|locale| locale.collate_is_c)
        }
    }
}

/// Whether a collation is the C library's `C.UTF-8`.
fn is_libc_c_utf8(collation: Oid) -> bool {
    // SAFETY: looks an attribute of a collation up and reads it while the entry is held; it is a name up to
    // Postgres 14 and a text since.
    unsafe {
        let key = pg_sys::Datum::from(collation);
        let entry = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::COLLOID as i32, key);
        if entry.is_null() {
            return false;
        }
        let attribute = |number: u32| {
            let mut is_null = true;
            let value = pg_sys::SysCacheGetAttr(
                pg_sys::SysCacheIdentifier::COLLOID as i32,
                entry,
                number as i16,
                &mut is_null,
            );
            (!is_null).then_some(value)
        };
        let is_libc = attribute(pg_sys::Anum_pg_collation_collprovider)
            .is_some_and(|provider| provider.value() as u8 == pg_sys::COLLPROVIDER_LIBC);
        let is_c_utf8 = attribute(pg_sys::Anum_pg_collation_collcollate).is_some_and(|name| {
            let name = if cfg!(feature = "pg14") {
                name.cast_mut_ptr()
            } else {
                pg_sys::text_to_cstring(name.cast_mut_ptr())
            };
            let name = CStr::from_ptr(name).to_bytes();
            name.eq_ignore_ascii_case(b"C.UTF-8") || name.eq_ignore_ascii_case(b"C.utf8")
        });
        pg_sys::ReleaseSysCache(entry);
        is_libc && is_c_utf8
    }
}

/// Whether the database's encoding is UTF-8.
pub fn is_utf8() -> bool {
    // SAFETY: reads a variable of the backend.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
    pg_sys::pg_enc::Type::try_from(encoding) == Ok(PG_UTF8)
}
