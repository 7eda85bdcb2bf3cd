-- Time travel: selectors as options, settings and quals; what EXPLAIN says, and what a wrong one is answered with.
\set SHOW_CONTEXT never
\set fixtures `echo "$ICEBERG_FDW_FIXTURES"`
\set orders :fixtures '/warehouse/shop/orders'
CREATE SCHEMA time_travel;
SET search_path = time_travel;
CREATE SERVER time_travel_lake FOREIGN DATA WRAPPER iceberg_fdw;
SELECT iceberg.attach('orders', 'time_travel_lake', :'orders', allow_moved_paths => true);
SELECT iceberg.attach('tagged', 'time_travel_lake', :'orders', allow_moved_paths => true, at_ref => '2025-q2');
SELECT iceberg.attach('wrong', 'time_travel_lake', :'orders', allow_moved_paths => true, at_ref => 'main', at_snapshot => 1);
SELECT iceberg.attach('wrong', 'time_travel_lake', :'orders', allow_moved_paths => true, at_ref => 'q2');
SELECT iceberg.attach('wrong', 'time_travel_lake', :'orders', allow_moved_paths => true, at_timestamp => '2025-01-01 00:00+00');
-- The snapshot that EXPLAIN shows for a query.
CREATE FUNCTION snapshot_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line LIKE '%Snapshot:%' OR line LIKE '%Filter:%' THEN
            RETURN NEXT btrim(line);
        END IF;
    END LOOP;
END
$$;

SELECT count(*) FROM tagged;
SELECT snapshot_of('SELECT * FROM orders');
SELECT snapshot_of('SELECT * FROM tagged');
SET iceberg_fdw.timestamp_ms = 1743487200000;
SELECT snapshot_of('SELECT * FROM tagged');
SELECT snapshot_of($$SELECT * FROM tagged WHERE iceberg.at_ref(tableoid, '2025-q3') AND id > 5$$);
SET iceberg_fdw.ref = 'main';
SELECT count(*) FROM orders;
RESET iceberg_fdw.ref;
RESET iceberg_fdw.timestamp_ms;
SET iceberg_fdw.snapshot_id = 'current';
-- A column that did not exist then reads NULL.
SELECT count(*), count(coupon) FROM orders WHERE iceberg.at_timestamp(tableoid, '2025-07-01 13:00+00');
-- Two snapshots of one table.
SELECT snapshot_of($$SELECT id FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1')
    EXCEPT SELECT id FROM orders WHERE iceberg.at_snapshot(tableoid, 2753551918892190622)$$);
-- A plan that serves every snapshot.
SET plan_cache_mode = force_generic_plan;
PREPARE at(timestamptz) AS SELECT count(*) FROM orders WHERE iceberg.at_timestamp(tableoid, $1);
EXECUTE at('2025-05-01 00:00+00');
EXECUTE at('2025-12-01 00:00+00');
SELECT snapshot_of($$EXECUTE at('2025-05-01 00:00+00')$$);
EXECUTE at('2025-04-01 05:59:59.999+00');
EXECUTE at(NULL);
-- A selector that another table gives.
CREATE TABLE tags AS SELECT '2025-q' || n AS tag FROM generate_series(1, 4) n;
EXPLAIN (COSTS OFF) SELECT tag, count(*) FROM orders o JOIN tags ON iceberg.at_ref(o.tableoid, tag) GROUP BY tag;
SELECT tag, count(*) FROM orders o JOIN tags ON iceberg.at_ref(o.tableoid, tag) GROUP BY tag ORDER BY tag;
-- Where a selector may not stand, and what it may not depend on.
SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, '2025-q1') OR id = 1;
SELECT count(*) FROM tags WHERE iceberg.at_snapshot(tableoid, 1);
SELECT count(*) FROM orders WHERE iceberg.at_snapshot(tableoid, id);
SELECT count(*) FROM orders WHERE iceberg.at_timestamp(tableoid, clock_timestamp());
SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, 'main') AND iceberg.at_snapshot(tableoid, 1);
SELECT count(*) FROM orders WHERE iceberg.at_ref(tableoid, 'q1');

SET client_min_messages = warning;
DROP SCHEMA time_travel CASCADE;
DROP SERVER time_travel_lake;
