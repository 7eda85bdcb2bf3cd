-- The extension installs, into the schema that its control file names.
CREATE EXTENSION iceberg_fdw;
SELECT extversion, nspname AS schema
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'iceberg_fdw';

-- The wrapper has its handler and its validator.
SELECT fdwname, fdwhandler::regproc AS handler, fdwvalidator::regproc AS validator
FROM pg_foreign_data_wrapper WHERE fdwname = 'iceberg_fdw';

-- Dropping it leaves no schema object behind.
DROP EXTENSION iceberg_fdw;
SELECT count(*) FROM pg_proc WHERE probin LIKE '%iceberg_fdw%';
CREATE EXTENSION iceberg_fdw;
