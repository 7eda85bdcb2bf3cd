//! Postgres' lists of pointers, read and made.

use pgrx::pg_sys;

/// The pointers in a list, in order.
///
/// # Safety
/// `list` is null or a valid list of pointers to `T`, which stays as it is while the result is used.
pub unsafe fn pointers<T>(list: *mut pg_sys::List) -> impl Iterator<Item = *mut T> {
    // SAFETY: the caller's promise; an empty list is a null pointer.
    let length =
        unsafe { list.as_ref() }.map_or(0, |list| usize::try_from(list.length).unwrap_or(0));
    (0..length).map(move |index| {
        // SAFETY: a list has as many elements as its length says.
        unsafe { (*(*list).elements.add(index)).ptr_value.cast::<T>() }
    })
}

/// A list of strings in the current memory context.
pub fn of_strings(strings: impl IntoIterator<Item = std::ffi::CString>) -> *mut pg_sys::List {
    let mut list = std::ptr::null_mut();
    for string in strings {
        // SAFETY: both calls copy or allocate in the current memory context.
        list = unsafe { pg_sys::lappend(list, pg_sys::pstrdup(string.as_ptr()).cast()) };
    }
    list
}

/// The ids in a list, in order.
///
/// # Safety
/// `list` is null or a valid list of ids.
pub unsafe fn oids(list: *mut pg_sys::List) -> Vec<pg_sys::Oid> {
    // SAFETY: the caller's promise.
    unsafe { pgrx::PgList::<pg_sys::Oid>::from_pg(list) }
        .iter_oid()
        .collect()
}
