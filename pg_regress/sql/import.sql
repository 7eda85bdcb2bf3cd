-- IMPORT FOREIGN SCHEMA and iceberg.attach: which tables, which columns, which types, and what is
-- said of those that cannot be.
\set SHOW_CONTEXT never
\set fixtures `echo "$ICEBERG_FDW_FIXTURES"`
\set scratch `echo "$ICEBERG_FDW_SCRATCH"`
\set warehouse :fixtures '/warehouse'
CREATE SERVER import_lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse :'warehouse');
CREATE SCHEMA imported;

-- What a foreign table was made with.
CREATE FUNCTION imported.columns_of(regclass) RETURNS TABLE (
    number int, name name, type text, "collation" text, not_null boolean, options text[]
) LANGUAGE sql AS $$
    SELECT attnum, attname, format_type(atttypid, atttypmod),
           CASE WHEN attcollation NOT IN (0, 'default'::regcollation) THEN attcollation::regcollation::text END,
           attnotnull, attfdwoptions
    FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum
$$;
CREATE FUNCTION imported.tables() RETURNS TABLE (name name, options text) LANGUAGE sql AS $$
    SELECT relname, replace(array_to_string(ftoptions, ' '), current_setting('import_test.fixtures'), '<fixtures>')
    FROM pg_foreign_table JOIN pg_class ON pg_class.oid = ftrelid
    WHERE relnamespace = 'imported'::regnamespace ORDER BY relname COLLATE "C"
$$;
SELECT set_config('import_test.fixtures', :'fixtures', false) IS NOT NULL AS set;

-- A whole namespace.
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported OPTIONS (allow_moved_paths 'true');
SELECT * FROM imported.tables();
SELECT * FROM imported.columns_of('imported.orders');
SELECT * FROM imported.columns_of('imported.products');
DROP FOREIGN TABLE imported.orders, imported.products, imported.customers;

-- Some tables of it; a name that is not there is a warning.
IMPORT FOREIGN SCHEMA shop LIMIT TO (orders, missing) FROM SERVER import_lake INTO imported;
SELECT * FROM imported.tables();
DROP FOREIGN TABLE imported.orders;
IMPORT FOREIGN SCHEMA shop EXCEPT (orders, missing) FROM SERVER import_lake INTO imported;
SELECT * FROM imported.tables();
DROP FOREIGN TABLE imported.products, imported.customers;

-- By directory, with a collation for text columns and options for each table.
\set types :fixtures '/types'
IMPORT FOREIGN SCHEMA anything FROM SERVER import_lake INTO imported
    OPTIONS (location :'types', import_collate 'C', allow_moved_paths 'on', updatable 'false', metadata_staleness_ms '5');
SELECT * FROM imported.tables();
SELECT * FROM imported.columns_of('imported.scalars_v2');
SELECT * FROM imported.columns_of('imported.nested');
DROP FOREIGN TABLE imported.scalars_v1, imported.scalars_v2, imported.nested;
-- A path that is short enough to be an identifier.
\set link `mktemp -u /tmp/iceberg_fdw_XXXXXX`
\setenv LINK :link
\! ln -s "$ICEBERG_FDW_FIXTURES/types" "$LINK"
SELECT set_config('import_test.fixtures', :'link', false) IS NOT NULL AS set;
IMPORT FOREIGN SCHEMA :"link" LIMIT TO (nested) FROM SERVER import_lake INTO imported;
SELECT * FROM imported.tables();
DROP FOREIGN TABLE imported.nested;
\! rm "$LINK"
IMPORT FOREIGN SCHEMA "/nowhere/678901234567890123456789012345678901234567890123456789012" FROM SERVER import_lake INTO imported;
SELECT set_config('import_test.fixtures', :'fixtures', false) IS NOT NULL AS set;
IMPORT FOREIGN SCHEMA telemetry FROM SERVER import_lake INTO imported;
SELECT * FROM imported.columns_of('imported.stations');
SELECT * FROM imported.columns_of('imported.events');
DROP FOREIGN TABLE imported.stations, imported.events;

-- Options are checked, though Postgres does not ask the validator.
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported OPTIONS (import_colate 'C');
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported OPTIONS (table_name 'orders');
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported OPTIONS (allow_moved_paths 'maybe');
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported OPTIONS (password 'hush');
IMPORT FOREIGN SCHEMA shop FROM SERVER import_lake INTO imported
    OPTIONS (allow_moved_paths 'true', allow_moved_paths 'true');

-- Namespaces that cannot be.
\set VERBOSITY sqlstate
IMPORT FOREIGN SCHEMA nowhere FROM SERVER import_lake INTO imported;
IMPORT FOREIGN SCHEMA "shop/orders" FROM SERVER import_lake INTO imported;
IMPORT FOREIGN SCHEMA "..shop" FROM SERVER import_lake INTO imported;
IMPORT FOREIGN SCHEMA "hdfs://host/shop" FROM SERVER import_lake INTO imported;
\set VERBOSITY default
CREATE SERVER import_nothing FOREIGN DATA WRAPPER iceberg_fdw;
IMPORT FOREIGN SCHEMA shop FROM SERVER import_nothing INTO imported;
DROP SERVER import_nothing;
SELECT * FROM imported.tables();

-- Tables that Postgres cannot hold as they are, made here: metadata without rows.
CREATE FUNCTION imported.metadata(table_name text, fields text) RETURNS text LANGUAGE sql AS $$
    SELECT format('{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "/moved/%s", "last-sequence-number": 0, "last-updated-ms": 1700000000000,
        "last-column-id": 5000, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [%s]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {}, "current-snapshot-id": null, "refs": {}, "snapshots": [],
        "snapshot-log": [], "metadata-log": []}', table_name, fields)
$$;
CREATE FUNCTION imported.field(id int, name text, type text DEFAULT '"int"') RETURNS text LANGUAGE sql AS $$
    SELECT format('{"id": %s, "name": %s, "required": true, "type": %s}', id, to_json(name), type)
$$;
\set long_name `printf 'n%.0s' $(seq 1 70)`
\! rm -rf "$ICEBERG_FDW_SCRATCH/import"
\! mkdir -p "$ICEBERG_FDW_SCRATCH/import/odd/no_table/data" "$ICEBERG_FDW_SCRATCH/import/hive.db/sales/metadata"
\! mkdir -p "$ICEBERG_FDW_SCRATCH/import/v3/types/metadata" "$ICEBERG_FDW_SCRATCH/import/v3/bare/metadata"
\! touch "$ICEBERG_FDW_SCRATCH/import/odd/a_file"
\! cd "$ICEBERG_FDW_SCRATCH/import/odd" && for table in columns wide broken newer empty "Mixed \"Case\" 'quoted'" "$(printf 't%.0s' $(seq 1 70))"; do mkdir -p "$table/metadata"; done
\pset format unaligned
\pset tuples_only on
\set file :scratch '/import/odd/columns/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('columns', concat_ws(',',
    imported.field(1, 'plain'), imported.field(2, 'ctid'), imported.field(3, 'ctid_2'), imported.field(4, 'Select "x"; --'),
    imported.field(5, ''), imported.field(6, 'xmin', '"string"'), imported.field(7, 'it''s \ a'),
    imported.field(8, :'long_name' || 'a'), imported.field(9, :'long_name' || 'b'),
    imported.field(10, repeat('ä', 31)), imported.field(11, repeat('ä', 32)), imported.field(12, 'oid'), imported.field(13, '100%')));
\set file :scratch '/import/odd/wide/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('wide', string_agg(imported.field(n, 'c' || n), ',')) FROM generate_series(1, 1601) AS n;
\set file :scratch '/import/odd/broken/metadata/v1.metadata.json'
\o :file
SELECT '{"format-version": 2, "table-uuid": ';
\set file :scratch '/import/odd/newer/metadata/v1.metadata.json'
\o :file
SELECT replace(imported.metadata('newer', imported.field(1, 'a')), '"format-version": 2', '"format-version": 99');
\set file :scratch '/import/odd/Mixed "Case" \'quoted\'/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('mixed', imported.field(1, 'a'));
\set file :scratch '/import/odd/' `printf 't%.0s' $(seq 1 70)` '/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('long', imported.field(1, 'a'));
\set file :scratch '/import/hive.db/sales/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('sales', imported.field(1, 'a'));
\set file :scratch '/import/v3/bare/metadata/v1.metadata.json'
\o :file
SELECT imported.metadata('bare', '');
\set file :scratch '/import/v3/types/metadata/v1.metadata.json'
\o :file
SELECT replace(replace(imported.metadata('types', string_agg(imported.field(n::int, 'c' || n, type), ',')),
    '"format-version": 2', '"format-version": 3, "next-row-id": 0'), '"required": true', '"required": false')
FROM unnest(ARRAY['"timestamp_ns"', '"timestamptz_ns"', '"unknown"', '"variant"', '"geometry"', '"geometry(srid:3857)"',
    '"geography"', '"geography(OGC:CRS84, karney)"', '"fixed[3]"', '"decimal(38,38)"',
    '{"type": "list", "element-id": 101, "element-required": false, "element": "variant"}',
    '{"type": "list", "element-id": 102, "element-required": false, "element": "timestamp_ns"}',
    '{"type": "list", "element-id": 103, "element-required": true, "element": "unknown"}',
    '{"type": "list", "element-id": 104, "element-required": true, "element": {"type": "list", "element-id": 105, "element-required": true, "element": "int"}}',
    '{"type": "list", "element-id": 106, "element-required": true, "element": {"type": "struct", "fields": []}}',
    '{"type": "map", "key-id": 107, "key": "int", "value-id": 108, "value-required": false, "value": "string"}',
    '{"type": "struct", "fields": [{"id": 109, "name": "x", "required": false, "type": "string"}]}'])
    WITH ORDINALITY AS types(type, n);
\o
\pset format aligned
\pset tuples_only off
\set warehouse :scratch '/import'
ALTER SERVER import_lake OPTIONS (SET warehouse :'warehouse');
SELECT set_config('import_test.fixtures', :'scratch', false) IS NOT NULL AS set;
-- The messages name files: a second psql shows them without the directory of this run.
\setenv PGDATABASE :DBNAME
\! "$ICEBERG_FDW_PG_BIN/psql" -X -q -c 'IMPORT FOREIGN SCHEMA odd FROM SERVER import_lake INTO imported' 2>&1 | sed "s|$ICEBERG_FDW_SCRATCH|<scratch>|g"
SELECT * FROM imported.tables();
SELECT * FROM imported.columns_of('imported.columns');
SELECT * FROM imported.columns_of('imported."Mixed ""Case"" ''quoted''"');
DROP FOREIGN TABLE imported.columns, imported."Mixed ""Case"" 'quoted'";
-- What is not wanted is not warned of.
IMPORT FOREIGN SCHEMA odd LIMIT TO ("Mixed ""Case"" 'quoted'") FROM SERVER import_lake INTO imported;
DROP FOREIGN TABLE imported."Mixed ""Case"" 'quoted'";
-- A directory whose own name has a dot, as Hive's warehouses have them.
IMPORT FOREIGN SCHEMA "hive.db" FROM SERVER import_lake INTO imported;
SELECT * FROM imported.tables();
DROP FOREIGN TABLE imported.sales;

-- Types of format version 3, and a table without columns.
IMPORT FOREIGN SCHEMA v3 FROM SERVER import_lake INTO imported OPTIONS (import_collate 'C');
SELECT * FROM imported.columns_of('imported.types');
SELECT * FROM imported.columns_of('imported.bare');
DROP FOREIGN TABLE imported.types, imported.bare;

-- standard_conforming_strings does not matter.
SET standard_conforming_strings = off;
SET escape_string_warning = off;
IMPORT FOREIGN SCHEMA odd LIMIT TO (columns) FROM SERVER import_lake INTO imported;
SELECT name, options FROM imported.columns_of('imported.columns') WHERE number = 7;
RESET standard_conforming_strings;
RESET escape_string_warning;
DROP FOREIGN TABLE imported.columns;

-- attach: one table, under any name, in any schema.
\set orders :fixtures '/warehouse/shop/orders'
SELECT set_config('import_test.fixtures', :'fixtures', false) IS NOT NULL AS set;
SELECT iceberg.attach('imported.o', 'import_lake', :'orders');
SELECT iceberg.attach('"Two ""words"""', 'import_lake', :'orders', schema => 'imported', allow_moved_paths => true,
                      import_collate => 'C', recent_metadata_file_by_last_updated_ms => true);
SET search_path = imported;
SELECT iceberg.attach('in_path', server => 'import_lake', location => :'orders');
SELECT iceberg.attach('in_path', server => 'import_lake', location => :'orders');
RESET search_path;
SELECT * FROM imported.tables();
SELECT * FROM imported.columns_of('imported."Two ""words"""');
SELECT count(*) FROM imported.columns_of('imported.o');
-- What is wrong with a call.
SELECT iceberg.attach('imported.p', 'import_lake', :'orders', schema => 'public');
SELECT iceberg.attach(NULL, 'import_lake', :'orders');
SELECT iceberg.attach('imported.p', NULL, :'orders');
SELECT iceberg.attach('imported.p', 'import_lake', NULL);
SELECT iceberg.attach('imported.p', 'no_server', :'orders');
CREATE FOREIGN DATA WRAPPER import_other;
CREATE SERVER import_other FOREIGN DATA WRAPPER import_other;
SELECT iceberg.attach('imported.p', 'import_other', :'orders');
DROP FOREIGN DATA WRAPPER import_other CASCADE;
SELECT iceberg.attach('no_schema.p', 'import_lake', :'orders');
SELECT iceberg.attach('imported.p', 'import_lake', 'shop/orders');
SELECT iceberg.attach('imported.p', 'import_lake', :'orders', metadata_table_uuid => 'x');
SELECT iceberg.attach('not a name', 'import_lake', :'orders');
SELECT iceberg.attach('imported.p', 'import_lake', :'orders', import_collate => 'no such collation');

-- Rights: local tables are for those who may read the server's files.
CREATE ROLE import_reader;
GRANT USAGE ON FOREIGN SERVER import_lake TO import_reader;
GRANT ALL ON SCHEMA imported TO import_reader;
SET ROLE import_reader;
IMPORT FOREIGN SCHEMA odd LIMIT TO (columns) FROM SERVER import_lake INTO imported;
SELECT iceberg.attach('imported.r', 'import_lake', :'orders');
RESET ROLE;
GRANT pg_read_server_files TO import_reader;
SET ROLE import_reader;
SELECT iceberg.attach('imported.r', 'import_lake', :'orders');
RESET ROLE;
REVOKE USAGE ON FOREIGN SERVER import_lake FROM import_reader;
SET ROLE import_reader;
SELECT iceberg.attach('imported.s', 'import_lake', :'orders');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA imported CASCADE;
DROP SERVER import_lake;
DROP ROLE import_reader;
\! rm -rf "$ICEBERG_FDW_SCRATCH/import"
