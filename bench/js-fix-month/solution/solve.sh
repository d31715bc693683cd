#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
export function addMonths(date, n) {
  const d = new Date(date), day = d.getUTCDate();
  d.setUTCDate(1);
  d.setUTCMonth(d.getUTCMonth() + n);
  const last = new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 0)).getUTCDate();
  d.setUTCDate(Math.min(day, last));
  return d;
}
END
