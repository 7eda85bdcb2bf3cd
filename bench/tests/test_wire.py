"""The end of a result, as a Postgres server writes it."""

import unittest

from bench.contenders.wire import END, READY

READY_IDLE = b"Z\x00\x00\x00\x05I"


class End(unittest.TestCase):
    def test_a_select_and_a_copy_tell_their_rows(self) -> None:
        for tag in (b"SELECT 6001215", b"COPY 6001215"):
            message = b"C" + (len(tag) + 5).to_bytes(4, "big") + tag + b"\x00"
            with self.subTest(tag=tag):
                found = END.search(b"the end of a row" + message + READY_IDLE)
                assert found is not None
                self.assertEqual(found[1], b"6001215")

    def test_more_bytes_to_come(self) -> None:
        self.assertIsNone(READY.search(READY_IDLE + b"D\x00"))
        self.assertIsNone(READY.search(READY_IDLE[:-1]))

    def test_an_error_is_ready_without_a_row_count(self) -> None:
        answer = b"MERROR: there is no such table\x00\x00" + READY_IDLE
        self.assertIsNotNone(READY.search(answer))
        self.assertIsNone(END.search(answer))


if __name__ == "__main__":
    unittest.main()
