import unittest
from task import merge


class T(unittest.TestCase):
    def test(self):
        given = [(5, 6), (1, 3), (2, 4), (4, 5), (8, 9)]
        self.assertEqual(merge(given), [(1, 6), (8, 9)])
        self.assertEqual(given[0], (5, 6))
        self.assertEqual(merge([]), [])
        self.assertEqual(merge([(1, 10), (2, 3)]), [(1, 10)])
        with self.assertRaises(ValueError):
            merge([(2, 1)])
