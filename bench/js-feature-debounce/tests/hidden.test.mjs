import test from "node:test";
import assert from "node:assert/strict";
import { debounce } from "./task.mjs";
const later = (ms) => new Promise((r) => setTimeout(r, ms));
test("debounce", async () => {
  const calls = [];
  const d = debounce((...a) => calls.push(a), 20);
  d(1); d(2); d(3, 4);
  assert.equal(calls.length, 0);
  await later(80);
  assert.deepEqual(calls, [[3, 4]]);
  d(5); d.cancel();
  await later(60);
  assert.equal(calls.length, 1);
  d(6); d.flush(); d.flush();
  await later(60);
  assert.deepEqual(calls[1], [6]);
  assert.equal(calls.length, 2);
});
