import unittest
from task import apply


class T(unittest.TestCase):
    def check(self, doc, patch, want):
        before = repr(doc)
        self.assertEqual(apply(doc, patch), want)
        self.assertEqual(repr(doc), before)

    def test(self):
        self.check({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]})
        self.check({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]})
        self.check({"a": 1}, [{"op": "remove", "path": "/a"}], {})
        self.check({"a": 1}, [{"op": "replace", "path": "/a", "value": {}}], {"a": {}})
        self.check({"a/b": 1, "m~n": 2}, [{"op": "move", "from": "/a~1b", "path": "/m~0n"}], {"m~n": 1})
        self.check({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}, {"op": "test", "path": "/c/b", "value": 1}],
                   {"a": {"b": 1}, "c": {"b": 1}})
        for bad in [{"op": "remove", "path": "/x"}, {"op": "replace", "path": "/x", "value": 1}, {"op": "test", "path": "/a", "value": 2},
                    {"op": "add", "path": "/l/5", "value": 1}, {"op": "none", "path": "/a"}]:
            with self.assertRaises(ValueError):
                apply({"a": 1, "l": []}, [bad])
