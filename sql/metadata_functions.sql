-- The functions about a table's metadata: typed columns out of the rows that metadata_rows gives as JSON.
-- Every name is qualified, for the bodies run with the caller's search path. A row has a type of its own, which the functions
-- that show the same kind of thing share.

CREATE TYPE snapshots_row AS (
    committed_at timestamp with time zone, snapshot_id bigint, parent_id bigint, operation pg_catalog.text,
    manifest_list pg_catalog.text, summary pg_catalog.jsonb, sequence_number bigint, schema_id integer
);

CREATE FUNCTION snapshots("table" regclass)
RETURNS SETOF snapshots_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'snapshots', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.snapshots_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION snapshots IS 'the snapshots that an Iceberg table keeps';

CREATE TYPE history_row AS (
    made_current_at timestamp with time zone, snapshot_id bigint, parent_id bigint, is_current_ancestor boolean
);

CREATE FUNCTION history("table" regclass)
RETURNS SETOF history_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'history', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.history_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION history IS 'which snapshot of an Iceberg table was current from when on';

CREATE TYPE refs_row AS (
    "name" pg_catalog.text, "type" pg_catalog.text, snapshot_id bigint, max_reference_age_in_ms bigint,
    min_snapshots_to_keep integer, max_snapshot_age_in_ms bigint
);

CREATE FUNCTION refs("table" regclass)
RETURNS SETOF refs_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'refs', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.refs_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION refs IS 'the branches and tags of an Iceberg table';

CREATE TYPE metadata_log_row AS (
    "timestamp" timestamp with time zone, file pg_catalog.text, latest_snapshot_id bigint, latest_schema_id integer,
    latest_sequence_number bigint
);

CREATE FUNCTION metadata_log("table" regclass)
RETURNS SETOF metadata_log_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'metadata_log', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.metadata_log_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION metadata_log IS 'the metadata files of an Iceberg table, the current one last';

CREATE TYPE schemas_row AS (
    schema_id integer, is_current boolean, identifier_field_ids integer[], fields pg_catalog.jsonb
);

CREATE FUNCTION schemas("table" regclass)
RETURNS SETOF schemas_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'schemas', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.schemas_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION schemas IS 'the schemas of an Iceberg table';

CREATE TYPE partition_specs_row AS (
    spec_id integer, is_default boolean, fields pg_catalog.jsonb
);

CREATE FUNCTION partition_specs("table" regclass)
RETURNS SETOF partition_specs_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'partition_specs', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.partition_specs_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION partition_specs IS 'the partition specs of an Iceberg table';

CREATE TYPE sort_orders_row AS (
    order_id integer, is_default boolean, fields pg_catalog.jsonb
);

CREATE FUNCTION sort_orders("table" regclass)
RETURNS SETOF sort_orders_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'sort_orders', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.sort_orders_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION sort_orders IS 'the sort orders of an Iceberg table';

CREATE TYPE properties_row AS (
    "key" pg_catalog.text, "value" pg_catalog.text
);

CREATE FUNCTION properties("table" regclass)
RETURNS SETOF properties_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'properties', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.properties_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION properties IS 'the properties of an Iceberg table';

CREATE TYPE statistics_row AS (
    kind pg_catalog.text, snapshot_id bigint, statistics_path pg_catalog.text, file_size_in_bytes bigint,
    file_footer_size_in_bytes bigint, blob_metadata pg_catalog.jsonb
);

CREATE FUNCTION statistics("table" regclass)
RETURNS SETOF statistics_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'statistics', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.statistics_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION statistics IS 'the statistics files of an Iceberg table';

CREATE TYPE manifests_row AS (
    "content" integer, path pg_catalog.text, "length" bigint, partition_spec_id integer, sequence_number bigint,
    min_sequence_number bigint, added_snapshot_id bigint, added_data_files_count bigint,
    existing_data_files_count bigint, deleted_data_files_count bigint, added_delete_files_count bigint,
    existing_delete_files_count bigint, deleted_delete_files_count bigint, added_rows_count bigint,
    existing_rows_count bigint, deleted_rows_count bigint, partition_summaries pg_catalog.jsonb,
    key_metadata pg_catalog.bytea
);

CREATE FUNCTION manifests("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF manifests_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'manifests', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.manifests_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION manifests IS 'the manifests of a snapshot';

CREATE TYPE all_manifests_row AS (
    "content" integer, path pg_catalog.text, "length" bigint, partition_spec_id integer, sequence_number bigint,
    min_sequence_number bigint, added_snapshot_id bigint, added_data_files_count bigint,
    existing_data_files_count bigint, deleted_data_files_count bigint, added_delete_files_count bigint,
    existing_delete_files_count bigint, deleted_delete_files_count bigint, added_rows_count bigint,
    existing_rows_count bigint, deleted_rows_count bigint, partition_summaries pg_catalog.jsonb,
    key_metadata pg_catalog.bytea,
    reference_snapshot_id bigint
);

CREATE FUNCTION all_manifests("table" regclass)
RETURNS SETOF all_manifests_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'all_manifests', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.all_manifests_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION all_manifests IS 'the manifests of every snapshot of an Iceberg table, with the snapshot that lists them';

CREATE TYPE entries_row AS (
    status integer, snapshot_id bigint, sequence_number bigint, file_sequence_number bigint,
    data_file pg_catalog.jsonb
);

CREATE FUNCTION entries("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF entries_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'entries', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.entries_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION entries IS 'every entry of the manifests of a snapshot';

CREATE FUNCTION all_entries("table" regclass)
RETURNS SETOF entries_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'all_entries', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.entries_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION all_entries IS 'every entry of the manifests of all snapshots of an Iceberg table, of each manifest once';

CREATE TYPE files_row AS (
    "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
    "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint, column_sizes pg_catalog.jsonb,
    value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb, nan_value_counts pg_catalog.jsonb,
    lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb, key_metadata pg_catalog.bytea,
    split_offsets bigint[], equality_ids integer[], sort_order_id integer, first_row_id bigint,
    referenced_data_file pg_catalog.text, content_offset bigint, content_size_in_bytes bigint
);

CREATE FUNCTION files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF files_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.files_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION files IS 'the data and delete files of a snapshot';

CREATE FUNCTION data_files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF files_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'data_files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.files_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION data_files IS 'the data files of a snapshot';

CREATE FUNCTION delete_files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF files_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'delete_files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.files_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION delete_files IS 'the delete files of a snapshot';

CREATE FUNCTION all_files("table" regclass)
RETURNS SETOF files_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'all_files', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.files_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION all_files IS 'the files that are live in the manifests of any snapshot of an Iceberg table, of each manifest once';

CREATE TYPE partitions_row AS (
    "partition" pg_catalog.jsonb, spec_id integer, record_count bigint, file_count bigint,
    total_data_file_size_in_bytes bigint, position_delete_record_count bigint, position_delete_file_count bigint,
    equality_delete_record_count bigint, equality_delete_file_count bigint, last_updated_at timestamp with time zone,
    last_updated_snapshot_id bigint
);

CREATE FUNCTION partitions("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF partitions_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'partitions', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.partitions_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION partitions IS 'the partitions of a snapshot';

CREATE TYPE position_deletes_row AS (
    file_path pg_catalog.text, pos bigint, "partition" pg_catalog.jsonb, spec_id integer,
    delete_file_path pg_catalog.text, content_offset bigint, content_size_in_bytes bigint
);

CREATE FUNCTION position_deletes("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS SETOF position_deletes_row LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'position_deletes', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_populate_record(NULL::@extschema@.position_deletes_row, line::pg_catalog.jsonb) AS columns
$$;
COMMENT ON FUNCTION position_deletes IS 'the rows of a snapshot''s position delete files and deletion vectors';

CREATE FUNCTION metadata("table" regclass) RETURNS jsonb LANGUAGE sql STABLE PARALLEL RESTRICTED AS $$
    SELECT pg_catalog.jsonb_extract_path(line::pg_catalog.jsonb, 'metadata')
    FROM @extschema@.metadata_rows($1, 'metadata', NULL, NULL, NULL) AS line
$$;
COMMENT ON FUNCTION metadata IS 'the metadata of an Iceberg table';

CREATE FUNCTION refresh("table" regclass, drop_columns boolean DEFAULT false)
RETURNS TABLE (change pg_catalog.text, column_name pg_catalog.text, detail pg_catalog.text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE AS $$
    SELECT columns.*
    FROM @extschema@.refresh_rows($1, $2) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            change pg_catalog.text, column_name pg_catalog.text, detail pg_catalog.text
        )
$$;
COMMENT ON FUNCTION refresh IS 'brings the columns of a foreign table in line with its Iceberg table';
