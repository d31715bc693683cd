#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
def merge(intervals):
    out = []
    for start, end in sorted(intervals):
        if start > end:
            raise ValueError("start after end")
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
END
