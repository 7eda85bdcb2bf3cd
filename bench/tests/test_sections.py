"""When a reader has no place in the comparison, and what is said then."""

import unittest
from decimal import Decimal
from typing import Any

from bench.checksum import Answer
from bench.contenders import CannotRead
from bench.deletes import DELETE_KINDS
from bench.queries import DELETE_QUERIES, Query
from bench.sections import Entry, Section, refusal, require

COUNT, SUM, _ = DELETE_QUERIES


class Finds:
    """A reader with a fixed answer, or none."""

    def __init__(self, name: str, answer: Answer | None) -> None:
        self.name = name
        self.fixed = answer

    def run(self, query: Query) -> int:
        raise NotImplementedError

    def result(self, query: Query) -> tuple[Any, ...]:
        return (5,) if query is COUNT else (Decimal("1.50"),)

    def prepare(self, query: Query) -> None:
        pass

    def answer(self, where: str = "") -> Answer:
        if self.fixed is None:
            raise CannotRead("Not implemented:\n  deletion vectors")
        return self.fixed


def entry(answer: Answer | None, name: str = "peer") -> Entry:
    return Entry(Finds(name, answer), Answer(5, 99))


class Refusals(unittest.TestCase):
    def test_the_right_rows_are_no_refusal(self) -> None:
        self.assertIsNone(refusal(entry(Answer(5, 99))))
        require(entry(Answer(5, 99)))

    def test_an_engine_speaks_for_itself_in_one_line(self) -> None:
        self.assertEqual(refusal(entry(None)), "Not implemented: deletion vectors")

    def test_rows_that_should_be_gone(self) -> None:
        self.assertEqual(refusal(entry(Answer(6001215, 99))), "finds 6,001,215 rows, not 5")

    def test_other_rows(self) -> None:
        self.assertEqual(refusal(entry(Answer(5, 98))), "finds as many rows as there are, but others")

    def test_aggregates_must_be_right_too(self) -> None:
        peer = Finds("peer", Answer(5, 99))
        right = [(COUNT, (5,)), (SUM, (Decimal("1.5"),))]
        self.assertIsNone(refusal(Entry(peer, Answer(5, 99), right)))
        wrong = [(COUNT, (4,)), (SUM, (Decimal("1.5"),))]
        self.assertEqual(refusal(Entry(peer, Answer(5, 99), wrong)), "finds (5,), not (4,), as count of 1 column")

    def test_who_must_read_ends_the_program(self) -> None:
        with self.assertRaisesRegex(SystemExit, "error: ours: finds 6 rows, not 5"):
            require(entry(Answer(6, 99), "ours"))

    def test_each_reader_has_the_rows_of_its_table(self) -> None:
        section = Section("k", "t", [], [entry(None, "a"), Entry(Finds("b", None), Answer(6, 1))], {})
        self.assertEqual(section.table_rows, {"a": 5, "b": 6})


class Kinds(unittest.TestCase):
    def test_tables_are_told_apart(self) -> None:
        self.assertEqual(
            [kind.table for kind in DELETE_KINDS],
            ["lineitem_position_deletes", "lineitem_deletion_vectors", "lineitem_equality_deletes"],
        )

    def test_deletion_vectors_need_format_version_three(self) -> None:
        self.assertEqual({kind.file_format: kind.format_version for kind in DELETE_KINDS}, {"PARQUET": 2, "PUFFIN": 3})


if __name__ == "__main__":
    unittest.main()
