// Dialogs: lists to choose from, pages to read, files, settings, forms. All are the platform's <dialog>.
import { $, ago, base, h, toast } from "./dom.js";
import { call, command, current, get, head, me, of, pair, refresh, render, send } from "./server.js";

// modal shows an element until it is closed; returns its closing.
function modal(title, body, kind = "") {
  const close = () => dialog.close();
  const dialog = h("dialog", { class: kind, "aria-label": title, onclose: () => dialog.remove(),
    onclick: (e) => { if (e.target === dialog) close(); } },
    h("header", {}, h("h2", {}, title), h("button", { type: "button", class: "icon", "aria-label": "Close",
      onclick: close }, "×")), body);
  document.body.append(dialog);
  dialog.showModal();
  return close;
}

// run runs a slash command and shows what it returns.
export async function run(name, args = "") {
  try {
    await show(await command(name, args), name);
  } catch (e) { toast(e.message, "error"); }
}

async function show(out, name) {
  if (!out) return;
  if (out.pick) pick(out.pick);
  else if (out.page) modal(out.page.title, h("div", { class: "prose page",
    html: await render({ markdown: out.page.text }) }), "wide");
  else if (out.view) modal("/" + name, h("div", { class: "page", html: await render({ view: out.view }) }), "wide");
  else if (out.text) $("lathe-transcript").note(await render({ markdown: out.text }));
  if (out.insert) $("lathe-prompt").set(out.insert);
  if (out.copy) await navigator.clipboard?.writeText(out.copy).then(() => toast("Copied"));
  if (out.prompt) send({ text: out.prompt.parts.map((p) => p.text).filter(Boolean).join("\n\n") });
  if (out.open) help();
  if (out.edit) file(out.edit.path);
  if (out.quit) location.hash = "#/";
}

// pick shows a list to choose from.
function pick(p) {
  const list = h("ul", { "aria-label": p.title });
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter",
    oninput: () => narrow() });
  let close = () => {};
  const choose = (item) => { close(); run(p.command, item.id); };
  const draw = (items) => {
    list.replaceChildren(...items.map((i) => h("li", {
      "aria-current": i.current ? "true" : undefined, "data-depth": Math.min(i.depth ?? 0, 6) },
      h("button", { type: "button", class: "pick", onclick: () => choose(i) }, h("b", {}, i.label),
        h("small", {}, i.detail, i.time && " " + ago(i.time))),
      (p.actions ?? []).map((a) => h("button", { type: "button", class: "link", onclick: () => actOn(a, i) },
        a.label)))));
    if (!items.length) list.append(h("li", { class: "blank" }, p.empty || "Nothing to choose from."));
  };
  const narrow = async () => {
    const text = filter.value.trim().toLowerCase();
    if (p.search) return void command(p.search, text).then((o) => draw(o.pick?.items ?? []), () => {});
    draw((p.items ?? []).filter((i) => `${i.label} ${i.detail ?? ""}`.toLowerCase().includes(text)));
  };
  const actOn = async (a, i) => {
    let args = i.id;
    if (a.ask) {
      const got = await form(a.ask, [{ name: "text", label: a.ask, required: true }], a.label);
      if (!got) return;
      args += " " + got.text;
    }
    try {
      const out = await command(a.command, args);
      const again = a.refresh && (await command(a.refresh));
      if (again?.pick) { p = again.pick; narrow(); } else { close(); await show(out, a.command); }
    } catch (e) { toast(e.message, "error"); }
  };
  const keys = (e) => {
    const all = [...list.querySelectorAll(".pick")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step || !all.length) return;
    e.preventDefault();
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  };
  draw(p.items ?? []);
  close = modal(p.title, h("div", { class: "picker", onkeydown: keys }, filter, list));
  if (!matchMedia("(pointer: coarse)").matches) filter.focus();
  $("[aria-current=true]", list)?.scrollIntoView({ block: "center" });
}

// file shows a file of the session.
export async function file(path, line) {
  const dir = head.peek().dir ?? "";
  const name = path.startsWith(dir + "/") ? path.slice(dir.length + 1) : path;
  try {
    const f = await get(of("file"), { path: name });
    if (f.binary) {
      const raw = of("raw") + "?path=" + encodeURIComponent(name);
      return void modal(name, h("div", { class: "page" },
        /\.(png|jpe?g|gif|webp)$/i.test(name) ? h("img", { src: raw, alt: name })
        : h("p", {}, h("a", { href: raw, download: base(name) }, "Download"))), "wide");
    }
    const body = h("div", { class: "page", html: await render({ path: name, text: f.text }) });
    if (f.truncated) body.append(h("p", { class: "note" }, "The rest of the file is not shown."));
    modal(name, body, "wide");
    const row = line && body.querySelectorAll("tr")[line - 1];
    if (row) { row.classList.add("found"); row.scrollIntoView({ block: "center" }); }
  } catch (e) { toast(e.message, "error"); }
}

// tree shows the files of the session.
export function tree() {
  const folder = (path) => {
    const ul = h("ul", { class: "tree" });
    get(of("files"), { path }).then((f) => {
      ul.replaceChildren(...f.entries.map((e) => h("li", {},
        e.dir ? closed(e) : h("button", { type: "button", class: "file", onclick: () => file(e.path) },
          base(e.path)))));
      if (f.more) ul.append(h("li", { class: "blank" }, "There are more."));
    }, (e) => toast(e.message, "error"));
    return ul;
  };
  const closed = (e) => {
    const d = h("details", { ontoggle: () => { if (d.open && d.children.length === 1) d.append(folder(e.path)); } },
      h("summary", {}, base(e.path)));
    return d;
  };
  modal(base(head.peek().dir) || "Files", h("div", { class: "page" }, folder("")));
}

// form asks for values. It returns them, or null.
export function form(title, fields, label) {
  return new Promise((resolve) => {
    let result = null;
    const input = (f) => {
      if (f.area) return h("textarea", { name: f.name, rows: 4, value: f.value ?? "" });
      if (f.options) return h("select", { name: f.name, value: f.value },
        f.options.map(([v, text]) => h("option", { value: v }, text)));
      if (f.check) return h("input", { type: "checkbox", name: f.name });
      return h("input", { type: "text", name: f.name, value: f.value ?? "", required: f.required,
        list: f.list && "list-" + f.name, autocomplete: "off", spellcheck: "false" });
    };
    const el = h("form", { class: "fields", onsubmit: (e) => {
      e.preventDefault();
      result = Object.fromEntries(fields.map((f) => [f.name,
        f.check ? el.elements[f.name].checked : el.elements[f.name].value.trim()]));
      close();
    } },
    fields.map((f) => h("label", { class: f.check ? "field check" : "field" }, h("span", {}, f.label), input(f),
      f.help && h("small", {}, f.help),
      f.list && h("datalist", { id: "list-" + f.name }, f.list.map((v) => h("option", { value: v }))))),
    h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, label)));
    const close = modal(title, el);
    el.closest("dialog").addEventListener("close", () => resolve(result));
    if (!matchMedia("(pointer: coarse)").matches) el.elements[0]?.focus();
  });
}

const confirm = async (title, label) => Boolean(await form(title, [], label));

// settings of this browser, and of lathe.
export function settings() {
  const theme = h("select", { "aria-label": "Theme", onchange: () => {
    localStorage.setItem("theme", theme.value);
    document.documentElement.dataset.theme = theme.value;
  } }, ["system", "light", "dark"].map((v) => h("option", { value: v === "system" ? "" : v },
    v[0].toUpperCase() + v.slice(1))));
  theme.value = localStorage.getItem("theme") ?? "";
  const push = h("button", { type: "button", onclick: () => import("./push.js").then((m) => m.toggle(push)) }, "…");
  const m = me.peek();
  modal("Settings", h("div", { class: "fields" },
    h("label", { class: "field" }, h("span", {}, "Theme"), theme),
    h("div", { class: "field" }, h("span", {}, "Notifications"), push, h("small", { id: "push-note" })),
    h("div", { class: "field" }, h("span", {}, "This device"),
      h("p", {}, m?.device?.name || "this machine", " may ", (m?.scopes ?? []).join(", "))),
    m?.scopes?.includes("admin") && h("div", { class: "field" }, h("span", {}, "Other devices"),
      h("button", { type: "button", onclick: phone }, "Pair a phone")),
    h("div", { class: "field" }, h("span", {}, "lathe"),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: values }, "Settings of lathe"),
      current.peek() && h("button", { type: "button", onclick: () => run("permissions") }, "Permissions"))),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: help }, "Keys"),
      !m?.local && h("button", { type: "button", class: "no",
        onclick: () => call("POST", "/v1/logout").then(() => location.reload(), (e) => toast(e.message, "error")) },
          "Forget this device"))));
  import("./push.js").then((m) => m.label(push));
}

// menu has what can be done with the session.
export function menu() {
  const id = current.peek();
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const all = [
    ["Files", tree],
    ["Find", () => $("[data-do=search]").click()],
    ["Rename", async () => {
      const got = await form("Rename", [{ name: "title", label: "Title", value: $("#title").textContent,
        required: true }], "Rename");
      if (got) await call("PATCH", path, got);
    }],
    ["Fork", async () => { location.hash = "#/" + (await call("POST", path + "/fork", {})).id; }],
    ["Branches and earlier messages", () => run("tree")],
    ["Export as Markdown", () => { location.href = path + "/export?format=md"; }],
    ["Stop its process", () => call("POST", path + "/stop", {})],
    ["Archive", async () => {
      if (!(await confirm("Take this session off the list? It can be brought back for 30 days.", "Archive"))) return;
      await call("POST", path + "/archive", {});
      location.hash = "#/";
    }],
  ];
  const close = modal("Session", h("div", { class: "picker" }, h("ul", {}, all.map(([label, what]) => h("li", {},
    h("button", { type: "button", class: "pick", onclick: () => {
      close();
      Promise.resolve(what()).then(refresh, (e) => toast(e.message, "error"));
    } }, label))))));
}

// phone makes a code for a phone, or tells what it needs first.
async function phone() {
  try {
    const made = await call("POST", "/v1/pairings", {});
    const at = (made.urls ?? []).find((u) => !["localhost", "127.0.0.1", "[::1]"].includes(new URL(u).hostname));
    modal("Pair a phone", h("div", { class: "fields" }, at
      ? [h("img", { class: "qr", src: "/page/qr?text=" + encodeURIComponent(at), alt: "The link as a QR code" }),
        h("p", {}, "It works once, for five minutes. The phone may read, prompt and answer."), h("code", {}, at)]
      : [h("p", {},
        "The server listens on this machine only. Start it with an address that the phone reaches, as in "),
        h("code", {}, "lathe web --listen 0.0.0.0:7421 --tls")], ways(true)));
  } catch (e) { toast(e.message, "error"); }
}

// values are the settings of lathe, each with where it comes from.
async function values() {
  try {
    const dir = head.peek().dir;
    const s = await get("/v1/settings", { dir });
    const rows = s.values.filter((v) => v.layer !== "default");
    modal("Settings of lathe", h("div", { class: "fields" },
      rows.map((v) => h("div", { class: "field" }, h("code", {}, v.key),
      h("p", {}, v.secret ? "(a secret)" : JSON.stringify(v.value)), h("small", {}, v.origin))),
        !rows.length && h("p", { class: "blank" }, "Nothing is set: everything is as it comes."),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => change(dir, s.version) },
      "Change one"))), "wide");
  } catch (e) { toast(e.message, "error"); }
}

// change writes a setting, unless another did since it was read.
async function change(dir, version) {
  const got = await form("Change a setting", [{ name: "key", label: "Key", required: true,
    help: "As in docs/configuration.md, such as model" },
    { name: "value", label: "Value", help: "JSON, or a text; empty removes it" },
    { name: "scope", label: "For", options: [["user", "All projects"], ["project", "This project"],
      ["local", "This project, for me"]] }], "Save");
  if (!got) return;
  let value = got.value || undefined;
  try { value = value && JSON.parse(value); } catch { /* a text */ }
  try {
    await call("PUT", "/v1/settings" + (dir ? "?dir=" + encodeURIComponent(dir) : ""),
      { key: got.key, value, scope: got.scope, version });
    toast("Saved");
  } catch (e) { toast(e.message, "error"); }
}

const keys = [["n", "new session"], ["j, k", "next and previous session"], ["/", "to the prompt"],
  ["1 … 9", "answer the question"], ["esc", "interrupt; close"],
  ["shift+tab", "next permission mode"], ["alt+enter", "send after the turn"], ["ctrl+f", "find in the session"],
    ["d", "details"], ["f", "files"], ["?", "this list"]];

export function help() {
  modal("Keys", h("dl", { class: "facts keys" }, keys.map(([k, what]) => [h("dt", {}, h("kbd", {}, k)),
    h("dd", {}, what)])));
}

// pairing asks for the code that the machine shows.
export function pairing() {
  const code = h("input", { name: "code", "aria-label": "Code", autocomplete: "one-time-code",
    autocapitalize: "characters", spellcheck: "false", required: true });
  const note = h("p", { class: "note", role: "alert" });
  const box = h("form", { class: "pairing", onsubmit: (e) => {
    e.preventDefault();
    pair(code.value.trim()).then(() => box.remove(), (err) => { note.textContent = err.message; });
  } },
  h("img", { src: "/icon.svg", alt: "", width: 56, height: 56 }), h("h1", {}, "Pair this browser"),
  h("p", {}, "Run ", h("code", {}, "lathe web"),
    " on the machine, and open its link or enter its code. A code works once, for five minutes."),
  code, h("button", { type: "submit", class: "primary" }, "Pair"), note,
  location.protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname) ? ways() : "");
  document.body.append(box);
  code.focus();
}

// ways tells how a phone gets a certificate that it trusts.
function ways(open) {
  return h("details", { open, class: "ways" }, h("summary", {}, "A phone needs a certificate that it trusts"),
    h("ol", {},
    h("li", {}, "A tailnet: ", h("code", {}, "tailscale cert"), " makes one for the machine's name there."),
    h("li", {}, "Your own certificate files, for a name that you own."),
      h("li", {}, "Your own authority, which the phone is told to trust.")));
}
