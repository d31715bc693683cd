import test from "node:test";
import assert from "node:assert/strict";
import { format, parse } from "./task.mjs";
test("query", () => {
  const got = parse("?a=1&b=x%20y&a=2&c&d=&e=1+2&a=3");
  assert.deepEqual({ ...got }, { a: ["1", "2", "3"], b: "x y", c: true, d: "", e: "1 2" });
  assert.equal(format({ a: ["1", "2"], b: "x y", c: true, d: "" }), "a=1&a=2&b=x%20y&c&d=");
  assert.deepEqual({ ...parse("") }, {});
  assert.equal(parse("__proto__=x")["__proto__"], "x");
  assert.equal({}.x, undefined);
});
