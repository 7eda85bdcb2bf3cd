-- Which conditions the reader checks alone, and which Postgres checks: those have a line "Filter" in the plan.
\getenv fixtures ICEBERG_FDW_FIXTURES
\set warehouse :fixtures '/warehouse'
CREATE SERVER qualified FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse :'warehouse');
CREATE SCHEMA qualified;
IMPORT FOREIGN SCHEMA shop LIMIT TO (orders) FROM SERVER qualified INTO qualified
    OPTIONS (allow_moved_paths 'true', import_collate 'C');
CREATE TABLE qualified.heap AS SELECT * FROM qualified.orders;
SET TimeZone = 'UTC';
SET search_path = qualified, pg_catalog;

-- Whether both tables have the same rows for a condition, how many, and what Postgres checks of it.
CREATE FUNCTION qualified.try(condition text) RETURNS TABLE (same boolean, matches integer, checked_by_postgres text)
LANGUAGE plpgsql AS $$
DECLARE line text; ours bigint[]; theirs bigint[];
BEGIN
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM qualified.orders WHERE %s', condition) INTO ours;
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM qualified.heap WHERE %s', condition) INTO theirs;
    checked_by_postgres := '';
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM qualified.orders WHERE %s', condition) LOOP
        IF line ~ '^ *Filter: ' THEN
            checked_by_postgres := regexp_replace(line, '^ *Filter: ', '');
        END IF;
    END LOOP;
    same := ours IS NOT DISTINCT FROM theirs;
    matches := COALESCE(cardinality(ours), 0);
    RETURN NEXT;
END $$;

SELECT condition, tried.*
FROM (VALUES
    ('id = 7'), ('7 > id'), ('id IN (1, 2, NULL)'), ('id NOT IN (1, 2)'), ('id BETWEEN 5 AND 6.5'),
    ('items = 10000000000'), ('items < 10000000000'),
    ('amount = 1.005'), ('amount <= 100.001'), ('amount IS DISTINCT FROM 10'),
    ('status = ''returned'''), ('status < ''r'''), ('status LIKE ''ret%'''), ('status LIKE ''r_t%'''),
    ('status NOT LIKE ''ret%'' AND id < 100'), ('starts_with(status, ''c'')'), ('upper(status) = ''RETURNED'''),
    ('note IS NULL'), ('note IS NOT NULL AND coupon IS NULL'), ('(note = ''x'') IS UNKNOWN'),
    ('NOT (id > 10 OR status <> ''returned'')'), ('(id, items) < (10, 2)'),
    ('ordered_at >= ''2025-03-01'' AND ordered_at < ''2025-04-01'''), ('ordered_at < now()'),
    ('ordered_at::date = ''2025-03-15'''), ('date_trunc(''month'', ordered_at) = ''2025-03-01'''),
    ('extract(year FROM ordered_at) = 2024'),
    ('iceberg.month(ordered_at) = 662'), ('iceberg.bucket(16, customer_id) = 7'),
    ('iceberg.truncate(3, status) = ''ret'''),
    ('id % 2 = 0'), ('id = items'), ('id > random() * 0'), ('id = 7 AND id % 2 = 1')
) AS conditions (condition), qualified.try(condition) AS tried;

-- Each part of a conjunction by itself; a disjunction as a whole.
SELECT * FROM qualified.try('id < 100 AND id % 2 = 1 AND status LIKE ''%d''');
SELECT * FROM qualified.try('id < 100 OR id % 5000 = 1');

-- Everything is checked by Postgres where that is asked for.
SET iceberg_fdw.enable_pushdown = off;
SELECT * FROM qualified.try('id = 7');
RESET iceberg_fdw.enable_pushdown;

-- Parameters have their values when a scan begins.
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(bigint[]) AS SELECT id, amount FROM qualified.orders WHERE id = ANY ($1) ORDER BY id;
EXECUTE by_id('{1,2,NULL}');
EXECUTE by_id('{}');
EXECUTE by_id(NULL);
SELECT wanted, (SELECT count(*) FROM qualified.orders WHERE id <= wanted AND items >= 1)
FROM (VALUES (3), (NULL), (5)) AS outside (wanted);

-- The transforms of Iceberg are functions of every value that they can be applied to.
SELECT iceberg.bucket(16, 34), iceberg.truncate(10, -1), iceberg.truncate(50, 10.65), iceberg.truncate(3, 'iceberg'::text),
       iceberg.year(date '1969-12-31'), iceberg.month(date '1970-02-01'), iceberg.day(timestamp '1969-12-31 23:00'),
       iceberg.hour(timestamptz '1970-01-01 00:30+01');
SELECT iceberg.bucket(0, 34);
SELECT iceberg.truncate(-1, 'a'::text);
SELECT iceberg.day('infinity'::date);
\df iceberg.bucket
