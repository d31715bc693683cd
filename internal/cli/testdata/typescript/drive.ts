// A turn with a question, by the client in client/ts. It is also plain JavaScript.
import { Lathe, Problem } from "./lathe.js";

const [address, token, dir] = process.argv.slice(2);
const lathe = new Lathe(address, { token });
const session = await lathe.createSession({ dir });
const kinds = [""];
for await (const event of lathe.events({ session: [session.id], nolist: true })) {
  kinds.push(event.kind);
  if (event.kind === "opened") await lathe.sendPrompt(session.id, { id: "p1", text: "ask me" });
  if (event.kind === "asked") {
    const choices = event.body.question.options ?? [];
    kinds.push(...choices.map((choice) => choice.id));
    await lathe.answer(session.id, { question: event.body.id, answer: { choice: "once" } });
  }
  if (event.kind === "turn.end") break;
}
try {
  await lathe.interrupt(session.id, { turn: "p0" });
} catch (err) {
  if (err instanceof Problem) kinds.push(err.type);
}
const page = await lathe.readHistory(session.id);
console.log(kinds.join(" "), (page.history ?? []).length);
