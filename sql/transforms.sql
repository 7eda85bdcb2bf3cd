-- Iceberg's partition transforms as functions, with the results that partitions have. Spec: "Partition Transforms".
-- Times with a zone are transformed in UTC, whatever the session's time zone is.

CREATE FUNCTION year(value date) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'year_of_date_wrapper';
CREATE FUNCTION year(value timestamp without time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'year_of_timestamp_wrapper';
CREATE FUNCTION year(value timestamp with time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'year_of_timestamp_wrapper';
CREATE FUNCTION month(value date) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'month_of_date_wrapper';
CREATE FUNCTION month(value timestamp without time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'month_of_timestamp_wrapper';
CREATE FUNCTION month(value timestamp with time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'month_of_timestamp_wrapper';
CREATE FUNCTION day(value date) RETURNS date
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'day_of_date_wrapper';
CREATE FUNCTION day(value timestamp without time zone) RETURNS date
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'day_of_timestamp_wrapper';
CREATE FUNCTION day(value timestamp with time zone) RETURNS date
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'day_of_timestamp_wrapper';
CREATE FUNCTION hour(value timestamp without time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'hour_of_timestamp_wrapper';
CREATE FUNCTION hour(value timestamp with time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'hour_of_timestamp_wrapper';

CREATE FUNCTION bucket(buckets integer, value integer) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_int_wrapper';
CREATE FUNCTION bucket(buckets integer, value bigint) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_long_wrapper';
CREATE FUNCTION bucket(buckets integer, value numeric) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_numeric_wrapper';
CREATE FUNCTION bucket(buckets integer, value date) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_date_wrapper';
CREATE FUNCTION bucket(buckets integer, value time without time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_long_wrapper';
CREATE FUNCTION bucket(buckets integer, value timestamp without time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_timestamp_wrapper';
CREATE FUNCTION bucket(buckets integer, value timestamp with time zone) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_timestamp_wrapper';
CREATE FUNCTION bucket(buckets integer, value pg_catalog.text) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_text_wrapper';
CREATE FUNCTION bucket(buckets integer, value pg_catalog.uuid) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_uuid_wrapper';
CREATE FUNCTION bucket(buckets integer, value pg_catalog.bytea) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'bucket_of_bytea_wrapper';

CREATE FUNCTION "truncate"(width integer, value integer) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_int_wrapper';
CREATE FUNCTION "truncate"(width integer, value bigint) RETURNS bigint
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_long_wrapper';
CREATE FUNCTION "truncate"(width integer, value numeric) RETURNS numeric
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_numeric_wrapper';
CREATE FUNCTION "truncate"(width integer, value pg_catalog.text) RETURNS pg_catalog.text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_text_wrapper';
CREATE FUNCTION "truncate"(width integer, value pg_catalog.bytea) RETURNS pg_catalog.bytea
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'truncate_bytea_wrapper';
