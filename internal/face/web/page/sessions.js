// The list of sessions: those that wait for you on top, then those that work, then the rest by project.
import { effect, signal } from "./signals.js";
import { $, ago, base, h, icon, icons, toast } from "./dom.js";
import { call, current, get, link, may, refresh, sessions, show } from "./server.js";
import { form, settings } from "./dialogs.js";

const words = { permission: "needs your permission", answer: "has a question", login: "needs a login" };
const states = { blocked: "waits for you", working: "working", done: "done", failed: "failed", stopped: "stopped",
  asleep: "" };
const rank = (s) => (s.state === "blocked" ? 0 : s.state === "working" ? 1 : 2);
export const nameOf = (s) => s.title || s.firstPrompt || "New session";

// open puts a session in front, and its address into the address bar.
export function open(id) {
  if (location.hash !== "#/" + id) location.hash = "#/" + id;
  else show(id);
}

class Sessions extends HTMLElement {
  connectedCallback() {
    this.filter = signal("");
    this.found = signal(null); // sessions of the server's search
    this.list = h("div", { class: "list" });
    const search = h("input", {
      type: "search", placeholder: "Find a session", "aria-label": "Find a session",
      oninput: () => this.search(search.value.trim()),
    });
    this.append(
      h("div", { class: "bar" },
        h("h1", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", width: 22, height: 22 }), "lathe"),
        h("button", { type: "button", class: "icon", "aria-label": "Settings", onclick: settings }, icon(icons.gear)),
        h("button", { type: "button", class: "icon", "aria-label": "New session", title: "New session (n)",
          "data-do": "new" }, icon(icons.plus))),
      h("div", { class: "finder" }, search), this.list);
    effect(() => this.draw());
    setInterval(() => { for (const t of this.querySelectorAll("time")) t.textContent = ago(t.dateTime); }, 30000);
  }

  async search(text) {
    this.filter.set(text.toLowerCase());
    this.found.set(null);
    if (text.length < 2) return;
    try {
      const [named, said] = await Promise.all([get("/v1/sessions", { text, limit: 50 }),
        get("/v1/search", { text, limit: 50 })]);
      if (this.filter.peek() !== text.toLowerCase()) return;
      const list = new Map(named.sessions.map((s) => [s.id, s]));
      for (const f of said.found) { // by what was said in them
        const s = list.get(f.session) ?? sessions.peek().get(f.session)
          ?? { id: f.session, title: f.title, dir: f.dir, changed: f.time, state: "asleep" };
        list.set(f.session, { said: f.excerpt, ...s });
      }
      this.found.set([...list.values()]);
    } catch { /* what is on the page is searched all the same */ }
  }

  draw() {
    const text = this.filter();
    const fits = (s) => `${nameOf(s)} ${s.dir} ${s.activity ?? ""}`.toLowerCase().includes(text);
    const list = (this.found() ?? [...sessions().values()].filter(fits))
      .sort((a, b) => rank(a) - rank(b) || new Date(b.changed) - new Date(a.changed));
    const groups = new Map();
    for (const s of list) {
      const group = ["Waiting for you", "Working"][rank(s)] ?? base(s.dir);
      groups.set(group, [...(groups.get(group) ?? []), s]);
    }
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    this.list.replaceChildren(...[...groups].map(([name, members]) => h("section",
      { class: rank(members[0]) === 0 ? "waits" : "" },
      h("h2", { title: rank(members[0]) > 1 ? members[0].dir : undefined }, name),
        h("ul", {}, members.map((s) => this.row(s))))));
    if (!list.length && (text || link() === "on")) {
      this.list.append(h("p", { class: "blank" }, text ? "No session has these words."
        : "No session yet. Begin one in any folder of this machine."));
      if (!text && may("prompt")) this.list.append(h("button",
        { type: "button", class: "primary", "data-do": "new" }, "New session"));
    }
    if (focused) $(`[data-id="${CSS.escape(focused)}"]`, this.list)?.focus();
  }

  row(s) {
    const waits = s.state === "blocked" ? words[s.waitingFor] ?? "waits for you" : null;
    return h("li", {}, h("a", {
      href: "#/" + s.id, class: "row " + s.state, "data-id": s.id,
        "aria-current": s.id === current() ? "page" : undefined,
    },
    h("span", { class: "dot", role: "img", "aria-label": states[s.state] || "asleep" }),
    h("span", { class: "name" }, nameOf(s)),
    h("time", { datetime: s.changed }, ago(s.changed)),
    h("span", { class: "sub" }, waits ?? s.said ?? (rank(s) < 2
      ? [base(s.dir), s.activity].filter(Boolean).join(" · ") : s.activity || (s.title && s.firstPrompt)
        || states[s.state]))));
  }
}

// create asks for a folder and the first prompt, and begins a session.
export async function create() {
  let dirs = [...new Set([...sessions.peek().values()].map((s) => s.dir))];
  try { dirs = [...new Set([...(await get("/v1/projects")).projects.map((p) => p.dir),
    ...dirs])]; } catch { /* those of the list */ }
  const here = sessions.peek().get(current.peek())?.dir ?? dirs[0] ?? "";
  const values = await form("New session", [
    { name: "dir", label: "Folder", value: here, list: dirs, required: true,
      help: "A folder on the machine where lathe runs" },
    { name: "prompt", label: "What is there to do?", area: true },
    { name: "mode", label: "Permissions", value: "default",
      options: [["default", "Ask before changes"], ["plan", "Plan first"], ["acceptEdits", "Accept edits"]] },
    { name: "worktree", label: "Work in a separate git worktree", check: true },
  ], "Begin");
  if (!values) return;
  try {
    const s = await call("POST", "/v1/sessions", { ...values, prompt: values.prompt || undefined });
    await refresh();
    open(s.id);
  } catch (e) { toast(e.message, "error"); }
}

customElements.define("lathe-sessions", Sessions);
