-- The extension installs, into the schema that its control file names.
CREATE EXTENSION iceberg_fdw;
SELECT extversion, nspname AS schema
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'iceberg_fdw';
