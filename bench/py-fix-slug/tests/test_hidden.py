import unittest
from task import slug


class T(unittest.TestCase):
    def test(self):
        for text, want in {"Crème  Brûlée!": "creme-brulee", "": "untitled", "--a--": "a", "日本": "untitled", "A1 b2": "a1-b2"}.items():
            self.assertEqual(slug(text), want)
