"""Lays the table out in the Postgres cluster twice: as a foreign table and, with the same rows, as a heap table.

The heap's rows come from DuckDB, not through the foreign table, so that each can be checked against the other.
"""

import io
import sys
from pathlib import Path

import psycopg
import pyarrow.csv
from psycopg import sql

from bench.contenders import duckdb
from bench.contenders.postgres import HEAP_TABLE
from bench.lineitem import KEY_COLUMN, NAMES, PARTITION_COLUMN, postgres_columns


def create_server(dsn: str, warehouse: Path) -> None:
    """Creates the extension and a server for the warehouse."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION iceberg_fdw")
        connection.execute(
            sql.SQL("CREATE SERVER bench FOREIGN DATA WRAPPER iceberg_fdw OPTIONS (warehouse {})").format(
                sql.Literal(str(warehouse))
            )
        )


def create_foreign_table(dsn: str, name: str, directory: Path) -> None:
    """Creates a foreign table over the Iceberg table in this directory."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE FOREIGN TABLE {} ({}) SERVER bench OPTIONS (location {})").format(
                sql.Identifier(name), sql.SQL(postgres_columns()), sql.Literal(str(directory))
            )
        )


def load_heap_table(dsn: str, metadata_file: Path) -> None:
    """Copies the rows into a heap table, unless there is one, and leaves it as fast to read as a heap table can be."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass(%s)", [HEAP_TABLE]).fetchall() != [(None,)]:
            return
    print("Loading the heap table", file=sys.stderr)
    batches = (
        duckdb.connect()
        .execute(f"SELECT {', '.join(NAMES)} FROM {duckdb.iceberg_scan(metadata_file)}")
        .to_arrow_reader(100_000)
    )
    options = pyarrow.csv.WriteOptions(include_header=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        # In the transaction that creates the table, COPY need not write to the log.
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {HEAP_TABLE} ({postgres_columns()})".encode())
            with cursor.copy(f"COPY {HEAP_TABLE} FROM STDIN (FORMAT csv)".encode()) as copy:
                for batch in batches:
                    text = io.BytesIO()
                    pyarrow.csv.write_csv(batch, text, options)
                    copy.write(text.getbuffer())
        # Hint bits and the visibility map are set here, not by the first reader.
        connection.execute(f"VACUUM (FREEZE, ANALYZE) {HEAP_TABLE}".encode())


def create_indexes(dsn: str) -> None:
    """Indexes the heap table by what selective queries ask for."""
    print("Indexing the heap table", file=sys.stderr)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for column in (KEY_COLUMN, PARTITION_COLUMN):
            connection.execute(f"CREATE INDEX ON {HEAP_TABLE} ({column})".encode())
        connection.execute(f"VACUUM (ANALYZE) {HEAP_TABLE}".encode())
