#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
export function debounce(f, ms) {
  let timer, args;
  const run = () => { const a = args; clearTimeout(timer); timer = args = undefined; if (a) f(...a); };
  const out = (...a) => { clearTimeout(timer); args = a; timer = setTimeout(run, ms); };
  out.cancel = () => { clearTimeout(timer); timer = args = undefined; };
  out.flush = run;
  return out;
}
END
