#!/usr/bin/env python3
"""A tool for lathe: counts the words of a file."""
import json
import sys

DESCRIPTION = {
    "name": "NAME",
    "description": "Count the words of a text file.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "the file"}},
        "required": ["path"],
    },
    # Everything that a call touches. Leave accesses out if it does more, and each call asks.
    "accesses": [{"kind": "read", "param": "path"}],
    "parallel": True,
}

if sys.argv[1:] == ["--describe"]:
    json.dump(DESCRIPTION, sys.stdout)
    sys.exit()

call = json.load(sys.stdin)
try:
    with open(call["path"], encoding="utf-8") as f:
        words = len(f.read().split())
except OSError as e:
    print(json.dumps({"error": str(e)}))
    sys.exit()
print("counting", call["path"], flush=True)  # shown while the call runs
print(json.dumps({"result": f"{words} words"}))
