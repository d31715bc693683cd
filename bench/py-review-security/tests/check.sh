python3 - <<'END'
import json
got = sorted((f["line"], f["kind"]) for f in json.load(open("findings.json")))
assert got == [(12, "sql-injection"), (20, "weak-random"), (28, "shell-injection"), (36, "path-traversal")], got
END
