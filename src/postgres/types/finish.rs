//! What only the backend can do with a datum that a worker thread prepared: JSON through Postgres'
//! input functions, and text into a database encoding other than UTF-8.

use std::ffi::CString;

use pgrx::pg_sys::{self, Datum, Oid};

use super::conversion::{Conversion, JsonKind, Scalar};

/// The step that a column's non-null datums still need, chosen once per scan.
#[derive(Debug)]
pub enum Finish {
    /// None.
    Ready,
    /// UTF-8 text that must be in the server's encoding.
    Text,
    /// An array of such text.
    TextArray {
        /// The element type, text or varchar.
        element_type: Oid,
    },
    /// JSON text for an input function.
    Json {
        /// The type's input function.
        input: Box<pg_sys::FmgrInfo>,
        /// Its second argument.
        io_parameter: Oid,
    },
}

impl Finish {
    /// The step for this conversion in this database; function information goes into `context`.
    pub fn choose(conversion: &Conversion, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: reads a backend variable.
        let utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32;
        match conversion {
            Conversion::Json { to, .. } | Conversion::JsonText(to) => Self::json(*to, context),
            Conversion::Scalar(Scalar::Text) if !utf8 => Self::Text,
            Conversion::Array {
                element: Scalar::Text,
                element_type,
            } if !utf8 => Self::TextArray {
                element_type: *element_type,
            },
            Conversion::Scalar(_) | Conversion::Array { .. } | Conversion::Null => Self::Ready,
        }
    }

    fn json(kind: JsonKind, context: pg_sys::MemoryContext) -> Self {
        let type_oid = match kind {
            JsonKind::Json => pg_sys::JSONOID,
            JsonKind::Jsonb => pg_sys::JSONBOID,
        };
        let mut function = Oid::INVALID;
        let mut io_parameter = Oid::INVALID;
        let mut input = Box::new(pg_sys::FmgrInfo::default());
        // SAFETY: built-in types have an input function; `context` outlives the scan that uses it.
        unsafe {
            pg_sys::getTypeInputInfo(type_oid, &mut function, &mut io_parameter);
            pg_sys::fmgr_info_cxt(function, &mut *input, context);
        }
        Self::Json {
            input,
            io_parameter,
        }
    }

    /// Whether datums can be used as they are.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Finishes a non-null datum; what it makes lives in the current memory context.
    ///
    /// # Safety
    /// `word` is a datum that [`super::batch`] made for the conversion this was chosen for, and the
    /// batch is alive.
    pub unsafe fn apply(&mut self, word: u64) -> Datum {
        match self {
            Self::Ready => Datum::from(word),
            // SAFETY: by the contract `word` points to a varlena of UTF-8 text.
            Self::Text => unsafe { text_in_server_encoding(Datum::from(word)) },
            Self::TextArray { element_type } => {
                // SAFETY: by the contract `word` points to an array of this element type.
                unsafe { texts_in_server_encoding(Datum::from(word), *element_type) }
            }
            Self::Json {
                input,
                io_parameter,
            } => {
                // SAFETY: by the contract `word` points to a varlena of UTF-8 text; the function was
                // looked up for a context that outlives the scan.
                unsafe {
                    let text = server_c_string(Datum::from(word));
                    pg_sys::InputFunctionCall(
                        &mut **input,
                        text.as_ptr().cast_mut(),
                        *io_parameter,
                        -1,
                    )
                }
            }
        }
    }
}

/// The content of a varlena, as a C string in the server's encoding.
///
/// # Safety
/// `text` points to an in-line, uncompressed varlena without NUL.
unsafe fn server_c_string(text: Datum) -> CString {
    // SAFETY: by the contract.
    let content = unsafe { converted(varlena_content(text)) };
    // NULs were refused when the text was prepared, so nothing is lost by this fallback.
    CString::new(content).unwrap_or_default()
}

/// # Safety
/// As [`server_c_string`].
unsafe fn text_in_server_encoding(text: Datum) -> Datum {
    // SAFETY: by the contract; cstring_to_text_with_len copies.
    unsafe {
        let content = converted(varlena_content(text));
        Datum::from(pg_sys::cstring_to_text_with_len(
            content.as_ptr().cast(),
            content.len() as i32,
        ))
    }
}

/// # Safety
/// `array` points to a one-dimensional array of text or varchar, or to an empty one.
unsafe fn texts_in_server_encoding(array: Datum, element_type: Oid) -> Datum {
    let mut elements: *mut Datum = std::ptr::null_mut();
    let mut nulls: *mut bool = std::ptr::null_mut();
    let mut count = 0;
    let mut bounds = [1_i32];
    // SAFETY: by the contract; deconstruct_array gives two arrays of `count` entries.
    unsafe {
        pg_sys::deconstruct_array(
            array.cast_mut_ptr(),
            element_type,
            -1,
            false,
            b'i' as std::ffi::c_char,
            &mut elements,
            &mut nulls,
            &mut count,
        );
        if count == 0 {
            return array;
        }
        for index in 0..count as usize {
            if !*nulls.add(index) {
                let element = elements.add(index);
                *element = text_in_server_encoding(*element);
            }
        }
        let mut dimensions = [count];
        Datum::from(pg_sys::construct_md_array(
            elements,
            nulls,
            1,
            dimensions.as_mut_ptr(),
            bounds.as_mut_ptr(),
            element_type,
            -1,
            false,
            b'i' as std::ffi::c_char,
        ))
    }
}

/// # Safety
/// `text` points to an in-line, uncompressed varlena that outlives the slice.
unsafe fn varlena_content<'a>(text: Datum) -> &'a [u8] {
    // SAFETY: by the contract.
    unsafe {
        let varlena: *const pg_sys::varlena = text.cast_mut_ptr();
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(varlena).cast::<u8>(),
            pgrx::varlena::varsize_any_exhdr(varlena),
        )
    }
}

/// `content` in the server's encoding: itself where that makes no difference. A character that the
/// encoding lacks is an error that Postgres raises.
///
/// # Safety
/// Called on the backend's own thread; the result lives as long as `content` and the current memory
/// context both do.
unsafe fn converted(content: &[u8]) -> &[u8] {
    // SAFETY: pg_any_to_server reads `length` bytes and gives its argument or a palloc'd C string.
    unsafe {
        let start: *const std::ffi::c_char = content.as_ptr().cast();
        let result =
            pg_sys::pg_any_to_server(start, content.len() as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if std::ptr::eq(result, start) {
            content
        } else {
            std::ffi::CStr::from_ptr(result).to_bytes()
        }
    }
}
