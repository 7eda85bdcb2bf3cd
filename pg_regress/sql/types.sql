-- Values of every type as psql shows them, and the types that may be declared for structs and lists.
\set SHOW_CONTEXT never
\set fixtures `echo "$ICEBERG_FDW_FIXTURES"`
\set scalars :fixtures '/types/scalars_v2'
\set nested :fixtures '/types/nested'
CREATE SERVER types_lake FOREIGN DATA WRAPPER iceberg_fdw;
CREATE SCHEMA types;
SET search_path = types, public;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
SELECT iceberg.attach('types.scalars', 'types_lake', :'scalars', allow_moved_paths => true) IS NOT NULL AS attached;
SELECT iceberg.attach('types.nested', 'types_lake', :'nested', allow_moved_paths => true) IS NOT NULL AS attached;

SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'scalars'::regclass AND attnum > 0 ORDER BY attnum;
\x on
SELECT * FROM scalars ORDER BY id LIMIT 2;
SELECT long, float, double, decimal_18_4, decimal_38_10, decimal_38_0, date, "time", "timestamp", uuid, fixed, "binary"
FROM scalars WHERE id = 3;
\x off
SELECT float_list, date_list, time_list, timestamptz_list, fixed_list, uuid_list FROM nested WHERE id = 4;
SELECT jsonb_pretty(everything - 'string') AS everything FROM nested WHERE id = 4;
SELECT id, points FROM nested ORDER BY id;

-- The same structs in a composite type, whose attributes may have any order, and in a domain over it.
CREATE TYPE place AS ("a.b" varchar, y float8, x float8);
CREATE DOMAIN near AS place CHECK ((VALUE).x >= 0);
CREATE FOREIGN TABLE places (id int, points place[]) SERVER types_lake
    OPTIONS (location :'nested', allow_moved_paths 'true');
SELECT id, points, (points[1]).x FROM places ORDER BY id;
CREATE FOREIGN TABLE near_places (id int, points near[]) SERVER types_lake
    OPTIONS (location :'nested', allow_moved_paths 'true');
SELECT count(*) FROM near_places;
SELECT id, points FROM near_places;
ALTER TYPE place ADD ATTRIBUTE z float8 CASCADE;
SELECT id, points FROM places;

SET client_min_messages = warning;
DROP SCHEMA types CASCADE;
DROP SERVER types_lake CASCADE;
