-- The functions about a table's metadata: typed columns out of the rows that metadata_rows gives as JSON.
-- Every name is qualified, for the bodies run with the caller's search path.

CREATE FUNCTION snapshots("table" regclass)
RETURNS TABLE (
    committed_at timestamp with time zone, snapshot_id bigint, parent_id bigint, operation pg_catalog.text,
    manifest_list pg_catalog.text, summary pg_catalog.jsonb, sequence_number bigint, schema_id integer
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'snapshots', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            committed_at timestamp with time zone, snapshot_id bigint, parent_id bigint, operation pg_catalog.text,
            manifest_list pg_catalog.text, summary pg_catalog.jsonb, sequence_number bigint, schema_id integer
        )
$$;
COMMENT ON FUNCTION snapshots IS 'the snapshots that an Iceberg table keeps';

CREATE FUNCTION history("table" regclass)
RETURNS TABLE (
    made_current_at timestamp with time zone, snapshot_id bigint, parent_id bigint, is_current_ancestor boolean
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'history', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            made_current_at timestamp with time zone, snapshot_id bigint, parent_id bigint,
            is_current_ancestor boolean
        )
$$;
COMMENT ON FUNCTION history IS 'which snapshot of an Iceberg table was current from when on';

CREATE FUNCTION refs("table" regclass)
RETURNS TABLE (
    "name" pg_catalog.text, "type" pg_catalog.text, snapshot_id bigint, max_reference_age_in_ms bigint,
    min_snapshots_to_keep integer, max_snapshot_age_in_ms bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'refs', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "name" pg_catalog.text, "type" pg_catalog.text, snapshot_id bigint, max_reference_age_in_ms bigint,
            min_snapshots_to_keep integer, max_snapshot_age_in_ms bigint
        )
$$;
COMMENT ON FUNCTION refs IS 'the branches and tags of an Iceberg table';

CREATE FUNCTION metadata_log("table" regclass)
RETURNS TABLE (
    "timestamp" timestamp with time zone, file pg_catalog.text, latest_snapshot_id bigint, latest_schema_id integer,
    latest_sequence_number bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'metadata_log', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "timestamp" timestamp with time zone, file pg_catalog.text, latest_snapshot_id bigint,
            latest_schema_id integer, latest_sequence_number bigint
        )
$$;
COMMENT ON FUNCTION metadata_log IS 'the metadata files of an Iceberg table, the current one last';

CREATE FUNCTION schemas("table" regclass)
RETURNS TABLE (
    schema_id integer, is_current boolean, identifier_field_ids integer[], fields pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'schemas', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            schema_id integer, is_current boolean, identifier_field_ids integer[], fields pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION schemas IS 'the schemas of an Iceberg table';

CREATE FUNCTION partition_specs("table" regclass)
RETURNS TABLE (
    spec_id integer, is_default boolean, fields pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'partition_specs', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            spec_id integer, is_default boolean, fields pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION partition_specs IS 'the partition specs of an Iceberg table';

CREATE FUNCTION sort_orders("table" regclass)
RETURNS TABLE (
    order_id integer, is_default boolean, fields pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'sort_orders', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            order_id integer, is_default boolean, fields pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION sort_orders IS 'the sort orders of an Iceberg table';

CREATE FUNCTION properties("table" regclass)
RETURNS TABLE (
    "key" pg_catalog.text, "value" pg_catalog.text
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'properties', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "key" pg_catalog.text, "value" pg_catalog.text
        )
$$;
COMMENT ON FUNCTION properties IS 'the properties of an Iceberg table';

CREATE FUNCTION statistics("table" regclass)
RETURNS TABLE (
    kind pg_catalog.text, snapshot_id bigint, statistics_path pg_catalog.text, file_size_in_bytes bigint,
    file_footer_size_in_bytes bigint, blob_metadata pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 100 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'statistics', NULL, NULL, NULL) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            kind pg_catalog.text, snapshot_id bigint, statistics_path pg_catalog.text, file_size_in_bytes bigint,
            file_footer_size_in_bytes bigint, blob_metadata pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION statistics IS 'the statistics files of an Iceberg table';

CREATE FUNCTION manifests("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    "content" integer, path pg_catalog.text, "length" bigint, partition_spec_id integer, sequence_number bigint,
    min_sequence_number bigint, added_snapshot_id bigint, added_data_files_count bigint,
    existing_data_files_count bigint, deleted_data_files_count bigint, added_delete_files_count bigint,
    existing_delete_files_count bigint, deleted_delete_files_count bigint, added_rows_count bigint,
    existing_rows_count bigint, deleted_rows_count bigint, partition_summaries pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'manifests', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "content" integer, path pg_catalog.text, "length" bigint, partition_spec_id integer,
            sequence_number bigint, min_sequence_number bigint, added_snapshot_id bigint,
            added_data_files_count bigint, existing_data_files_count bigint, deleted_data_files_count bigint,
            added_delete_files_count bigint, existing_delete_files_count bigint, deleted_delete_files_count bigint,
            added_rows_count bigint, existing_rows_count bigint, deleted_rows_count bigint,
            partition_summaries pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION manifests IS 'the manifests of a snapshot';

CREATE FUNCTION entries("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    status integer, snapshot_id bigint, sequence_number bigint, file_sequence_number bigint,
    data_file pg_catalog.jsonb
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'entries', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            status integer, snapshot_id bigint, sequence_number bigint, file_sequence_number bigint,
            data_file pg_catalog.jsonb
        )
$$;
COMMENT ON FUNCTION entries IS 'every entry of the manifests of a snapshot';

CREATE FUNCTION files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
    "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint, column_sizes pg_catalog.jsonb,
    value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb, nan_value_counts pg_catalog.jsonb,
    lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb, key_metadata pg_catalog.bytea,
    split_offsets bigint[], equality_ids integer[], sort_order_id integer, first_row_id bigint,
    referenced_data_file pg_catalog.text, content_offset bigint, content_size_in_bytes bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
            "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint,
            column_sizes pg_catalog.jsonb, value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb,
            nan_value_counts pg_catalog.jsonb, lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb,
            key_metadata pg_catalog.bytea, split_offsets bigint[], equality_ids integer[], sort_order_id integer,
            first_row_id bigint, referenced_data_file pg_catalog.text, content_offset bigint,
            content_size_in_bytes bigint
        )
$$;
COMMENT ON FUNCTION files IS 'the data and delete files of a snapshot';

CREATE FUNCTION data_files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
    "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint, column_sizes pg_catalog.jsonb,
    value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb, nan_value_counts pg_catalog.jsonb,
    lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb, key_metadata pg_catalog.bytea,
    split_offsets bigint[], equality_ids integer[], sort_order_id integer, first_row_id bigint,
    referenced_data_file pg_catalog.text, content_offset bigint, content_size_in_bytes bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'data_files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
            "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint,
            column_sizes pg_catalog.jsonb, value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb,
            nan_value_counts pg_catalog.jsonb, lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb,
            key_metadata pg_catalog.bytea, split_offsets bigint[], equality_ids integer[], sort_order_id integer,
            first_row_id bigint, referenced_data_file pg_catalog.text, content_offset bigint,
            content_size_in_bytes bigint
        )
$$;
COMMENT ON FUNCTION data_files IS 'the data files of a snapshot';

CREATE FUNCTION delete_files("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
    "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint, column_sizes pg_catalog.jsonb,
    value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb, nan_value_counts pg_catalog.jsonb,
    lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb, key_metadata pg_catalog.bytea,
    split_offsets bigint[], equality_ids integer[], sort_order_id integer, first_row_id bigint,
    referenced_data_file pg_catalog.text, content_offset bigint, content_size_in_bytes bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'delete_files', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "content" integer, file_path pg_catalog.text, file_format pg_catalog.text, spec_id integer,
            "partition" pg_catalog.jsonb, record_count bigint, file_size_in_bytes bigint,
            column_sizes pg_catalog.jsonb, value_counts pg_catalog.jsonb, null_value_counts pg_catalog.jsonb,
            nan_value_counts pg_catalog.jsonb, lower_bounds pg_catalog.jsonb, upper_bounds pg_catalog.jsonb,
            key_metadata pg_catalog.bytea, split_offsets bigint[], equality_ids integer[], sort_order_id integer,
            first_row_id bigint, referenced_data_file pg_catalog.text, content_offset bigint,
            content_size_in_bytes bigint
        )
$$;
COMMENT ON FUNCTION delete_files IS 'the delete files of a snapshot';

CREATE FUNCTION partitions("table" regclass,
    at_snapshot bigint DEFAULT NULL, at_timestamp timestamp with time zone DEFAULT NULL, at_ref text DEFAULT NULL)
RETURNS TABLE (
    "partition" pg_catalog.jsonb, spec_id integer, record_count bigint, file_count bigint,
    total_data_file_size_in_bytes bigint, position_delete_record_count bigint, position_delete_file_count bigint,
    equality_delete_record_count bigint, equality_delete_file_count bigint, last_updated_at timestamp with time zone,
    last_updated_snapshot_id bigint
) LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000 AS $$
    SELECT columns.*
    FROM @extschema@.metadata_rows($1, 'partitions', $2, $3, $4) AS line,
        LATERAL pg_catalog.jsonb_to_record(line::pg_catalog.jsonb) AS columns (
            "partition" pg_catalog.jsonb, spec_id integer, record_count bigint, file_count bigint,
            total_data_file_size_in_bytes bigint, position_delete_record_count bigint,
            position_delete_file_count bigint, equality_delete_record_count bigint,
            equality_delete_file_count bigint, last_updated_at timestamp with time zone,
            last_updated_snapshot_id bigint
        )
$$;
COMMENT ON FUNCTION partitions IS 'the partitions of a snapshot';

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
