"""What the queries say, and that they name columns that the table has."""

import unittest
from dataclasses import replace
from datetime import date

from bench.lineitem import COLUMNS, EIGHT, NAMES, THREE
from bench.queries import DELETE_QUERIES, Q6, QUERIES, WEEK, Delivery, planning, point_lookup, stream


class Queries(unittest.TestCase):
    def test_select(self) -> None:
        query = stream(["a", "b"], Delivery.ROWS)
        self.assertEqual(query.postgres("t"), "SELECT a, b FROM t")

    def test_binary_copy(self) -> None:
        query = stream(["a", "b"], Delivery.BINARY_COPY)
        self.assertEqual(query.postgres("t"), "COPY (SELECT a, b FROM t) TO STDOUT (FORMAT binary)")
        self.assertEqual(query.select_from("t"), "SELECT a, b FROM t")

    def test_an_aggregate_has_one_row_and_a_scan_all(self) -> None:
        self.assertEqual(
            {query.key: query.expected_rows(42) for query in QUERIES},
            {
                "select-3": 42,
                "select-8": 42,
                "select-16": 42,
                "copy-3": 42,
                "copy-8": 42,
                "copy-16": 42,
                "count": 1,
                "sum-1": 1,
                "sum-6": 1,
            },
        )

    def test_what_is_asked_of_deletes_reads_columns(self) -> None:
        self.assertEqual(
            [query.select_from("t") for query in DELETE_QUERIES],
            [
                "SELECT count(l_orderkey) FROM t",
                "SELECT sum(l_extendedprice) FROM t",
                "SELECT l_orderkey, l_extendedprice, l_shipdate FROM t",
            ],
        )

    def test_selective_queries_say_which_rows(self) -> None:
        query = point_lookup(7)
        self.assertTrue(query.postgres("t").endswith(" FROM t WHERE l_orderkey = 7"), query.postgres("t"))
        self.assertEqual(replace(query, rows=3).expected_rows(42), 3)
        self.assertEqual([Q6.expected_rows(42), WEEK.expected_rows(42)], [1, 42])

    def test_planning_is_asked_of_a_new_session_and_of_the_same(self) -> None:
        cold, warm = planning(date(1995, 6, 17))
        self.assertEqual([cold.cold, warm.cold], [True, False])
        self.assertEqual(cold.select_from("t"), "SELECT count(*) FROM t WHERE l_shipdate = DATE '1995-06-17'")
        self.assertEqual(warm.select_from("t"), cold.select_from("t"))

    def test_the_streams_read_three_eight_and_all_columns(self) -> None:
        self.assertEqual([len(set(columns)) for columns in (THREE, EIGHT, NAMES)], [3, 8, 16])
        self.assertLess(set(THREE), set(EIGHT))
        self.assertLess(set(EIGHT), set(NAMES))

    def test_every_column_has_a_postgres_type(self) -> None:
        self.assertEqual(
            [column.postgres for column in COLUMNS[3:5]] + [COLUMNS[10].postgres, COLUMNS[15].postgres],
            ["integer", "numeric(15,2)", "date", "text"],
        )


if __name__ == "__main__":
    unittest.main()
