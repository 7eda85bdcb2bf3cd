-- What EXPLAIN says of a scan. Numbers of manifests, files and rows are those that PyIceberg wrote (tests/fixtures/make).
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
SELECT scan->>'Iceberg Table' LIKE '%/warehouse/shop/orders' AS located, scan->'Row Groups Total' AS row_groups,
       scan->'Rows Read' AS rows_read, scan->'Rows Deleted' AS rows_deleted, scan->'Actual Rows' = '20000' AS all_rows,
       (scan->>'Bytes Read')::bigint > 0 AS bytes_were_read
FROM explained.scan('SELECT id FROM explained.orders') AS scan;

-- Without ANALYZE nothing is read, and rows are estimated from the manifests.
SELECT count(*) FILTER (WHERE line LIKE '%Rows Read%' OR line LIKE '%Bytes Read%') AS lines_of_work
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
