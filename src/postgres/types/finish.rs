//! What only the backend can do with a datum that a worker thread prepared: JSON and places through
//! the types' own functions, composites, domains, and text into an encoding other than UTF-8.

use std::ffi::{CString, c_char, c_void};
use std::ops::Range;

use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::error::Report;

use super::batch::{DatumColumn, unpack_range};
use super::conversion::{Conversion, JsonKind, Scalar};

/// The step that a column's datums still need, chosen once per scan.
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
    Json(Function),
    /// Well-known binary for a receive function.
    Spatial {
        /// The type's receive function.
        receive: Function,
        /// Its third argument.
        typmod: i32,
    },
    /// Elements that become an array.
    List(ListFinish),
    /// Attributes that become a composite.
    Composite(CompositeFinish),
    /// A value or null that a domain must accept.
    Domain {
        /// What makes the value.
        base: Box<Finish>,
        /// The domain.
        domain: Oid,
        /// What Postgres knows about the domain between values.
        cache: *mut c_void,
        /// Where it keeps that.
        context: pg_sys::MemoryContext,
    },
}

/// An input or receive function of a type.
pub struct Function {
    info: Box<pg_sys::FmgrInfo>,
    io_parameter: Oid,
}

/// How an array is made.
pub struct ListFinish {
    element: Box<Finish>,
    element_type: Oid,
    length: i16,
    by_value: bool,
    alignment: c_char,
}

/// How a composite is made.
pub struct CompositeFinish {
    descriptor: pg_sys::TupleDesc,
    /// For each attribute that was not dropped its index, in the order of the inner columns.
    attributes: Vec<(usize, Finish)>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Finish {
    /// The step for this conversion in this database; what it needs to know goes into `context`,
    /// which outlives it.
    pub fn choose(conversion: &Conversion, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: reads a backend variable.
        let utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32;
        match conversion {
            Conversion::Json { to, .. } | Conversion::JsonText(to) => {
                let type_oid = match to {
                    JsonKind::Json => pg_sys::JSONOID,
                    JsonKind::Jsonb => pg_sys::JSONBOID,
                };
                Self::Json(Function::input(type_oid, context))
            }
            Conversion::Scalar(Scalar::Text) if !utf8 => Self::Text,
            Conversion::Array {
                element: Scalar::Text,
                element_type,
            } if !utf8 => Self::TextArray {
                element_type: *element_type,
            },
            Conversion::Scalar(_) | Conversion::Array { .. } | Conversion::Null => Self::Ready,
            Conversion::Spatial(spatial) => Self::Spatial {
                receive: Function::receive(spatial.postgis_type.oid, context),
                typmod: spatial.postgis_type.typmod,
            },
            Conversion::List {
                element,
                element_type,
            } => Self::List(ListFinish::new(
                Self::choose(element, context),
                *element_type,
            )),
            Conversion::Composite {
                type_oid,
                attributes,
            } => Self::Composite(CompositeFinish::new(*type_oid, attributes, context)),
            Conversion::Domain { base, domain } => Self::Domain {
                base: Box::new(Self::choose(base, context)),
                domain: *domain,
                cache: std::ptr::null_mut(),
                context,
            },
        }
    }

    /// Whether datums can be used as they are.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// The finished datum of a row, `None` where it is null; what it makes lives in the current
    /// memory context.
    ///
    /// # Safety
    /// Called on the backend's thread; `column` was made for the conversion that this was chosen
    /// for, and `row` is one of its rows.
    #[inline]
    pub unsafe fn apply(&mut self, column: &DatumColumn, row: usize) -> Option<Datum> {
        match self {
            Self::Ready => column.word(row).map(Datum::from),
            // SAFETY: by the contract.
            _ => unsafe { self.make(column, row) },
        }
    }

    /// # Safety
    /// As [`Self::apply`].
    unsafe fn make(&mut self, column: &DatumColumn, row: usize) -> Option<Datum> {
        if let Self::Domain {
            base,
            domain,
            cache,
            context,
        } = self
        {
            // SAFETY: by the contract; `cache` is null at first and then what domain_check left there,
            // in a context that outlives it.
            unsafe {
                let value = base.apply(column, row);
                pg_sys::domain_check(
                    value.unwrap_or(Datum::null()),
                    value.is_none(),
                    *domain,
                    cache,
                    *context,
                );
                return value;
            }
        }
        let word = column.word(row)?;
        // SAFETY: by the contract `word` is what the column's conversion makes: the address of a
        // varlena of UTF-8 text, of an array of such, of bytes, or a place in the inner columns.
        Some(unsafe {
            match self {
                Self::Ready | Self::Domain { .. } => Datum::from(word),
                Self::Text => text_in_server_encoding(Datum::from(word)),
                Self::TextArray { element_type } => {
                    texts_in_server_encoding(Datum::from(word), *element_type)
                }
                Self::Json(input) => {
                    let text = server_c_string(Datum::from(word));
                    pg_sys::InputFunctionCall(
                        &mut *input.info,
                        text.as_ptr().cast_mut(),
                        input.io_parameter,
                        -1,
                    )
                }
                Self::Spatial { receive, typmod } => {
                    received(receive, varlena_content(Datum::from(word)), *typmod)
                }
                Self::List(list) => list.make(column, unpack_range(word)),
                Self::Composite(composite) => composite.make(column, row),
            }
        })
    }
}

impl Function {
    fn input(of: Oid, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: built-in types have an input function.
        Self::look_up(context, |function, io_parameter| unsafe {
            pg_sys::getTypeInputInfo(of, function, io_parameter);
        })
    }

    fn receive(of: Oid, context: pg_sys::MemoryContext) -> Self {
        // SAFETY: raises an error for a type without a receive function.
        Self::look_up(context, |function, io_parameter| unsafe {
            pg_sys::getTypeBinaryInputInfo(of, function, io_parameter);
        })
    }

    fn look_up(context: pg_sys::MemoryContext, find: impl FnOnce(*mut Oid, *mut Oid)) -> Self {
        let mut function = Oid::INVALID;
        let mut io_parameter = Oid::INVALID;
        find(&mut function, &mut io_parameter);
        let mut info = Box::new(pg_sys::FmgrInfo::default());
        // SAFETY: the function was just found; `context` outlives the scan that calls it.
        unsafe { pg_sys::fmgr_info_cxt(function, &mut *info, context) };
        Self { info, io_parameter }
    }
}

impl ListFinish {
    fn new(element: Finish, element_type: Oid) -> Self {
        let (mut length, mut by_value, mut alignment) = (0, false, 0);
        // SAFETY: a syscache lookup of an array's element type.
        unsafe {
            pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut by_value, &mut alignment);
        }
        Self {
            element: Box::new(element),
            element_type,
            length,
            by_value,
            alignment,
        }
    }

    /// # Safety
    /// As [`Finish::apply`]; `range` is that of a list in the inner column.
    unsafe fn make(&mut self, column: &DatumColumn, range: Range<usize>) -> Datum {
        let mut values = Vec::with_capacity(range.len());
        let mut nulls = Vec::with_capacity(range.len());
        if let Some(elements) = column.inner(0) {
            for row in range {
                // SAFETY: by the contract the inner column has these rows.
                let value = unsafe { self.element.apply(elements, row) };
                nulls.push(value.is_none());
                values.push(value.unwrap_or(Datum::null()));
            }
        }
        // More elements than a Postgres array can have are refused by construct_md_array.
        let mut dimensions = [i32::try_from(values.len()).unwrap_or(i32::MAX)];
        let mut bounds = [1];
        // SAFETY: as many values and nulls as the dimension says, of the element type.
        Datum::from(unsafe {
            if values.is_empty() {
                pg_sys::construct_empty_array(self.element_type)
            } else {
                pg_sys::construct_md_array(
                    values.as_mut_ptr(),
                    nulls.as_mut_ptr(),
                    1,
                    dimensions.as_mut_ptr(),
                    bounds.as_mut_ptr(),
                    self.element_type,
                    self.length.into(),
                    self.by_value,
                    self.alignment,
                )
            }
        })
    }
}

impl CompositeFinish {
    fn new(
        type_oid: Oid,
        attributes: &[Option<(usize, Conversion)>],
        context: pg_sys::MemoryContext,
    ) -> Self {
        // SAFETY: the type is composite; its descriptor is copied into a context that outlives this.
        let descriptor = unsafe {
            let before = pg_sys::MemoryContextSwitchTo(context);
            let descriptor = pg_sys::lookup_rowtype_tupdesc_copy(type_oid, -1);
            pg_sys::MemoryContextSwitchTo(before);
            descriptor
        };
        // SAFETY: a valid descriptor.
        if usize::try_from(unsafe { (*descriptor).natts }) != Ok(attributes.len()) {
            Report::new(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "a composite type got another attribute while the query was starting",
            )
            .raise();
        }
        Self {
            descriptor,
            attributes: attributes
                .iter()
                .enumerate()
                .filter_map(|(index, attribute)| {
                    let (_, conversion) = attribute.as_ref()?;
                    Some((index, Finish::choose(conversion, context)))
                })
                .collect(),
            values: vec![Datum::null(); attributes.len()],
            nulls: vec![true; attributes.len()],
        }
    }

    /// # Safety
    /// As [`Finish::apply`].
    unsafe fn make(&mut self, column: &DatumColumn, row: usize) -> Datum {
        for (place, (index, finish)) in self.attributes.iter_mut().enumerate() {
            // SAFETY: by the contract the inner columns have this row.
            let value = column
                .inner(place)
                .and_then(|inner| unsafe { finish.apply(inner, row) });
            self.nulls[*index] = value.is_none();
            self.values[*index] = value.unwrap_or(Datum::null());
        }
        // SAFETY: a value for each attribute of the descriptor; heap_form_tuple copies them.
        unsafe {
            let tuple = pg_sys::heap_form_tuple(
                self.descriptor,
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
            pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
        }
    }
}

/// What a receive function makes of bytes.
///
/// # Safety
/// Called on the backend's thread.
unsafe fn received(function: &mut Function, bytes: &[u8], typmod: i32) -> Datum {
    let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    let mut message = pg_sys::StringInfoData {
        data: bytes.as_ptr().cast_mut().cast(),
        len: length,
        maxlen: length,
        cursor: 0,
    };
    // SAFETY: receive functions read the message up to its length, and do not write to it.
    unsafe {
        pg_sys::ReceiveFunctionCall(
            &mut *function.info,
            &mut message,
            function.io_parameter,
            typmod,
        )
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
