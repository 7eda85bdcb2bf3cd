"""One number that stands for all values of all rows, whatever their order, computed alike by every engine.

Each row becomes text, the text its MD5, the MD5's first 32 bits a number; the numbers of all rows are summed.
"""

from dataclasses import dataclass

from bench.lineitem import COLUMNS, NAMES


@dataclass(frozen=True)
class Answer:
    """The table's number of rows and the checksum over them."""

    rows: int
    checksum: int


def rows_of(table: str, where: str) -> str:
    """What stands in FROM for the table, or for the rows of it that this is true of."""
    return f"(SELECT * FROM {table} WHERE {where}) AS chosen" if where else table


def postgres(table: str) -> str:
    """The checksum query for Postgres."""
    row = f"concat_ws('|', {', '.join(NAMES)})"
    return f"SELECT count(*), sum(('x' || substr(md5({row}), 1, 8))::bit(32)::bigint) FROM {table}"


def duckdb(table: str) -> str:
    """The checksum query for DuckDB."""
    row = f"concat_ws('|', {', '.join(NAMES)})"
    return f"SELECT count(*), sum(('0x' || substr(md5({row}), 1, 8))::bigint) FROM {table}"


def clickhouse(table: str) -> str:
    """The checksum query for ClickHouse, whose text for a decimal has no trailing zeros unless told."""
    texts = [
        f"toDecimalString({column.name}, 2)" if column.iceberg.startswith("decimal") else column.name
        for column in COLUMNS
    ]
    row = f"concatWithSeparator('|', {', '.join(texts)})"
    return f"SELECT count(*), sum(toUInt64(reinterpretAsUInt32(reverse(substring(MD5({row}), 1, 4))))) FROM {table}"
