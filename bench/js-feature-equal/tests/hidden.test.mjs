import test from "node:test";
import assert from "node:assert/strict";
import { equal } from "./task.mjs";
test("equal", () => {
  const a = { x: 1 }, b = { x: 1 };
  a.self = a; b.self = b;
  for (const [x, y] of [[1, 1], [NaN, NaN], [[1, [2]], [1, [2]]], [new Date(5), new Date(5)], [new Map([["a", { b: 1 }]]), new Map([["a", { b: 1 }]])], [new Set([1, 2]), new Set([2, 1])], [a, b]])
    assert.ok(equal(x, y));
  for (const [x, y] of [[1, "1"], [[1], { 0: 1 }], [{ a: undefined }, { b: undefined }], [new Date(5), new Date(6)], [new Set([1]), new Set([2])], [null, {}], [[1, 2], [1]]])
    assert.ok(!equal(x, y));
});
