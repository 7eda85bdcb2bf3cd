"""TPC-H's table lineitem: its columns with their types in Iceberg and in Postgres, and which of them queries read.

TPC-H specification, section 1.4.1. Fixed and variable text is Iceberg `string`, which is `text` in Postgres.
"""

from dataclasses import dataclass

POSTGRES_TYPES = {
    "int": "integer",
    "long": "bigint",
    "decimal(15, 2)": "numeric(15,2)",
    "date": "date",
    "string": "text",
}


@dataclass(frozen=True)
class Column:
    """A column; `iceberg` is its type as table metadata spells it."""

    name: str
    iceberg: str

    @property
    def postgres(self) -> str:
        """The Postgres type that this column has in the foreign table and in the heap table alike."""
        return POSTGRES_TYPES[self.iceberg]


COLUMNS = [
    Column("l_orderkey", "long"),
    Column("l_partkey", "long"),
    Column("l_suppkey", "long"),
    Column("l_linenumber", "int"),
    Column("l_quantity", "decimal(15, 2)"),
    Column("l_extendedprice", "decimal(15, 2)"),
    Column("l_discount", "decimal(15, 2)"),
    Column("l_tax", "decimal(15, 2)"),
    Column("l_returnflag", "string"),
    Column("l_linestatus", "string"),
    Column("l_shipdate", "date"),
    Column("l_commitdate", "date"),
    Column("l_receiptdate", "date"),
    Column("l_shipinstruct", "string"),
    Column("l_shipmode", "string"),
    Column("l_comment", "string"),
]

NAMES = [column.name for column in COLUMNS]

PARTITION_COLUMN = "l_shipdate"

KEY_COLUMN = "l_orderkey"

THREE = ["l_orderkey", "l_extendedprice", "l_shipdate"]

EIGHT = THREE + ["l_partkey", "l_quantity", "l_discount", "l_returnflag", "l_shipmode"]


def postgres_columns() -> str:
    """The column definitions of CREATE TABLE and CREATE FOREIGN TABLE."""
    return ", ".join(f"{column.name} {column.postgres}" for column in COLUMNS)
