"""DuckDB with its extension `iceberg`, in this process."""

import sysconfig
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb

from bench import checksum
from bench.checksum import Answer
from bench.contenders import PATIENCE, CannotRead
from bench.queries import Query

# In an order in which each finds those that it needs.
EXTENSIONS = ["parquet", "json", "icu", "httpfs", "avro", "iceberg", "tpch"]


def connect() -> duckdb.DuckDBPyConnection:
    """A new in-memory database that has the extensions from the installed wheels and downloads nothing."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")
    packages = Path(sysconfig.get_path("purelib"))
    for name in EXTENSIONS:
        directory = packages / f"duckdb_extension_{name}" / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{directory}/{name}.duckdb_extension'")
    return connection


def iceberg_scan(metadata_file: Path) -> str:
    """What stands for the table in FROM."""
    return f"iceberg_scan('{metadata_file}')"


class DuckDB:
    """Reads the Iceberg table with `iceberg_scan`."""

    name = "DuckDB"

    def __init__(self, metadata_file: Path, patience: float = PATIENCE) -> None:
        self.connection = connect()
        self.table = iceberg_scan(metadata_file)
        self.patience = patience

    def prepare(self, query: Query) -> None:
        """For a cold query, makes a new database; its extensions are loaded already."""
        if query.cold:
            self.connection.close()
            self.connection = connect()

    def run(self, query: Query) -> int:
        """Takes the result as Arrow record batches."""
        reader = self.execute(query.select_from(self.table)).to_arrow_reader()
        return sum(batch.num_rows for batch in reader)

    def answer(self, where: str = "") -> Answer:
        """What DuckDB finds in the table, or among the rows that this is true of."""
        rows, total = self.execute(checksum.duckdb(checksum.rows_of(self.table, where))).fetchall()[0]
        return Answer(rows, int(total or 0))

    def result(self, query: Query) -> tuple[Any, ...]:
        """The only row of an aggregate."""
        (row,) = self.execute(query.select_from(self.table)).fetchall()
        return tuple(row)

    def execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Runs a statement; ends it where it takes too long."""
        timer = Timer(self.patience, self.connection.interrupt)
        timer.start()
        try:
            return self.connection.execute(statement)
        except duckdb.InterruptException as error:
            raise CannotRead(f"was stopped after {self.patience} seconds") from error
        except duckdb.Error as error:
            raise CannotRead(str(error)) from error
        finally:
            timer.cancel()
