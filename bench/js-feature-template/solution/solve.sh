#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
const escape = (s) => s.replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";");
const tag = /\{\{\{([^}]+)\}\}\}|\{\{([#^/]?)([^}]+)\}\}/g;
function tree(text) {
  const root = [], open = [{ items: root }];
  let at = 0;
  for (const m of text.matchAll(tag)) {
    const items = open.at(-1).items;
    items.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    const name = (m[1] ?? m[3]).trim();
    if (m[1] || !m[2]) items.push({ name, raw: !!m[1] });
    else if (m[2] === "/") { if (open.pop().name !== name || !open.length) throw new Error("unexpected end of " + name); }
    else { const s = { name, kind: m[2], items: [] }; items.push(s); open.push(s); }
  }
  if (open.length > 1) throw new Error("no end of " + open.at(-1).name);
  root.push(text.slice(at));
  return root;
}
function look(name, scopes) {
  if (name === ".") return scopes[0];
  const [first, ...rest] = name.split(".");
  const scope = scopes.find((s) => s !== null && typeof s === "object" && first in s);
  return rest.reduce((v, k) => v?.[k], scope?.[first]);
}
const empty = (v) => !v || Array.isArray(v) && !v.length;
function show(items, scopes) {
  return items.map((i) => {
    if (typeof i === "string") return i;
    const v = look(i.name, scopes);
    if (!i.kind) { const s = v === undefined || v === null ? "" : String(v); return i.raw ? s : escape(s); }
    if (i.kind === "^") return empty(v) ? show(i.items, scopes) : "";
    if (Array.isArray(v)) return v.map((x) => show(i.items, [x, ...scopes])).join("");
    return empty(v) ? "" : show(i.items, [v, ...scopes]);
  }).join("");
}
export const render = (template, data) => show(tree(template), [data]);
END
