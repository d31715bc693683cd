import subprocess
import sys
import unittest


class T(unittest.TestCase):
    def run_it(self, text):
        p = subprocess.run([sys.executable, "summary.py"], input=text, capture_output=True, text=True, check=True)
        return p.stdout, p.stderr

    def test(self):
        out, err = self.run_it("t 200 10 /b\nt 500 20 /a\nt 503 25 /a\nnonsense\nt x 1 /c\n")
        self.assertEqual(out, "/a\t2\t2\t22.5\n/b\t1\t0\t10.0\n")
        self.assertEqual(err.strip(), "skipped 2")
        self.assertEqual(self.run_it(""), ("", ""))
