-- What EXPLAIN says of a scan. Numbers of manifests, files and rows are those that PyIceberg wrote (tests/fixtures/make).
SET timezone = 'UTC';
SET datestyle = 'ISO';
\getenv fixtures ICEBERG_FDW_FIXTURES
\set warehouse :fixtures '/warehouse'
CREATE SERVER explained FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse :'warehouse');
CREATE SCHEMA explained;
IMPORT FOREIGN SCHEMA shop LIMIT TO (orders) FROM SERVER explained INTO explained OPTIONS (allow_moved_paths 'true');

-- The lines of a plan, without the directory that differs between machines.
CREATE FUNCTION explained.lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(line, '/.*/warehouse/', '<warehouse>/');
    END LOOP;
END $$;

-- The scan's node of a plan that was executed.
CREATE FUNCTION explained.scan(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, '$.**?(@."Node Type" == "Foreign Scan")');
END $$;

SELECT * FROM explained.lines('SELECT id FROM explained.orders WHERE status = ''returned''');

SELECT scan->>'Snapshot' AS snapshot, scan->'Manifests Total' AS manifests, scan->'Manifests Skipped' AS manifests_skipped,
       scan->'Data Files Total' AS files, scan->'Data Files Read' AS files_read, scan->'Delete Files Read' AS delete_files
FROM explained.scan('SELECT id FROM explained.orders') AS scan;
-- The files of one month of twelve, and those that hold some ids.
SELECT * FROM explained.lines('SELECT id FROM explained.orders WHERE ordered_at >= ''2025-05-01'' AND ordered_at < ''2025-06-01''');
SELECT scan->'Data Files Total' AS files, scan->'Data Files Skipped by Partition' AS by_partition,
       scan->'Data Files Skipped by Metrics' AS by_metrics, scan->'Data Files Read' AS files_read, scan->'Row Groups Total' AS row_groups
FROM explained.scan('SELECT id FROM explained.orders WHERE id BETWEEN 5000 AND 5010') AS scan;
-- A clause that the reader does not understand stays a filter.
SELECT * FROM explained.lines('SELECT id FROM explained.orders WHERE length(note) > 3 AND status <> ''returned''');
SELECT scan->>'Iceberg Table' LIKE '%/warehouse/shop/orders' AS located, scan->'Row Groups Total' AS row_groups,
       scan->'Row Groups Skipped' AS row_groups_skipped, scan->'Pages Skipped' AS pages_skipped, scan->'Rows Skipped' AS rows_skipped,
       scan->'Rows Deleted' AS rows_deleted, (scan->>'Actual Rows')::numeric = 20000 AS all_rows,
       (scan->>'Bytes Read')::bigint > 0 AS bytes_were_read, (scan->>'Requests')::bigint >= 12 AS requests,
       (scan->>'I/O Time')::numeric > 0 AS io_time, (scan->>'Decode Time')::numeric > 0 AS decode_time
FROM explained.scan('SELECT id FROM explained.orders') AS scan;
-- Times only where they are asked for.
CREATE FUNCTION explained.untimed(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan->0->'Plan';
END $$;
SELECT scan ? 'I/O Time' AS io_time, scan ? 'Decode Time' AS decode_time, scan ? 'Bytes Read' AS bytes_read
FROM explained.untimed('SELECT id FROM explained.orders') AS scan;

-- Without ANALYZE nothing is read, and rows are estimated from the manifests.
SELECT count(*) FILTER (WHERE line LIKE '%Row Groups%' OR line LIKE '%Bytes Read%') AS lines_of_work
FROM explained.lines('SELECT id FROM explained.orders') AS line;
CREATE FUNCTION explained.rows(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan->0->'Plan'->'Plan Rows';
END $$;
SELECT explained.rows('SELECT id FROM explained.orders') AS estimated_rows;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA explained CASCADE;
DROP SERVER explained CASCADE;
