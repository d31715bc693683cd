import test from "node:test";
import assert from "node:assert/strict";
import { loadAll } from "./task.mjs";
const later = (ms, v) => new Promise((r) => setTimeout(r, ms, v));
test("order", async () => {
  let now = 0, most = 0;
  const got = await loadAll([30, 1, 10], async (ms) => { most = Math.max(most, ++now); await later(ms); now--; return ms; });
  assert.deepEqual(got, [30, 1, 10]);
  assert.equal(most, 3);
});
test("error", async () => {
  await assert.rejects(loadAll([1, 2], async (n) => { if (n === 2) throw new Error("two"); return n; }), /two/);
});
