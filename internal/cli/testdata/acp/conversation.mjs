// A whole conversation by the client of the official TypeScript SDK: node conversation.mjs LATHE FOLDER. It prints what
// happened as one JSON object.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [lathe, cwd] = process.argv.slice(2);
const said = { user: "", agent: "", kinds: new Set(), asked: [] };
let choose = "allow_once";
let onAsked = () => {};

const app = acp
  .client({ name: "conversation" })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    said.kinds.add(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") said.agent += update.content.text;
    if (update.sessionUpdate === "user_message_chunk") said.user += update.content.text;
  })
  .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
    said.asked.push(params.toolCall.title);
    const option = params.options.find((o) => o.kind === choose);
    if (choose === "reject_once") choose = "allow_once"; // the scripted model tries again
    onAsked();
    if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
    await new Promise((done) => signal?.addEventListener("abort", done) ?? setTimeout(done, 2000));
    return { outcome: { outcome: "cancelled" } };
  });

async function withAgent(f) {
  const child = spawn(lathe, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const result = await app.connectWith(stream, async (c) => {
    await c.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { session: { notices: {}, compaction: {} } },
      clientInfo: { name: "conversation", version: "1" },
    });
    return f(c);
  });
  const ended = new Promise((done) => child.on("exit", done));
  child.stdin.end();
  await ended;
  return result;
}

const prompt = (c, sessionId, text) => c.request(session().prompt, { sessionId, prompt: [{ type: "text", text }] });
function session() {
  return acp.methods.agent.session;
}

const out = {};
const id = await withAgent(async (c) => {
  const { sessionId, modes, configOptions } = await c.request(session().new, { cwd, mcpServers: [] });
  out.modes = modes.availableModes.map((m) => m.id);
  out.options = configOptions.map((o) => o.id);
  out.hello = (await prompt(c, sessionId, "hello")).stopReason;
  out.permission = (await prompt(c, sessionId, "ask me")).stopReason;
  choose = "none";
  const asked = new Promise((done) => (onAsked = done));
  const turn = prompt(c, sessionId, "ask me again");
  await asked;
  await c.notify(session().cancel, { sessionId });
  out.cancelled = (await turn).stopReason;
  return sessionId;
});
out.asked = [...said.asked];
out.agent = said.agent;
said.agent = said.user = "";
choose = "reject_once";
await withAgent(async (c) => {
  out.listed = (await c.request(session().list, { cwd })).sessions.map((s) => s.sessionId === id);
  await c.request(session().resume, { sessionId: id, cwd, mcpServers: [] });
  out.resumed = said.user + said.agent;
  out.rejected = (await prompt(c, id, "ask me once more")).stopReason;
  await c.request(session().close, { sessionId: id });
  said.agent = said.user = "";
  await c.request(session().load, { sessionId: id, cwd, mcpServers: [] });
  out.loadedUser = said.user;
  out.last = (await prompt(c, id, "hello")).stopReason;
  await c.request(session().setMode, { sessionId: id, modeId: "plan" });
  await c.request(session().delete, { sessionId: id });
});
out.kinds = [...said.kinds].sort();
console.log(JSON.stringify(out));
