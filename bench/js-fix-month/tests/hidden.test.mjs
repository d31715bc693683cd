import test from "node:test";
import assert from "node:assert/strict";
import { addMonths } from "./task.mjs";
test("months", () => {
  const d = new Date("2024-01-31T10:00:00Z");
  assert.equal(addMonths(d, 1).toISOString(), "2024-02-29T10:00:00.000Z");
  assert.equal(addMonths(d, -2).toISOString(), "2023-11-30T10:00:00.000Z");
  assert.equal(addMonths(d, 12).toISOString(), "2025-01-31T10:00:00.000Z");
  assert.equal(d.toISOString(), "2024-01-31T10:00:00.000Z");
});
