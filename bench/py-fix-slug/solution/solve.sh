#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
import re
import unicodedata


def slug(text):
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "untitled"
END
