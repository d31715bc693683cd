#!/usr/bin/env node
// A tool for lathe: counts the words of a file.
const fs = require("node:fs");

const description = {
  name: "NAME",
  description: "Count the words of a text file.",
  input_schema: {
    type: "object",
    properties: { path: { type: "string", description: "the file" } },
    required: ["path"],
  },
  // Everything that a call touches. Leave accesses out if it does more, and each call asks.
  accesses: [{ kind: "read", param: "path" }],
  parallel: true,
};

if (process.argv[2] === "--describe") {
  console.log(JSON.stringify(description));
  process.exit();
}

const call = JSON.parse(fs.readFileSync(0, "utf8"));
try {
  const words = fs.readFileSync(call.path, "utf8").split(/\s+/).filter(Boolean);
  console.log("counting", call.path); // shown while the call runs
  console.log(JSON.stringify({ result: `${words.length} words` }));
} catch (e) {
  console.log(JSON.stringify({ error: e.message }));
}
