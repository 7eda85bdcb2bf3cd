-- Options: where each may stand, what values it takes, and what a wrong one is answered with.
\set SHOW_CONTEXT never

-- An option of the wrapper itself: there are none.
ALTER FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (ADD warehouse '/srv/lake');
ALTER FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (ADD nothing 'x');

-- Servers: what is right.
CREATE SERVER options_empty FOREIGN DATA WRAPPER iceberg_fdw;
CREATE SERVER options_lake FOREIGN DATA WRAPPER iceberg_fdw
    OPTIONS (catalog_type 'path', warehouse '/srv/lake', allowed_locations '/srv/a, "/srv/b,c"',
             metadata_staleness_ms '1000', updatable 'false');
ALTER SERVER options_lake OPTIONS (SET warehouse 'file:///srv/with space/100%/#1', DROP updatable);
SELECT srvoptions FROM pg_foreign_server WHERE srvname = 'options_lake';

-- Servers: unknown names are answered with the nearest, or with all there are.
ALTER SERVER options_lake OPTIONS (ADD warehose '/x');
ALTER SERVER options_lake OPTIONS (ADD "Warehouse" '/x');
ALTER SERVER options_lake OPTIONS (ADD xyz 'x');
-- Servers: known names at the wrong place.
ALTER SERVER options_lake OPTIONS (ADD location '/x');
ALTER SERVER options_lake OPTIONS (ADD field_id '1');
ALTER SERVER options_lake OPTIONS (ADD import_collate 'C');
-- Servers: values.
ALTER SERVER options_lake OPTIONS (SET warehouse '');
ALTER SERVER options_lake OPTIONS (SET warehouse 'lake');
ALTER SERVER options_lake OPTIONS (SET warehouse 'hdfs://host/lake');
ALTER SERVER options_lake OPTIONS (SET warehouse 'https://me:hush@host/lake');
ALTER SERVER options_lake OPTIONS (ADD endpoint 'localhost:9000');
ALTER SERVER options_lake OPTIONS (ADD endpoint 'https://me:hush@host');
ALTER SERVER options_lake OPTIONS (SET allowed_locations '/a,,/b');
ALTER SERVER options_lake OPTIONS (SET metadata_staleness_ms '-1');
ALTER SERVER options_lake OPTIONS (SET metadata_staleness_ms '2147483648');
ALTER SERVER options_lake OPTIONS (ADD updatable 'perhaps');
ALTER SERVER options_lake OPTIONS (SET catalog_type 'rest');
ALTER SERVER options_lake OPTIONS (SET catalog_type 'resst');
-- Servers: known, but not supported yet.
ALTER SERVER options_lake OPTIONS (ADD uri 'http://localhost:8181');
-- Servers: how stores are reached. Two switches are for superusers, who alone may then change anything.
ALTER SERVER options_lake OPTIONS (ADD region 'eu-north-1', ADD endpoint 'http://localhost:9000', ADD allow_http 'on',
                                   SET warehouse 's3a://bucket/lake');
CREATE ROLE options_owner;
GRANT USAGE ON FOREIGN DATA WRAPPER iceberg_fdw TO options_owner;
ALTER SERVER options_lake OWNER TO options_owner;
SET ROLE options_owner;
ALTER SERVER options_lake OPTIONS (ADD use_ambient_credentials 'true');
ALTER SERVER options_lake OPTIONS (ADD allow_link_local '1');
ALTER SERVER options_lake OPTIONS (ADD use_ambient_credentials 'false');
RESET ROLE;
ALTER SERVER options_lake OPTIONS (SET use_ambient_credentials 'true');
SET ROLE options_owner;
ALTER SERVER options_lake OPTIONS (SET endpoint 'http://elsewhere');
RESET ROLE;
ALTER SERVER options_lake OWNER TO CURRENT_USER;
REVOKE USAGE ON FOREIGN DATA WRAPPER iceberg_fdw FROM options_owner;
DROP ROLE options_owner;
ALTER SERVER options_lake OPTIONS (DROP use_ambient_credentials);

-- Secrets stand in user mappings only and are never repeated.
ALTER SERVER options_lake OPTIONS (ADD secret_access_key 'hush');
CREATE SERVER wrong FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (password 'hush');
ALTER SERVER options_lake OPTIONS (ADD secret_acces_key 'hush');
CREATE USER MAPPING FOR CURRENT_USER SERVER options_lake OPTIONS (access_key_id 'id', secret_access_key 'hush');
ALTER USER MAPPING FOR CURRENT_USER SERVER options_lake OPTIONS (ADD token '');
ALTER USER MAPPING FOR CURRENT_USER SERVER options_lake OPTIONS (ADD warehouse '/x');
ALTER USER MAPPING FOR CURRENT_USER SERVER options_lake OPTIONS (ADD passwort 'hush');
DROP USER MAPPING FOR CURRENT_USER SERVER options_lake;

-- Tables: one way to name the table.
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake;
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (namespace 'sales');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (table_name 'orders');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (location '/x', table_name 'orders');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (location '/x', namespace 'sales', table_name 'orders');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (location '/x', secret_access_key 'hush');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (location '/x', warehouse '/y');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake OPTIONS (location '/x', locaton '/y');
CREATE FOREIGN TABLE options_t (a int) SERVER options_lake
    OPTIONS (location '/x', metadata_file_path 'metadata/v1.metadata.json',
             metadata_table_uuid '9C12D441-03fe-4693-9a96-a0705ddf69c1',
             recent_metadata_file_by_last_updated_ms 'on', allow_moved_paths 'true', updatable 'no');
-- ALTER checks the list that results.
ALTER FOREIGN TABLE options_t OPTIONS (DROP location);
ALTER FOREIGN TABLE options_t OPTIONS (ADD namespace 'sales', ADD table_name 'orders');
ALTER FOREIGN TABLE options_t OPTIONS (DROP location, ADD namespace 'sales', ADD table_name 'orders');
ALTER FOREIGN TABLE options_t OPTIONS (SET namespace 'sales..x');
ALTER FOREIGN TABLE options_t OPTIONS (SET namespace '../sales');
ALTER FOREIGN TABLE options_t OPTIONS (SET table_name '..');
ALTER FOREIGN TABLE options_t OPTIONS (SET table_name 'a/b');
ALTER FOREIGN TABLE options_t OPTIONS (SET metadata_file_path '../v1.metadata.json');
ALTER FOREIGN TABLE options_t OPTIONS (SET metadata_table_uuid '9c12d441');
ALTER FOREIGN TABLE options_t OPTIONS (SET allow_moved_paths '2');
-- One snapshot is chosen, in one way.
ALTER FOREIGN TABLE options_t OPTIONS (ADD snapshot_id '-1');
ALTER FOREIGN TABLE options_t OPTIONS (ADD timestamp_ms '1');
ALTER FOREIGN TABLE options_t OPTIONS (DROP snapshot_id, ADD timestamp_ms '1');
ALTER FOREIGN TABLE options_t OPTIONS (ADD ref 'main');
ALTER FOREIGN TABLE options_t OPTIONS (SET timestamp_ms '2025-01-01');
ALTER FOREIGN TABLE options_t OPTIONS (DROP timestamp_ms, ADD ref 'main');
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 'options_t'::regclass;

-- Columns.
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (ADD field_id '3');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (ADD column_name 'A b');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (SET field_id 'x');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (SET field_id '-1');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (SET column_name '');
-- A column is a field of the table, or something about the row.
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (ADD metadata_column '_file');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (DROP field_id, ADD metadata_column '_file');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (DROP field_id, DROP column_name, ADD metadata_column '_deleted');
ALTER FOREIGN TABLE options_t ADD COLUMN b text OPTIONS (metadata_column '_file');
ALTER FOREIGN TABLE options_t ALTER COLUMN b OPTIONS (SET metadata_column '_partition');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (ADD location '/x');
ALTER FOREIGN TABLE options_t ALTER COLUMN a OPTIONS (ADD name 'x');
SELECT attfdwoptions FROM pg_attribute WHERE attrelid = 'options_t'::regclass AND attname IN ('a', 'b') ORDER BY attname;

-- SQLSTATEs.
\set VERBOSITY sqlstate
ALTER SERVER options_lake OPTIONS (ADD warehose '/x');
ALTER SERVER options_lake OPTIONS (ADD secret_access_key 'hush');
ALTER SERVER options_lake OPTIONS (SET warehouse 'lake');
ALTER SERVER options_lake OPTIONS (SET catalog_type 'rest');
CREATE FOREIGN TABLE u (a int) SERVER options_lake;
CREATE FOREIGN TABLE u (a int) SERVER options_lake OPTIONS (location '/x', namespace 'n', table_name 't');
\set VERBOSITY default

DROP FOREIGN TABLE options_t;
DROP SERVER options_lake;
DROP SERVER options_empty;
