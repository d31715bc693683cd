import test from "node:test";
import assert from "node:assert/strict";
import { render } from "./task.mjs";
test("render", () => {
  assert.equal(render("a {{x.y}} {{z}}!", { x: { y: 1 } }), "a 1 !");
  assert.ok(!render("{{x}}", { x: "<b>&" }).includes("<"));
  assert.equal(render("{{{x}}}", { x: "<b>" }), "<b>");
  assert.equal(render("{{#l}}{{.}},{{/l}}", { l: [1, 2] }), "1,2,");
  assert.equal(render("{{#l}}{{n}}{{m}};{{/l}}", { l: [{ n: 1 }, { n: 2, m: "y" }], m: "x" }), "1x;2y;");
  assert.equal(render("{{#f}}yes{{/f}}{{^f}}no{{/f}}", { f: false }), "no");
  assert.equal(render("{{^l}}none{{/l}}", { l: [] }), "none");
  assert.throws(() => render("{{#a}}", {}));
});
