//! Geometries and geographies as types of PostGIS, which reads the well-known binary itself. The
//! coordinate reference system of the column becomes the SRID. Spec: Appendix G "Geospatial Notes".

use arrow::array::{Array, BinaryViewArray};
use iceberg_core::spec::PrimitiveType;
use iceberg_core::{Error, ErrorKind, Result};
use pgrx::pg_sys::{self, Oid};

use super::arena::Arena;
use super::conversion::PostgresType;
use super::encode::{ByReference, check_size};

/// In a type number, that an SRID follows (PostGIS' extension of well-known binary).
const WITH_SRID: u32 = 0x2000_0000;
/// PostGIS' number of longitude and latitude on WGS 84, which Iceberg calls OGC:CRS84 and takes
/// where a column says nothing.
const LONGITUDE_LATITUDE: u32 = 4326;

/// The way from well-known binary to a type of PostGIS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spatial {
    /// PostGIS' geometry or geography.
    pub postgis_type: PostgresType,
    /// The SRID of all values; `None` where the table's reference system has no number.
    pub srid: Option<u32>,
}

impl Spatial {
    /// The way to a declared type, if that is PostGIS' type for these values.
    pub fn choose(from: &PrimitiveType, to: PostgresType) -> Option<Self> {
        let (name, crs) = match from {
            PrimitiveType::Geometry { crs } => (c"geometry", crs),
            PrimitiveType::Geography { crs, .. } => (c"geography", crs),
            _ => return None,
        };
        is_postgis_type(to.oid, name).then(|| Self {
            postgis_type: to,
            srid: srid(crs.as_deref()),
        })
    }
}

/// Whether a type of this name belongs to the extension PostGIS, in whichever schema.
fn is_postgis_type(oid: Oid, name: &std::ffi::CStr) -> bool {
    // SAFETY: catalog lookups on the backend's thread; SearchSysCache gives a tuple or null, and a
    // type's tuple has the form of pg_type.
    unsafe {
        let extension = pg_sys::get_extension_oid(c"postgis".as_ptr(), true);
        if extension == Oid::INVALID
            || pg_sys::getExtensionOfObject(pg_sys::TypeRelationId, oid) != extension
        {
            return false;
        }
        let tuple = pg_sys::SearchSysCache1(
            pg_sys::SysCacheIdentifier::TYPEOID as i32,
            pg_sys::Datum::from(oid),
        );
        if tuple.is_null() {
            return false;
        }
        let form: *const pg_sys::FormData_pg_type = pg_sys::GETSTRUCT(tuple).cast();
        let same = std::ffi::CStr::from_ptr((*form).typname.data.as_ptr()) == name;
        pg_sys::ReleaseSysCache(tuple);
        same
    }
}

fn srid(crs: Option<&str>) -> Option<u32> {
    let Some(crs) = crs else {
        return Some(LONGITUDE_LATITUDE);
    };
    if crs.eq_ignore_ascii_case("OGC:CRS84") {
        return Some(LONGITUDE_LATITUDE);
    }
    let (authority, number) = crs.split_once(':')?;
    let known = ["srid", "epsg"]
        .iter()
        .any(|known| authority.eq_ignore_ascii_case(known));
    known.then(|| number.trim().parse().ok()).flatten()
}

/// The values of a column, with their SRID.
pub struct WellKnownBinaries<'a> {
    values: &'a BinaryViewArray,
    srid: Option<u32>,
}

impl<'a> WellKnownBinaries<'a> {
    /// Reads a column whose values all have this SRID.
    pub fn new(values: &'a BinaryViewArray, srid: Option<u32>) -> Self {
        Self { values, srid }
    }
}

impl ByReference for WellKnownBinaries<'_> {
    const ALIGNMENT: usize = 4;

    fn append(&self, row: usize, arena: &mut Arena) -> Result<()> {
        let bytes = self.values.value(row);
        check_size(bytes.len().saturating_add(4))?;
        // Byte order, then the type's number in that order, then what depends on the type. PostGIS
        // checks everything but that there is something.
        let [order, a, b, c, d, rest @ ..] = bytes else {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "{} bytes are too few for the well-known binary of a geometry",
                    bytes.len()
                ),
            ));
        };
        let number = [*a, *b, *c, *d];
        let little = *order == 1;
        let kind = match little {
            true => u32::from_le_bytes(number),
            false => u32::from_be_bytes(number),
        };
        let bytes_of = |number: u32| match little {
            true => number.to_le_bytes(),
            false => number.to_be_bytes(),
        };
        let at = arena.begin_varlena();
        match self.srid {
            Some(srid) if kind & WITH_SRID == 0 => {
                arena.push(&[*order]);
                arena.push(&bytes_of(kind | WITH_SRID));
                arena.push(&bytes_of(srid));
                arena.push(rest);
            }
            _ => arena.push(bytes),
        }
        arena.end_varlena(at);
        Ok(())
    }

    fn size_hint(&self) -> usize {
        self.values.total_buffer_bytes_used() + self.values.len() * 24
    }
}
