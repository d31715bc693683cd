// The prompt: text with @files and slash commands, images, history, what waits, and how the session is set.
import { effect, signal } from "./signals.js";
import { $, h, icon, icons, say, toast } from "./dom.js";
import { command, complete, current, interrupt, may, of, queue, send, status, working } from "./server.js";
import { run } from "./dialogs.js";

const drafts = new Map(); // by session
const kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const most = 8 << 20;

class Prompt extends HTMLElement {
  connectedCallback() {
    this.images = signal([]);
    this.list = [];
    this.area = h("textarea", {
      id: "prompt", rows: 1, "aria-label": "Prompt", placeholder: "Ask, or / for commands, @ for files",
        enterkeyhint: "send",
      "aria-haspopup": "listbox", "aria-controls": "completions", "aria-autocomplete": "list",
      oninput: () => { this.grow(); this.suggest(); }, onkeydown: (e) => this.key(e),
        onpaste: (e) => this.take(e, e.clipboardData),
      onblur: () => setTimeout(() => this.close(), 150),
    });
    this.popup = h("ul", { id: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
    this.chips = h("div", { class: "chips" });
    this.waiting = h("ul", { class: "queued", "aria-label": "Waiting messages" });
    const pick = h("input", { type: "file", accept: kinds.join(), multiple: true, hidden: true,
      onchange: () => { this.add(pick.files); pick.value = ""; } });
    this.button = h("button", { type: "submit", class: "send" });
    this.bar = h("div", { class: "settings" });
    this.append(this.waiting, h("form", { class: "box", onsubmit: (e) => { e.preventDefault(); this.submit(); } },
      this.popup, this.chips, this.area, h("div", { class: "row" },
        h("button", { type: "button", class: "icon", "aria-label": "Attach images", onclick: () => pick.click() },
          icon(icons.clip)), pick,
        this.bar, this.button)));
    for (const name of ["dragover", "drop"]) document.addEventListener(name, (e) => {
      if (![...(e.dataTransfer?.types ?? [])].includes("Files")) return;
      e.preventDefault();
      if (name === "drop") this.take(e, e.dataTransfer);
    });
    let session = "";
    effect(() => {
      const now = current();
      this.hidden = !now || !may("prompt");
      if (now === session) return;
      drafts.set(session, this.area.value);
      session = now;
      this.set(drafts.get(now) ?? "");
    });
    effect(() => this.drawChips());
    effect(() => this.drawBar());
    effect(() => this.drawQueue());
    effect(() => this.drawButton());
  }

  set(text) {
    this.area.value = text;
    this.grow();
    this.drawButton();
  }

  grow() {
    this.area.style.height = "auto";
    this.area.style.height = Math.min(this.area.scrollHeight, innerHeight * 0.4) + "px";
    this.drawButton();
  }

  // The button sends what is typed, and stops the turn when nothing is.
  drawButton() {
    const stops = working() && !this.area.value.trim() && !this.images().length;
    this.button.className = stops ? "send stop" : "send";
    this.button.setAttribute("aria-label", stops ? "Interrupt" : working() ? "Queue" : "Send");
    this.button.title = stops ? "Interrupt (esc)" : working()
      ? "Send before the next step; alt+enter: after the turn" : "Send (enter)";
    this.button.replaceChildren(icon(stops ? icons.stop : icons.up));
    this.button.disabled = !stops && !this.area.value.trim() && !this.images().length;
  }

  drawChips() {
    this.chips.replaceChildren(...this.images().map((i) => h("span", { class: "chip" },
      h("img", { src: i.url, alt: "" }), i.name,
      h("button", { type: "button", "aria-label": "Remove " + i.name,
        onclick: () => this.images.update((l) => l.filter((o) => o !== i)) }, "×"))));
  }

  drawBar() {
    const s = status();
    if (!s) return void this.bar.replaceChildren();
    const used = s.context_window ? Math.round((100 * s.context_used) / s.context_window) : 0;
    const button = (label, text, name) => h("button", { type: "button", "aria-label": `${label}: ${text}`,
      title: label, onclick: () => run(name) }, text);
    this.bar.replaceChildren(
      h("button", { type: "button", class: "mode " + s.mode, title: "Permission mode (shift+tab)",
        "aria-label": "Permission mode: " + modeName(s.mode), onclick: () => modes() }, modeName(s.mode)),
      button("Model", s.model, "model"), s.effort ? button("Effort", s.effort, "effort") : "",
      used >= 60 ? h("span", { class: "used", title: "Of the context window" }, used + " %") : "");
  }

  drawQueue() {
    this.waiting.replaceChildren(...(status()?.waiting ?? []).map((w, i) => h("li", {},
      h("span", {}, w.after ? "After the turn: " : "Next: ", w.text),
      h("button", { type: "button", onclick: () => this.change({ do: "send", prompt: w.id }) }, "Send now"),
      i > 0 && h("button", { type: "button", "aria-label": "Move up",
        onclick: () => this.change({ do: "move", prompt: w.id, to: i - 1 }) }, "↑"),
      h("button", { type: "button", onclick: () => this.change({ do: "drop", prompt: w.id }, true) }, "Take back"))));
  }

  async change(c, back) {
    try {
      const q = await queue(c);
      if (back && q.dropped) this.set([q.dropped.parts?.map((p) => p.text).filter(Boolean).join("\n\n"),
        this.area.value.trim()].filter(Boolean).join("\n"));
    } catch (e) { toast(e.message, "error"); }
  }

  async submit(when = "") {
    const text = this.area.value.trim();
    const images = this.images.peek().map(({ mime, data, name }) => ({ mime, data, name }));
    if (!text && !images.length) {
      if (working()) interrupt().catch((e) => toast(e.message, "error"));
      return;
    }
    this.close();
    this.set("");
    this.images.set([]);
    if (!images.length && /^[/!#]/.test(text) && (await this.command(text))) return;
    $("lathe-transcript").end();
    send({ text, images: images.length ? images : undefined, when: when || undefined });
  }

  // command runs a slash command. False: it is a prompt.
  async command(text) {
    const [, slash, name, args] = /^(\/([\w:-]+)|[!#])\s*([\s\S]*)$/.exec(text) ?? [];
    if (!slash) return false;
    const known = name ? (await complete("command", name).catch(() => [])).some((c) => c.text === name) : true;
    if (!known) return false;
    await run(name ?? slash, args);
    return true;
  }

  // suggest shows completions for the word at the caret.
  async suggest() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const word = /^\/([\w:-]*)$/.exec(before) ?? /^\/([\w:-]+) (.*)$/.exec(before) ?? /(?:^|\s)@(\S*)$/.exec(before);
    const asked = this.asked = {};
    if (!word) return this.close();
    const kind = word[2] !== undefined ? "argument" : word[0].startsWith("/") ? "command" : "file";
    try {
      const list = await complete(kind, kind === "argument" ? word[2] : word[1], kind === "argument" ? word[1] : "");
      if (asked !== this.asked) return;
      this.from = before.length - (kind === "argument" ? word[2] : word[1]).length;
      this.draw(list, kind);
    } catch { this.close(); }
  }

  draw(list, kind) {
    this.list = list.slice(0, 12);
    this.kind = kind;
    this.at = 0;
    this.popup.replaceChildren(...this.list.map((c, i) => h("li", {
      role: "option", id: "c" + i, onpointerdown: (e) => { e.preventDefault(); this.at = i; this.choose(); },
    }, h("b", {}, (kind === "command" ? "/" : "") + (c.label ?? c.text)), c.hint ? " " + c.hint : "",
      h("small", {}, c.help ?? ""))));
    this.popup.hidden = !this.list.length;
    if (this.list.length) say(this.list.length === 1 ? "1 completion" : `${this.list.length} completions`);
    this.mark(0);
  }

  mark(step) {
    this.at = (this.at + step + this.list.length) % (this.list.length || 1);
    [...this.popup.children].forEach((li, i) => li.setAttribute("aria-selected", i === this.at));
    this.popup.children[this.at]?.scrollIntoView({ block: "nearest" });
    if (this.list.length) this.area.setAttribute("aria-activedescendant", "c" + this.at);
  }

  choose() {
    const c = this.list[this.at];
    const caret = this.area.selectionStart;
    if (this.kind === "history") return this.set(c.text), this.close();
    const folder = this.kind === "file" && c.text.endsWith("/");
    const text = (/\s/.test(c.text) && this.kind === "file" ? `"${c.text}"` : c.text) + (folder ? "" : " ");
    this.area.setRangeText(text, this.from, caret, "end");
    this.close();
    this.grow();
    if (folder || (this.kind === "command" && c.hint)) this.suggest();
  }

  close() {
    this.asked = null;
    this.popup.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  key(e) {
    if (e.isComposing) return;
    if (!this.popup.hidden) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) { e.preventDefault(); return this.mark(step); }
      if (e.key === "Tab" || (e.key === "Enter" && !e.shiftKey
        && !this.whole())) { e.preventDefault(); return this.choose(); }
      if (e.key === "Escape") { e.preventDefault(); e.stopPropagation(); return this.close(); }
    }
    const touch = matchMedia("(pointer: coarse)").matches;
    if (e.key === "Enter" && !e.shiftKey && (!touch || e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      this.submit(e.altKey ? "after" : "");
    } else if (e.key === "Tab" && e.shiftKey) {
      e.preventDefault();
      cycle();
    } else if (e.key === "ArrowUp" && !this.area.value) this.history();
  }

  // whole reports that the command is typed to its end, so that enter runs it.
  whole() { return this.kind === "command" && this.area.value.trim() === "/" + this.list[this.at]?.text; }

  async history() {
    try {
      const list = await complete("history", "");
      this.draw(list.map((c) => ({ ...c, label: (c.label ?? c.text).split("\n")[0] })), "history");
    } catch (e) { toast(e.message, "error"); }
  }

  take(e, data) {
    const list = [...(data?.files ?? [])].filter((f) => kinds.includes(f.type));
    if (!list.length) return;
    e.preventDefault();
    this.add(list);
  }

  async add(list) {
    for (const f of list) {
      if (!kinds.includes(f.type)) { toast(f.name + " is no image that models take", "error"); continue; }
      if (f.size > most) { toast(f.name + " is larger than 8 MB", "error"); continue; }
      const bytes = new Uint8Array(await f.arrayBuffer());
      let text = "";
      for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
      this.images.update((l) => [...l, { mime: f.type, name: f.name || "image", data: btoa(text),
        url: URL.createObjectURL(f) }]);
    }
  }
}

const names = { default: "Ask", acceptEdits: "Accept edits", plan: "Plan", auto: "Auto", bypassPermissions: "Bypass",
  dontAsk: "Don't ask" };
const modeName = (m) => names[m] ?? m;
const modes = () => run("mode");

// cycle goes to the next of the usual modes, as shift+tab does in the terminal.
function cycle() {
  const order = ["default", "acceptEdits", "plan"];
  const next = order[(order.indexOf(status.peek()?.mode) + 1) % order.length];
  command("mode", next).catch((e) => toast(e.message, "error"));
}

customElements.define("lathe-prompt", Prompt);
