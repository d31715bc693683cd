#!/bin/bash
set -e
cd /app
cat > summary.py <<'END'
import sys

seen, skipped = {}, 0
for line in sys.stdin:
    parts = line.split()
    try:
        _, status, ms, path = parts
        status, ms = int(status), float(ms)
    except ValueError:
        skipped += 1
        continue
    n, bad, total = seen.get(path, (0, 0, 0.0))
    seen[path] = (n + 1, bad + (status >= 500), total + ms)
for path in sorted(seen):
    n, bad, total = seen[path]
    print(path, n, bad, f"{total / n:.1f}", sep="\t")
if skipped:
    print("skipped", skipped, file=sys.stderr)
END
