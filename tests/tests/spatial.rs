//! Geometries and geographies as the types of PostGIS, where the server has it.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray};
use iceberg_fdw_tests::database::{Database, administrator, foreign_table, text_rows};
use iceberg_fdw_tests::failure;
use iceberg_fdw_tests::synthetic::{Directory, Table};
use libtest_mimic::{Arguments, Trial};

/// Well-known binary of `POINT (30 10)` and of `POINT Z (1 2 3)`, the first little-endian, the second big-endian.
fn points() -> [Vec<u8>; 2] {
    let flat = [
        &[1_u8, 1, 0, 0, 0][..],
        &30_f64.to_le_bytes(),
        &10_f64.to_le_bytes(),
    ]
    .concat();
    let high = [
        &[0_u8, 0, 0, 0x03, 0xE9][..],
        &1_f64.to_be_bytes(),
        &2_f64.to_be_bytes(),
        &3_f64.to_be_bytes(),
    ]
    .concat();
    [flat, high]
}

fn read(
    kind: &str,
    declaration: &str,
    projection: &str,
    values: Vec<Option<&[u8]>>,
) -> Result<Vec<Vec<Option<String>>>, postgres::Error> {
    let directory = Directory::new();
    let array: ArrayRef = Arc::new(BinaryArray::from(values));
    let table = Table::new(directory.path())
        .column(1, "v", kind)
        .file("data/places.parquet", vec![array])
        .write();
    let database = Database::new();
    let mut client = database.with_server();
    client.batch_execute(
        "CREATE SCHEMA gis; CREATE EXTENSION postgis SCHEMA gis; SET search_path = public, gis",
    )?;
    client.batch_execute(&foreign_table(
        "tested",
        &format!("v {declaration}"),
        table,
        &[],
    ))?;
    text_rows(&mut client, &format!("SELECT {projection} FROM tested"))
}

fn values_have_the_number_of_their_reference_system() {
    let [flat, high] = points();
    let values = || vec![Some(flat.as_slice()), Some(high.as_slice()), None];
    for (kind, declaration, first, second) in [
        (
            "geometry",
            "geometry",
            "SRID=4326;POINT(30 10)",
            "SRID=4326;POINT(1 2 3)",
        ),
        (
            "geometry(OGC:CRS84)",
            "geometry",
            "SRID=4326;POINT(30 10)",
            "SRID=4326;POINT(1 2 3)",
        ),
        (
            "geometry(srid:3857)",
            "geometry",
            "SRID=3857;POINT(30 10)",
            "SRID=3857;POINT(1 2 3)",
        ),
        (
            "geometry(EPSG:25832)",
            "geometry",
            "SRID=25832;POINT(30 10)",
            "SRID=25832;POINT(1 2 3)",
        ),
        (
            "geometry(projjson:local)",
            "geometry",
            "POINT(30 10)",
            "POINT(1 2 3)",
        ),
        (
            "geography",
            "geography",
            "SRID=4326;POINT(30 10)",
            "SRID=4326;POINT(1 2 3)",
        ),
    ] {
        let rows = read(kind, declaration, "ST_AsEWKT(v)", values())
            .unwrap_or_else(|error| panic!("{kind} as {declaration}: {error:?}"));
        assert_eq!(
            rows,
            [[Some(first.to_owned())], [Some(second.to_owned())], [None]],
            "{kind} as {declaration}"
        );
    }
}

fn modifiers_are_those_of_postgis() {
    let [flat, _] = points();
    let rows = read(
        "geometry",
        "geometry(Point,4326)",
        "ST_AsText(v), v = ST_SetSRID(ST_Point(30, 10), 4326)",
        vec![Some(&flat)],
    )
    .expect("the point can be read");
    assert_eq!(
        rows,
        [[Some("POINT(30 10)".to_owned()), Some("t".to_owned())]]
    );
    for declaration in ["geometry(LineString,4326)", "geometry(Point,3857)"] {
        failure::expect(
            read("geometry", declaration, "v", vec![Some(&flat)]),
            &["22023"],
            &[],
        );
    }
}

fn arrays_and_plain_bytes() {
    let [flat, _] = points();
    let rows = read(
        "geometry",
        "bytea",
        "v, ST_AsText(ST_GeomFromWKB(v))",
        vec![Some(&flat)],
    )
    .expect("the bytes can be read");
    let digits: String = flat.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        rows,
        [[
            Some(format!("\\x{digits}")),
            Some("POINT(30 10)".to_owned())
        ]]
    );
}

fn bytes_that_are_no_place_are_refused() {
    // PostGIS itself says what is wrong with all but the first two.
    let cases: [(&[u8], &str); 6] = [
        (b"", "XX001"),
        (b"\x01\x01\x00\x00", "XX001"),
        (b"\x01\x01\x00\x00\x00", "XX000"),
        (b"\x01\xff\xff\xff\xff", "XX000"),
        (b"\x07abcdefghijklmnopqrstuv", "XX000"),
        (b"\x01\x02\x00\x00\x00\xff\xff\xff\x7f12345678", "XX000"),
    ];
    for (bytes, state) in cases {
        failure::expect(
            read("geometry", "geometry", "v", vec![Some(bytes)]),
            &[state],
            &[],
        );
    }
}

fn other_types_stay_apart() {
    let [flat, _] = points();
    for (kind, declaration) in [
        ("geometry", "geography"),
        ("geography", "geometry"),
        ("binary", "geometry"),
        ("geometry", "box2d"),
    ] {
        failure::expect(
            read(kind, declaration, "v", vec![Some(&flat)]),
            &["HV004"],
            &[kind, declaration],
        );
    }
}

fn main() {
    let tests: [(&str, fn()); 5] = [
        (
            "values_have_the_number_of_their_reference_system",
            values_have_the_number_of_their_reference_system,
        ),
        (
            "modifiers_are_those_of_postgis",
            modifiers_are_those_of_postgis,
        ),
        ("arrays_and_plain_bytes", arrays_and_plain_bytes),
        (
            "bytes_that_are_no_place_are_refused",
            bytes_that_are_no_place_are_refused,
        ),
        ("other_types_stay_apart", other_types_stay_apart),
    ];
    let has_postgis: bool = administrator()
        .query_one(
            "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'postgis'",
            &[],
        )
        .expect("a catalog query")
        .get(0);
    let trials = tests.map(|(name, run)| {
        let trial = Trial::test(name, move || {
            run();
            Ok(())
        });
        match has_postgis {
            true => trial,
            false => trial
                .with_kind("the server has no PostGIS")
                .with_ignored_flag(true),
        }
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}
