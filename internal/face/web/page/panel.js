// The details of a session: its tasks, its changes, its context and cost.
import { effect } from "./signals.js";
import { base, h } from "./dom.js";
import { current, head, status } from "./server.js";
import { file, run } from "./dialogs.js";

const marks = { completed: ["☑", "done"], in_progress: ["◐", "in progress"], pending: ["☐", "open"] };
const tokens = (n) => (n < 1000 ? String(n) : n < 1e6 ? Math.round(n / 1000) + "k" : (n / 1e6).toFixed(1) + "M");

class Panel extends HTMLElement {
  connectedCallback() { effect(() => this.draw()); }

  draw() {
    const s = status();
    if (!s || !current()) return void this.replaceChildren(h("p", { class: "blank" },
      "The details of a session are shown here."));
    const share = s.context_window ? Math.min(100, (100 * s.context_used) / s.context_window) : 0;
    const done = s.todos?.filter((t) => t.status === "completed").length;
    const added = (s.changed ?? []).reduce((n, f) => n + f.added, 0);
    const removed = (s.changed ?? []).reduce((n, f) => n + f.removed, 0);
    this.replaceChildren(...[
      s.todos?.length && part("Tasks", `${done} of ${s.todos.length}`, h("ul", { class: "todo" }, s.todos.map((t) => {
        const [mark, label] = marks[t.status] ?? marks.pending;
        return h("li", { class: { completed: "done", in_progress: "active" }[t.status] },
          h("span", { class: "box", role: "img", "aria-label": label }, mark), " ",
            (t.status === "in_progress" && t.activeForm) || t.content);
      }))),
      part("Changes", s.changed?.length ? [h("span", { class: "plus" }, "+" + added), " ",
        h("span", { class: "minus" }, "−" + removed)] : "",
        s.changed?.length ? h("ul", { class: "files" }, s.changed.map((f) => h("li", {},
          h("button", { type: "button", class: "file", title: f.path, onclick: () => file(f.path) },
            relative(f.path, s.dir)),
          h("span", { class: "plus" }, "+" + f.added), h("span", { class: "minus" }, "−" + f.removed))))
            : h("p", { class: "blank" }, "No file was changed."),
        s.changed?.length && h("div", { class: "buttons" },
          h("button", { type: "button", onclick: () => run("diff") }, "Show all"),
          h("button", { type: "button", onclick: () => run("undo", "show") }, "Undo…"),
          h("button", { type: "button", onclick: () => run("redo") }, "Redo"))),
      part("Context", s.context_window ? `${tokens(s.context_used)} of ${tokens(s.context_window)}`
        : tokens(s.context_used),
        s.context_window && h("progress", { max: 100, value: share, class: share > 80 ? "full" : "",
          "aria-label": "Context used" }),
        h("dl", { class: "facts" }, fact("Cost", "$" + s.cost_usd.toFixed(s.cost_usd < 1 ? 3 : 2)),
          s.cache_hit > 0 && fact("Cache", Math.round(100 * s.cache_hit) + " %"),
          s.branch && fact("Branch", s.branch), fact("Folder", s.dir), s.sandbox && fact("Sandbox", s.sandbox)),
        h("div", { class: "buttons" },
          h("button", { type: "button", onclick: () => run("compact") }, "Compact"),
            h("button", { type: "button", onclick: () => run("context") }, "What is in it"))),
      s.background > 0 && part("Background", String(s.background),
        h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => run("tasks") }, "Show"))),
      s.servers?.length && part("Language servers", "",
        h("dl", { class: "facts" }, s.servers.map((v) => fact(v.name,
          v.state + (v.errors ? `, ${v.errors} errors` : ""))))),
      s.line && h("p", { class: "note" }, s.line),
    ].filter(Boolean));
  }
}

const part = (title, note, ...body) => h("section", {}, h("h2", {}, title, h("span", {}, note)), body);
const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
export const relative = (path, dir = head.peek().dir ?? "") => (path.startsWith(dir + "/")
  ? path.slice(dir.length + 1) : path) || base(path);

customElements.define("lathe-panel", Panel);
