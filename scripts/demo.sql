-- The tour of `make demo`: from an empty database to Iceberg tables. psql variable `warehouse`: the directory of the sample tables.
\set ECHO queries
\pset pager off
\pset null (null)

\echo
\echo '*** A server is a warehouse: a directory (or a URL) under which each namespace has its tables.'
CREATE EXTENSION iceberg_fdw;
CREATE SERVER lake FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse :'warehouse');

\echo
\echo '*** Every table of a namespace becomes a foreign table. The sample tables were written elsewhere and copied here: allow_moved_paths.'
CREATE SCHEMA shop;
CREATE SCHEMA telemetry;
IMPORT FOREIGN SCHEMA shop FROM SERVER lake INTO shop OPTIONS (allow_moved_paths 'true');
IMPORT FOREIGN SCHEMA telemetry FROM SERVER lake INTO telemetry OPTIONS (allow_moved_paths 'true');
\d shop.orders

\echo
\echo '*** Rows, as they are in the files.'
SELECT id, customer_id, status, amount, ordered_at, items
FROM shop.orders ORDER BY ordered_at LIMIT 5;

\echo
\echo '*** The column coupon was added in July: older files have no such column, their rows read NULL.'
SELECT date_trunc('quarter', ordered_at, 'UTC')::date AS quarter, count(*) AS orders, count(coupon) AS with_coupon, sum(amount) AS turnover
FROM shop.orders GROUP BY 1 ORDER BY 1;

\echo
\echo '*** Joins, with each other and with any table of yours.'
SELECT c.country, count(*) AS orders, round(avg(o.amount), 2) AS average
FROM shop.orders AS o JOIN shop.customers AS c ON c.id = o.customer_id
WHERE o.status = 'returned'
GROUP BY c.country ORDER BY orders DESC, c.country LIMIT 5;

\echo
\echo '*** Lists are arrays; structs, maps and lists of structs are jsonb.'
SELECT e.ts, s.name, e.kind, e.reading, e.tags, e.attributes
FROM telemetry.events AS e JOIN telemetry.stations AS s ON s.id = e.station_id
ORDER BY e.ts DESC, e.event_id LIMIT 3;

\echo
\echo '*** What a query reads: the snapshot, files, bytes and rows.'
EXPLAIN (ANALYZE, VERBOSE)
SELECT sum(amount) FROM shop.orders WHERE ordered_at >= '2025-11-01 00:00+00';

\echo
\echo '*** Time travel: any snapshot, time, branch or tag, as a condition; the same table may be read twice.'
SELECT name, snapshot_id FROM iceberg.refs('shop.orders') ORDER BY name;
SELECT count(*) AS orders_in_march FROM shop.orders WHERE iceberg.at_ref(tableoid, '2025-q1');
SELECT count(*) AS since_then
FROM (SELECT id FROM shop.orders EXCEPT SELECT id FROM shop.orders WHERE iceberg.at_ref(tableoid, '2025-q1')) AS newer;
