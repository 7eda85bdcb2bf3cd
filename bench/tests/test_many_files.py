"""Which files stand in which manifest of the table of many files."""

import unittest
from collections import Counter

from bench.many_files import DAY, DAYS, FILES_IN_MANIFEST, FILES_OF_DAY, LAYOUTS, MANIFESTS, days_of


class Layouts(unittest.TestCase):
    def test_the_day_that_is_asked_for_has_few_files_and_the_others_the_rest(self) -> None:
        for layout in LAYOUTS:
            with self.subTest(layout=layout.key):
                files = Counter(day for manifest in range(MANIFESTS) for day in days_of(layout, manifest))
                self.assertEqual(files.total(), 100_000)
                self.assertEqual(files[DAY], FILES_OF_DAY)
                self.assertEqual(len(files), DAYS[layout.key])
                self.assertLess(min(files), DAY)
                self.assertGreater(max(files), DAY)

    def test_a_manifest_has_one_day_or_all(self) -> None:
        day, mixed = LAYOUTS
        self.assertEqual(max(len(set(days_of(day, manifest))) for manifest in range(MANIFESTS)), 2)
        # Nothing that a manifest list says of them tells the manifests apart.
        bounds = {(min(days), max(days)) for days in (days_of(mixed, manifest) for manifest in range(MANIFESTS))}
        self.assertEqual(len(bounds), 1)
        ((first, last),) = bounds
        self.assertTrue(first < DAY < last)
        self.assertGreaterEqual(len(set(days_of(mixed, 0))), FILES_IN_MANIFEST - 1)


if __name__ == "__main__":
    unittest.main()
