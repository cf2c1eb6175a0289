import unittest

from intervals import covered, merge


class Merge(unittest.TestCase):
    def test_apart(self):
        self.assertEqual(merge([(5, 6), (1, 2)]), [(1, 2), (5, 6)])

    def test_overlapping(self):
        self.assertEqual(merge([(1, 4), (3, 6)]), [(1, 6)])

    def test_touching(self):
        self.assertEqual(merge([(1, 2), (2, 3)]), [(1, 3)])

    def test_one_inside_another(self):
        self.assertEqual(merge([(1, 10), (2, 3)]), [(1, 10)])

    def test_covered(self):
        self.assertEqual(covered([(1, 10), (2, 3), (12, 13)]), 10)


if __name__ == "__main__":
    unittest.main()
