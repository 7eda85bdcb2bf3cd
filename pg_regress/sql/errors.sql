-- Errors: their SQLSTATE, what they name, and what they say can be done.
\set SHOW_CONTEXT never
\set fixtures `echo "$ICEBERG_FDW_FIXTURES"`
\set scratch `echo "$ICEBERG_FDW_SCRATCH"`
\set warehouse :fixtures '/warehouse'
CREATE SCHEMA errors;
CREATE SERVER errors_lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse :'fixtures');
SELECT set_config('errors.fixtures', :'fixtures', false) IS NOT NULL AND
       set_config('errors.scratch', :'scratch' || '/errors', false) IS NOT NULL AS set;

CREATE FUNCTION errors.anywhere(text) RETURNS text LANGUAGE sql AS $$
    SELECT replace(replace($1, current_setting('errors.scratch'), '<scratch>'),
                   current_setting('errors.fixtures'), '<fixtures>')
$$;
-- Runs a statement and shows its error without the directories of this run.
CREATE FUNCTION errors.of(statement text) RETURNS TABLE (code text, message text, detail text, hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    message := errors.anywhere(message);
    detail := errors.anywhere(detail);
    hint := errors.anywhere(hint);
    RETURN NEXT;
END
$$;
-- Attaches what lies under the directory of this suite.
CREATE FUNCTION errors.attach(location text, more text DEFAULT '')
RETURNS TABLE (code text, message text, detail text, hint text) LANGUAGE sql AS $$
    SELECT * FROM errors.of(format($call$SELECT iceberg.attach('errors.t', 'errors_lake', %L%s)$call$,
        current_setting('errors.scratch') || location, more))
$$;
CREATE FUNCTION errors.metadata(fields text, uuid text DEFAULT '9c12d441-03fe-4693-9a96-a0705ddf69c1') RETURNS text
LANGUAGE sql AS $$
    SELECT format('{"format-version": 2, "table-uuid": "%s",
        "location": "/moved", "last-sequence-number": 0, "last-updated-ms": 1700000000000,
        "last-column-id": 5000, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [%s]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {}, "current-snapshot-id": null, "refs": {}, "snapshots": [],
        "snapshot-log": [], "metadata-log": []}', uuid, fields)
$$;
\! rm -rf "$ICEBERG_FDW_SCRATCH/errors" && mkdir "$ICEBERG_FDW_SCRATCH/errors"
\! cd "$ICEBERG_FDW_SCRATCH/errors" && mkdir -p no_metadata empty/metadata two/metadata broken/metadata type/metadata leads_out closed/metadata
\! cd "$ICEBERG_FDW_SCRATCH/errors" && ln -s "$ICEBERG_FDW_FIXTURES/../server" leads_out/metadata && chmod 000 closed
\pset format unaligned
\pset tuples_only on
\set file :scratch '/errors/two/metadata/v1.metadata.json'
\o :file
SELECT errors.metadata('{"id": 1, "name": "a", "required": false, "type": "int"}');
\set file :scratch '/errors/two/metadata/v2.metadata.json'
\o :file
SELECT errors.metadata('{"id": 1, "name": "a", "required": false, "type": "int"}', '00000000-03fe-4693-9a96-a0705ddf69c1');
\set file :scratch '/errors/broken/metadata/v1.metadata.json'
\o :file
SELECT left(errors.metadata(''), 100);
\set file :scratch '/errors/type/metadata/v1.metadata.json'
\o :file
SELECT errors.metadata('{"id": 1, "name": "a", "required": false, "type": "complex"}');
\o
\pset format aligned
\pset tuples_only off
\x on

-- No table.
SELECT * FROM errors.attach('/nowhere');
SELECT * FROM errors.attach('/no_metadata');
SELECT * FROM errors.attach('/empty');
-- The choice of a metadata file.
SELECT * FROM errors.attach('/two');
SELECT * FROM errors.attach('/two', $$, metadata_table_uuid => '11111111-03fe-4693-9a96-a0705ddf69c1'$$);
SELECT * FROM errors.attach('/two', $$, metadata_file_path => 'metadata/v3.metadata.json'$$);
SELECT * FROM errors.attach('/two', $$, metadata_file_path => '/etc/passwd'$$);
-- Files that are not what they should be.
SELECT * FROM errors.attach('/broken');
SELECT * FROM errors.attach('/type');
-- Places that may not or cannot be read.
SELECT * FROM errors.attach('/leads_out');
SELECT * FROM errors.attach('/../up');
SELECT * FROM errors.attach('/closed');
SELECT * FROM errors.of($$SELECT iceberg.attach('errors.t', 'errors_lake', 'file://host/x')$$);
SELECT * FROM errors.of($$SELECT iceberg.attach('errors.t', 'errors_lake', 's3://bucket/x')$$);
SELECT * FROM errors.of($$SELECT iceberg.attach('errors.t', 'errors_lake', 'x')$$);

-- Foreign tables that do not fit their Iceberg table: known when a query needs the column.
ALTER SERVER errors_lake OPTIONS (SET warehouse :'warehouse');
CREATE FOREIGN TABLE errors.gone (id bigint) SERVER errors_lake OPTIONS (namespace 'shop', table_name 'gone');
CREATE FOREIGN TABLE errors.orders (
    id bigint,
    amount real,
    "Status" text,
    nothing text,
    other text OPTIONS (column_name 'nothing'),
    number int OPTIONS (field_id '99')
) SERVER errors_lake OPTIONS (namespace 'shop', table_name 'orders', allow_moved_paths 'true');
SELECT * FROM errors.of('SELECT id FROM errors.gone');
SELECT count(id) FROM errors.orders;
SELECT * FROM errors.of('SELECT amount FROM errors.orders');
SELECT * FROM errors.of('SELECT "Status" FROM errors.orders');
SELECT * FROM errors.of('SELECT nothing FROM errors.orders');
SELECT * FROM errors.of('SELECT other FROM errors.orders');
SELECT * FROM errors.of('SELECT number FROM errors.orders');
-- What a moved table's metadata names is out of reach unless it may have been moved.
ALTER FOREIGN TABLE errors.orders OPTIONS (SET allow_moved_paths 'false');
SELECT code, regexp_replace(message, 'snap-[-0-9a-f]*', 'snap-...') AS message, hint
FROM errors.of('SELECT id FROM errors.orders');
-- A namespace without a warehouse.
ALTER SERVER errors_lake OPTIONS (DROP warehouse);
SELECT * FROM errors.of('SELECT id FROM errors.orders');
ALTER SERVER errors_lake OPTIONS (ADD warehouse :'warehouse');
-- The tables are read-only.
CREATE FOREIGN TABLE errors.fitting (id bigint, status text) SERVER errors_lake
    OPTIONS (namespace 'shop', table_name 'orders', allow_moved_paths 'true');
SELECT code FROM errors.of('INSERT INTO errors.fitting (id) VALUES (1)');
SELECT code FROM errors.of('UPDATE errors.fitting SET id = 1');
SELECT code FROM errors.of('DELETE FROM errors.fitting');
-- Local files are for those who may read them, whoever made the table.
CREATE ROLE errors_reader;
GRANT USAGE ON SCHEMA errors TO errors_reader;
GRANT SELECT ON errors.orders TO errors_reader;
SET ROLE errors_reader;
SELECT * FROM errors.of('SELECT id FROM errors.orders');
RESET ROLE;

\x off
\! chmod 700 "$ICEBERG_FDW_SCRATCH/errors/closed" && rm -rf "$ICEBERG_FDW_SCRATCH/errors"
SET client_min_messages = warning;
DROP SCHEMA errors CASCADE;
DROP SERVER errors_lake;
DROP ROLE errors_reader;
