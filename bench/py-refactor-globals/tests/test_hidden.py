import ast
import unittest
from task import Bank


class T(unittest.TestCase):
    def test(self):
        x, y = Bank(), Bank()
        x.open("a")
        x.open("b")
        x.deposit("a", 5)
        self.assertEqual((x.total(), y.total()), (5, 0))
        x.transfer("a", "b", 3)
        with self.assertRaises(ValueError):
            x.transfer("a", "b", 3)
        with self.assertRaises(KeyError):
            x.transfer("a", "z", 1)
        with self.assertRaises(KeyError):
            x.open("a")
        self.assertEqual(x.total(), 5)

    def test_no_globals(self):
        tree = ast.parse(open("task.py").read())
        self.assertFalse([n for n in tree.body if isinstance(n, (ast.Assign, ast.AnnAssign))])
        self.assertFalse([n for n in ast.walk(tree) if isinstance(n, ast.Global)])
