#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
export async function loadAll(names, load) {
  return Promise.all(names.map((n) => load(n)));
}
END
