"""The order in which contenders take turns, and what a wrong result does."""

import unittest

from bench.measure import measure, rotated
from bench.queries import Query

SCAN = Query("scan", "scan", "a")
COUNT = Query("count", "count", "count(*)", aggregates=True)


class Clock:
    """Time passes only while a contender works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Scripted:
    """A contender that takes the given seconds, one after the other, and tells when it ran."""

    def __init__(self, name: str, clock: Clock, log: list[str], seconds: list[float], rows: int = 7) -> None:
        self.name = name
        self.clock = clock
        self.log = log
        self.seconds = list(seconds)
        self.rows = rows

    def prepare(self, query: Query) -> None:
        self.clock.now += 1000

    def run(self, query: Query) -> int:
        self.log.append(f"{query.key}:{self.name}")
        self.clock.now += self.seconds.pop(0)
        return 1 if query.aggregates else self.rows


class Measuring(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.log: list[str] = []

    def test_the_first_round_does_not_count_and_contenders_take_turns(self) -> None:
        a = Scripted("a", self.clock, self.log, [100, 1, 2, 3])
        b = Scripted("b", self.clock, self.log, [200, 4, 5, 6])
        measurements = measure([SCAN], [a, b], {"a": 7, "b": 7}, 3, announce=lambda _: None, clock=self.clock)
        self.assertEqual(
            [(each.contender, each.seconds) for each in measurements], [("a", [1, 2, 3]), ("b", [4, 5, 6])]
        )
        self.assertEqual("".join(entry[-1] for entry in self.log), "abbaabba")

    def test_queries_follow_one_another(self) -> None:
        a = Scripted("a", self.clock, self.log, [1, 2, 3, 4])
        announced: list[str] = []
        measurements = measure([SCAN, COUNT], [a], {"a": 7}, 1, announce=announced.append, clock=self.clock)
        self.assertEqual([(each.query.key, each.seconds) for each in measurements], [("scan", [2]), ("count", [4])])
        self.assertEqual(announced, ["scan", "count"])

    def test_a_lost_row_is_an_error(self) -> None:
        a = Scripted("a", self.clock, self.log, [1, 1], rows=6)
        with self.assertRaisesRegex(ValueError, "a answered scan with 6 rows, not 7"):
            measure([SCAN], [a], {"a": 7}, 1, announce=lambda _: None, clock=self.clock)

    def test_each_contender_has_a_table_of_its_own(self) -> None:
        a = Scripted("a", self.clock, self.log, [1, 1, 1, 1], rows=6)
        b = Scripted("b", self.clock, self.log, [1, 1, 1, 1], rows=7)
        measure([SCAN], [a, b], {"a": 6, "b": 7}, 1, announce=lambda _: None, clock=self.clock)
        with self.assertRaisesRegex(ValueError, "a answered scan with 6 rows, not 7"):
            measure([SCAN], [a, b], {"a": 7, "b": 6}, 1, announce=lambda _: None, clock=self.clock)

    def test_each_contender_begins_a_round(self) -> None:
        contenders = [Scripted(name, self.clock, self.log, []) for name in "abc"]
        begins = [rotated(contenders, number)[0].name for number in range(6)]
        self.assertEqual("".join(begins), "abcabc")


if __name__ == "__main__":
    unittest.main()
