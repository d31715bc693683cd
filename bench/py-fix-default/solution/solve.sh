#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
def add(item, items=None):
    """Return items with item at the end; a new list if none is given."""
    if items is None:
        items = []
    items.append(item)
    return items
END
