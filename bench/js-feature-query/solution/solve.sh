#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
const read = (s) => decodeURIComponent(s.replaceAll("+", " "));
export function parse(text) {
  const out = Object.create(null);
  for (const part of text.replace(/^\?/, "").split("&").filter(Boolean)) {
    const i = part.indexOf("=");
    const key = read(i < 0 ? part : part.slice(0, i)), value = i < 0 ? true : read(part.slice(i + 1));
    if (!(key in out)) out[key] = value;
    else out[key] = [].concat(out[key], value);
  }
  return out;
}
export function format(object) {
  const one = (k, v) => encodeURIComponent(k) + (v === true ? "" : "=" + encodeURIComponent(v));
  return Object.keys(object).flatMap((k) => [].concat(object[k]).map((v) => one(k, v))).join("&");
}
END
