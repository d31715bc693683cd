import unittest
from task import from_roman, to_roman


class T(unittest.TestCase):
    def test(self):
        for n in range(1, 4000):
            self.assertEqual(from_roman(to_roman(n)), n)
        self.assertEqual(to_roman(1994), "MCMXCIV")
        for bad in ["", "IIII", "IC", "VX", "abc", "MMMM"]:
            with self.assertRaises(ValueError):
                from_roman(bad)
        for bad in [0, 4000, -1]:
            with self.assertRaises(ValueError):
                to_roman(bad)
