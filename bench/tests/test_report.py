"""Medians, ratios and the Markdown that shows them."""

import unittest

from bench.measure import Measurement
from bench.queries import Query
from bench.report import Part, ratio, ratio_table, report, spread_note, table

SCAN = Query("scan", "3 columns", "a, b, c")
COUNT = Query("count", "count(*)", "count(*)", aggregates=True)

MEASUREMENTS = [
    Measurement(SCAN, "ours", [9.0, 2.0, 3.0]),
    Measurement(SCAN, "heap", [2.0, 2.0, 2.0]),
    Measurement(SCAN, "other", [0.25, 0.25, 0.26]),
    Measurement(COUNT, "ours", [0.5, 0.5, 0.5]),
    Measurement(COUNT, "heap", [10.0, 10.0, 10.0]),
    Measurement(COUNT, "other", [0.5, 0.4, 0.6]),
]


class Medians(unittest.TestCase):
    def test_one_slow_round_does_not_count(self) -> None:
        self.assertEqual(Measurement(SCAN, "ours", [1.0, 100.0, 2.0, 3.0, 2.5]).median, 2.5)

    def test_an_even_number_of_rounds_has_its_median_between_two(self) -> None:
        self.assertEqual(Measurement(SCAN, "ours", [4.0, 1.0, 2.0, 8.0]).median, 3.0)

    def test_spread_is_slowest_over_fastest(self) -> None:
        self.assertEqual(Measurement(SCAN, "ours", [4.0, 1.0, 2.0]).spread, 4.0)


class Ratios(unittest.TestCase):
    def test_digits_suit_the_size(self) -> None:
        for ours, theirs, shown in [
            (3.0, 2.0, "1.50"),
            (1.0, 1.0, "1.00"),
            (1.99, 2.0, "0.99"),
            (0.85, 1.0, "0.85"),
            (1.0, 8.0, "0.12"),
            (0.5, 10.0, "0.05"),
            (0.0123, 1.0, "0.012"),
            (12.0, 1.0, "12"),
            (4.26, 1.0, "4.3"),
        ]:
            with self.subTest(ours=ours, theirs=theirs):
                self.assertEqual(ratio(ours, theirs), shown)

    def test_reaching_a_target_and_missing_it_look_different(self) -> None:
        self.assertNotEqual(ratio(1.0, 1.0), ratio(1.01, 1.0))
        self.assertNotEqual(ratio(1.5, 1.0), ratio(1.51, 1.0))


class Tables(unittest.TestCase):
    def test_markdown(self) -> None:
        self.assertEqual(
            table(["query", "a", "b"], [["scan", "1", "2"]]),
            "| query | a | b |\n| --- | ---: | ---: |\n| scan | 1 | 2 |",
        )

    def test_the_first_contender_over_each_other(self) -> None:
        self.assertEqual(
            ratio_table(MEASUREMENTS, ["ours", "heap", "other"]),
            "| query | ours / heap | ours / other |\n"
            "| --- | ---: | ---: |\n"
            "| 3 columns | 1.50 | 12 |\n"
            "| count(*) | 0.05 | 1.00 |",
        )

    def test_a_missing_measurement_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            ratio_table(MEASUREMENTS[:5], ["ours", "heap", "other"])

    def test_the_least_steady_measurement_is_named(self) -> None:
        self.assertEqual(
            spread_note(MEASUREMENTS),
            "Least steady: 3 columns on ours, its slowest round 4.50 times its fastest.",
        )

    def test_a_contender_that_cannot_has_a_column_and_a_reason(self) -> None:
        part = Part("t", MEASUREMENTS, ["ours", "heap", "other"], {"peer": "Not implemented: " + "puffin " * 100})
        text = report([part], {})
        self.assertIn("| query | ours / heap | ours / other | ours / peer |\n", text)
        self.assertIn("| count(*) | 0.05 | 1.00 | cannot |\n", text)
        (line,) = (line for line in text.splitlines() if line.startswith("peer cannot read"))
        self.assertTrue(line.startswith("peer cannot read this table: Not implemented: puffin puffin"), line)
        self.assertLess(len(line), 350)

    def test_the_report_says_the_conditions_first(self) -> None:
        part = Part("One table", MEASUREMENTS, ["ours", "heap", "other"])
        text = report([part], {"machine": "2 cores", "DuckDB": "1.5.5"})
        self.assertTrue(text.startswith("- machine: 2 cores\n- DuckDB: 1.5.5\n\n## One table\n\n| query |"), text)
        self.assertNotIn("cannot", text)

    def test_a_part_with_a_time_to_reach_shows_that_of_the_first(self) -> None:
        part = Part("t", MEASUREMENTS, ["ours", "heap", "other"], shows_times=True)
        self.assertIn("\nours: 3 columns 3000 ms, count(*) 500 ms.\n", report([part], {}))
        self.assertNotIn(" ms", report([Part("t", MEASUREMENTS, ["ours", "heap", "other"])], {}))

    def test_each_table_has_a_heading_and_its_own_ratios(self) -> None:
        parts = [Part("Plain", MEASUREMENTS, ["ours", "heap"]), Part("Deleted", MEASUREMENTS, ["heap", "ours"])]
        plain, deleted = report(parts, {}).split("## Deleted")
        self.assertIn("| 3 columns | 1.50 |", plain)
        self.assertIn("| 3 columns | 0.67 |", deleted)


if __name__ == "__main__":
    unittest.main()
