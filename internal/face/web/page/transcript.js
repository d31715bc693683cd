// The transcript: items that the server rendered, put in their places.
import { effect } from "./signals.js";
import { $, h, rendered, say, toast } from "./dom.js";
import { current, forget, get, me, onChange, outbox, flush, state, working } from "./server.js";
import { file } from "./dialogs.js";

const near = 120; // pixels from the end within which the transcript follows what is new

class Transcript extends HTMLElement {
  connectedCallback() {
    this.items = new Map();
    this.log = h("div", { class: "log", role: "log", "aria-label": "Transcript", "aria-live": "off" });
    this.earlier = h("button", { type: "button", class: "earlier", hidden: true, onclick: () => this.load() },
      "Earlier messages");
    this.unsent = h("div", { class: "unsent" });
    this.busy = h("p", { class: "busy", hidden: true }, h("span", {}), "Working");
    this.down = h("button", { type: "button", class: "down", hidden: true, "aria-label": "To the end",
      onclick: () => this.end() }, "↓");
    this.empty = h("div", { class: "hello" });
    this.tabIndex = -1;
    this.append(this.earlier, this.empty, this.log, this.busy, this.unsent, this.down);
    this.follows = true;
    this.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.addEventListener("click", (e) => this.click(e));
    this.touched = 0;
    for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      this.addEventListener(name, () => { this.touched = Date.now(); }, { passive: true });
    }
    new ResizeObserver(() => { if (this.follows) this.end(); }).observe(this.log);
    new ResizeObserver(() => { if (this.follows) this.end(); }).observe(this);
    new IntersectionObserver((seen) => { if (seen[0].isIntersecting) this.load(); },
      { root: this, rootMargin: "600px" }).observe(this.earlier);
    onChange((c) => this.take(c));
    effect(() => {
      this.busy.hidden = !working();
      this.busy.lastChild.textContent = state().doing === "blocked" ? "Waits for you" : "Working";
    });
    effect(() => this.drawUnsent());
    effect(() => this.greet());
  }

  greet() {
    const open = current();
    this.empty.hidden = Boolean(open);
    this.empty.replaceChildren(h("img", { src: "/icon.svg", alt: "", width: 56, height: 56 }),
      h("p", {}, me() ? "Choose a session, or begin one." : ""));
  }

  // take applies a change.
  take(c) {
    switch (c.op) {
      case "leave": case "reset":
        this.items.clear();
        this.log.replaceChildren();
        this.more = c.data?.more;
        this.earlier.hidden = !this.more;
        this.follows = true;
        this.loading = false;
        break;
      case "put": this.put(c); break;
      case "text": this.text(c); break;
      case "drop":
        this.items.get(c.key)?.remove();
        this.items.delete(c.key);
        break;
      case "answered":
        if (c.data.from && c.data.from !== me.peek()?.device?.name) toast(`${c.data.from} answered`);
        break;
    }
    if (this.follows) this.end();
  }

  put(c, before) {
    let el = this.items.get(c.key);
    if (!el) {
      el = h("article", { "data-key": c.key }, h("div", { class: "in" }));
      this.items.set(c.key, el);
      const parent = c.in && this.items.get(c.in);
      if (parent) this.nest(parent).append(el);
      else if (before) before.append(el);
      else this.log.append(el);
    }
    const kept = el.dataset.open;
    el.className = "item " + c.kind;
    el.firstChild.innerHTML = rendered(c.html);
    const details = $("details", el.firstChild);
    if (details && kept !== undefined) details.open = kept === "true";
    if (details && innerWidth >= 1200 && localStorage.getItem("split") === "on") sideBySide(el, true);
    if (c.kind === "notice error") say("Error: " + el.textContent);
  }

  // nest is where the items of an agent are, in the item of its call.
  nest(el) {
    let nest = $(":scope > .nest", el);
    if (!nest) el.append(nest = h("div", { class: "nest" }));
    return nest;
  }

  text(c) {
    const grow = $(".grow", this.items.get(c.key) ?? this);
    if (!grow) return;
    if (!grow.firstChild) grow.append(h("div", {}), h("div", { class: "tail" }));
    const [settled, tail] = grow.children;
    if (c.html) settled.insertAdjacentHTML("beforeend", rendered(c.html));
    tail.innerHTML = rendered(c.tail ?? "");
  }

  // load puts the part of the history before the first item there.
  async load() {
    if (!this.more || this.loading) return;
    this.loading = true;
    const session = current.peek();
    try {
      const part = await get("/page/history", { session, before: this.more });
      if (session !== current.peek()) return;
      const box = document.createDocumentFragment();
      for (const c of part.items) {
        if (c.op === "put" && !this.items.has(c.key)) this.put(c, box);
        if (c.op === "text") this.text(c);
      }
      const height = this.scrollHeight - this.scrollTop;
      this.log.prepend(box);
      this.scrollTop = this.scrollHeight - height;
      this.more = part.more;
      this.earlier.hidden = !this.more;
    } catch (e) { toast(e.message, "error"); }
    this.loading = false;
    if (this.more && this.scrollTop < 600) requestAnimationFrame(() => this.load());
  }

  drawUnsent() {
    const list = outbox().filter((p) => p.session === current());
    this.unsent.replaceChildren(...list.map((p) => h("div", { class: "item user pending" }, h("div", { class: "in" },
      h("div", { class: "said" }, p.text),
      h("p", { class: "note", role: "status" }, p.failed ? "Not sent: " + p.failed : "Not on the server yet",
        p.failed && h("button", { type: "button", class: "link", onclick: () => {
          outbox.update((all) => all.map((o) => (o === p ? { ...p, failed: undefined } : o)));
          flush();
        } }, "Send again"),
        h("button", { type: "button", class: "link", onclick: () => forget(p.id) }, "Discard"))))));
    if (list.length && this.follows) this.end();
  }

  // note puts what a command returned at the end of the transcript.
  note(html) {
    this.log.append(h("article", { class: "item output" },
      h("div", { class: "in" }, h("div", { class: "prose", html }))));
    this.end();
  }

  scrolled() {
    // a person did it, and no change of the layout
    const up = this.scrollTop < this.top && Date.now() - this.touched < 1000;
    if (up) this.touched = Date.now();
    const end = this.scrollHeight - this.scrollTop - this.clientHeight < near;
    this.top = this.scrollTop;
    if (end || up) this.follows = end;
    this.down.hidden = this.follows;
  }

  end() {
    this.follows = true;
    this.scrollTop = this.scrollHeight;
    this.down.hidden = true;
  }

  click(e) {
    const summary = e.target.closest("summary");
    if (summary) {
      const el = summary.closest(".item");
      el.dataset.open = !summary.parentElement.open;
      return;
    }
    act(e);
  }

  // find marks the items with a text and goes to the last one; returns how many there are.
  find(text, step = 0) {
    const hits = [...this.log.querySelectorAll(".item")].filter((el) => text
      && el.textContent.toLowerCase().includes(text.toLowerCase()) &&
      !el.querySelector(".item"));
    for (const el of this.log.querySelectorAll(".found")) el.classList.remove("found");
    if (!hits.length) return [0, 0];
    this.at = (((step ? (this.at ?? hits.length) + step
      : hits.length - 1) % hits.length) + hits.length) % hits.length;
    const el = hits[this.at];
    el.classList.add("found");
    for (let d = $("details", el); d && !d.open; d = null) d.open = true;
    this.follows = false;
    el.scrollIntoView({ block: "center" });
    return [this.at + 1, hits.length];
  }
}

// act does what a button in rendered HTML is for.
export function act(e) {
  const button = e.target.closest("button[data-act]");
  switch (button?.dataset.act) {
    case "copy":
      navigator.clipboard?.writeText($("code", button.parentElement).textContent).then(() => {
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      }, () => toast("The browser gives no clipboard here", "error"));
      break;
    case "more": case "rows": {
      const rest = button.dataset.act === "more" ? button.nextElementSibling
        : button.closest("tbody").nextElementSibling;
      rest.hidden = false;
      (button.closest("tbody.unfold") ?? button).remove();
      break;
    }
    case "split": {
      const on = button.getAttribute("aria-pressed") !== "true";
      localStorage.setItem("split", on ? "on" : "off");
      sideBySide(button.closest(".diff"), on);
      break;
    }
    case "file": file(button.dataset.path, Number(button.dataset.line)); break;
  }
}

// sideBySide moves the rows of the diffs within an element side by side, or back.
function sideBySide(within, on) {
  for (const diff of within.matches(".diff") ? [within] : within.querySelectorAll(".diff")) {
    const button = $(".split", diff);
    if (!button || (button.getAttribute("aria-pressed") === "true") === on) continue;
    button.setAttribute("aria-pressed", on);
    diff.classList.toggle("two", on);
    for (const body of diff.querySelectorAll("tbody")) {
      body.plain ??= [...body.children];
      body.pairs ??= pairs(body.plain);
      body.replaceChildren(...(on ? body.pairs : body.plain));
    }
  }
}

// pairs are rows in which each removed line stands beside the line that takes its place.
function pairs(rows) {
  const out = [];
  let removed = [];
  let added = [];
  const cells = (row, at) => (row ? [row.children[at].cloneNode(true), side(row)]
    : [h("td", { class: "no" }), h("td", { class: "line none" })]);
  const side = (row) => {
    const cell = row.lastElementChild.cloneNode(true);
    cell.classList.add(row.className);
    return cell;
  };
  const flushRows = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) {
      out.push(h("tr", {}, cells(removed[i], 0), cells(added[i], 1)));
    }
    removed = [];
    added = [];
  };
  for (const row of rows) {
    if (row.className === "del") {
      if (added.length) flushRows();
      removed.push(row);
    } else if (row.className === "add") added.push(row);
    else {
      flushRows();
      out.push(row.className === "same" ? h("tr", {}, cells(row, 0), cells(row, 1)) : row.cloneNode(true));
    }
  }
  flushRows();
  return out;
}

customElements.define("lathe-transcript", Transcript);
