import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { report } from "./task.mjs";
test("report", async () => {
  const store = { user: async (id) => id === 1 ? { id: 7, name: "Ann" } : null, orders: async (id) => id === 7 ? [{ amount: 2 }, { amount: 3 }] : [] };
  assert.deepEqual(await report(store, 1), { name: "Ann", orders: 2, sum: 5 });
  await assert.rejects(report(store, 2), /no user 2/);
  await assert.rejects(report({ user: async () => { throw new Error("down"); } }, 1), /down/);
  assert.ok(!/callback/.test(readFileSync("task.mjs", "utf8")));
});
