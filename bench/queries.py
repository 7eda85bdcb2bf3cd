"""What is measured: queries that every contender understands word for word, the name of the table aside."""

from dataclasses import dataclass
from enum import Enum

from bench.lineitem import EIGHT, NAMES, THREE


class Delivery(Enum):
    """How Postgres sends the result. The other engines hand it over as Arrow batches either way."""

    ROWS = "SELECT"
    BINARY_COPY = "COPY … (FORMAT binary)"


@dataclass(frozen=True)
class Query:
    """A select list over the whole table; `key` names the query in files."""

    key: str
    title: str
    select: str
    delivery: Delivery = Delivery.ROWS
    aggregates: bool = False

    def select_from(self, table: str) -> str:
        """The query over this table, or over what stands for a table in the engine's FROM."""
        return f"SELECT {self.select} FROM {table}"

    def postgres(self, table: str) -> str:
        """The statement that makes Postgres send the result in this query's way."""
        if self.delivery is Delivery.BINARY_COPY:
            return f"COPY ({self.select_from(table)}) TO STDOUT (FORMAT binary)"
        return self.select_from(table)

    def expected_rows(self, table_rows: int) -> int:
        """How many rows the result must have when the table has `table_rows`."""
        return 1 if self.aggregates else table_rows


def stream(columns: list[str], delivery: Delivery) -> Query:
    """The query that sends these columns of every row to the client."""
    count = len(columns)
    return Query(
        key=f"{'copy' if delivery is Delivery.BINARY_COPY else 'select'}-{count}",
        title=f"{count} columns, {delivery.value}",
        select=", ".join(columns),
        delivery=delivery,
    )


def aggregate(key: str, title: str, select: str) -> Query:
    """A query whose result is one row."""
    return Query(key=key, title=title, select=select, aggregates=True)


SUM = aggregate("sum-1", "sum of 1 column", "sum(l_extendedprice)")

QUERIES = [stream(columns, delivery) for delivery in Delivery for columns in (THREE, EIGHT, NAMES)] + [
    aggregate("count", "count(*)", "count(*)"),
    SUM,
    aggregate(
        "sum-6",
        "aggregates over 6 columns",
        "sum(l_quantity), sum(l_extendedprice), sum(l_discount), sum(l_tax), min(l_shipdate), max(l_receiptdate)",
    ),
]

# What the tables with deletes are asked. Metadata may tell how many rows there are: to count a column, it must be read.
DELETE_QUERIES = [
    aggregate("count-1", "count of 1 column", "count(l_orderkey)"),
    SUM,
    stream(THREE, Delivery.ROWS),
]
