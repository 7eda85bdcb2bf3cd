"""Compares how fast a table can be read: as a foreign table of iceberg_fdw, as a heap table, by DuckDB and by chDB."""
