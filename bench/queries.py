"""What is measured: queries that every contender understands word for word, the name of the table aside."""

from dataclasses import dataclass
from datetime import date
from enum import Enum

from bench.lineitem import EIGHT, NAMES, THREE


class Delivery(Enum):
    """How Postgres sends the result. The other engines hand it over as Arrow batches either way."""

    ROWS = "SELECT"
    BINARY_COPY = "COPY … (FORMAT binary)"


@dataclass(frozen=True)
class Query:
    """A select list over a table, or over the rows of it that `where` is true of; `key` names the query in files.

    `rows` is how many rows there are then, where that is neither one nor all of the table's. A `cold` query is asked of
    an engine that remembers nothing of the table.
    """

    key: str
    title: str
    select: str
    delivery: Delivery = Delivery.ROWS
    aggregates: bool = False
    where: str = ""
    rows: int | None = None
    cold: bool = False

    def select_from(self, table: str) -> str:
        """The query over this table, or over what stands for a table in the engine's FROM."""
        return f"SELECT {self.select} FROM {self.chosen(table)}"

    def chosen(self, table: str) -> str:
        """What stands in FROM for the rows that are asked for."""
        return f"{table} WHERE {self.where}" if self.where else table

    def postgres(self, table: str) -> str:
        """The statement that makes Postgres send the result in this query's way."""
        if self.delivery is Delivery.BINARY_COPY:
            return f"COPY ({self.select_from(table)}) TO STDOUT (FORMAT binary)"
        return self.select_from(table)

    def expected_rows(self, table_rows: int) -> int:
        """How many rows the result must have when the table has `table_rows`."""
        if self.rows is not None:
            return self.rows
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

WEEK = Query(
    "week",
    "one week, 3 columns",
    ", ".join(THREE),
    where="l_shipdate >= DATE '1995-06-12' AND l_shipdate < DATE '1995-06-19'",
)
# TPC-H specification, section 2.4.6, with the values of its validation run.
Q6 = Query(
    "q6",
    "TPC-H Q6",
    "sum(l_extendedprice * l_discount)",
    aggregates=True,
    where="l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
)


def point_lookup(order: int) -> Query:
    """The query for the rows of one order."""
    return Query("point", "point lookup, 16 columns", ", ".join(NAMES), where=f"l_orderkey = {order}")


def planning(day: date) -> list[Query]:
    """The query for a day of which there are so few rows that it takes little more than to find their files."""
    return [
        Query(key, title, "count(*)", aggregates=True, where=f"l_shipdate = DATE '{day}'", cold=key == "cold")
        for key, title in [("cold", "one day, new session"), ("warm", "one day, same session")]
    ]
