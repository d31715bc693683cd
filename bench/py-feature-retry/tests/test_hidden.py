import unittest
from task import retry


class T(unittest.TestCase):
    def test(self):
        calls, waits = [], []

        @retry(4, (KeyError, OSError), wait=1, sleep=waits.append)
        def f(x):
            "doc"
            calls.append(x)
            if len(calls) < 4:
                raise KeyError(len(calls))
            return x

        self.assertEqual(f(5), 5)
        self.assertEqual((calls, waits), ([5] * 4, [1, 2, 4]))
        self.assertEqual((f.__name__, f.__doc__), ("f", "doc"))

        @retry(2, KeyError, sleep=waits.append)
        def g():
            calls.append(0)
            raise ValueError

        n = len(calls)
        with self.assertRaises(ValueError):
            g()
        self.assertEqual(len(calls), n + 1)
