// What waits for an answer: permissions with their evidence, questions with previews, plans, forms.
import { effect } from "./signals.js";
import { $, h, say, toast } from "./dom.js";
import { answer, may, questions } from "./server.js";
import { act } from "./transcript.js";

class Questions extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", act);
    effect(() => this.draw());
  }

  // draw shows the first open question. One that stays open is left as it is, with what was typed.
  draw() {
    const list = [...questions().values()];
    const first = list[0];
    this.rest?.replaceChildren(list.length > 1 ? `${list.length - 1} more` : "");
    if (first?.id === this.shown) return;
    this.shown = first?.id;
    this.replaceChildren();
    if (!first) return;
    const able = may("approve") && !first.local;
    this.rest = h("span", { class: "rest" }, list.length > 1 ? `${list.length - 1} more` : "");
    const card = h("section", { class: "question", "aria-labelledby": "question-title", tabindex: "-1" },
      h("header", {}, h("h2", { id: "question-title" }, titleOf(first)), this.rest));
    const body = h("div", { class: "evidence", tabindex: "0", role: "region", "aria-label": "Evidence" });
    body.addEventListener("scroll",
      () => { body.seen ||= body.scrollHeight - body.scrollTop - body.clientHeight < 4; }, { passive: true });
    if (first.text) body.append(h("p", { class: "ask" }, first.text));
    if (first.evidence) body.append(h("div", { html: first.evidence }));
    card.append(body);
    if (first.local) card.append(h("p", { class: "note" }, "Only a person at the machine itself can answer this."));
    else if (!able) card.append(h("p", { class: "note" },
      "This device may not answer. Another device or the terminal can."));
    else card.append(first.parts?.length ? parts(first) : choices(first));
    this.append(card);
    say("A question waits: " + titleOf(first));
  }

  // key answers by a digit.
  key(e) {
    if (!/^[1-9]$/.test(e.key) || !this.firstChild) return false;
    const button = this.querySelectorAll(".choices > button.choice, .choices > label.choice")[e.key - 1];
    button?.click();
    return Boolean(button);
  }
}

const titleOf = (q) => (q.permission && !q.title.endsWith("?") ? `Allow ${q.title}?` : q.title);

async function give(q, a) {
  try {
    await answer(q, a);
  } catch (e) { toast(e.message, "error"); }
}

const calm = ["no", "stop", "never"];
const lasting = ["session", "always", "acceptEdits"];

// seen reports whether the evidence was on the screen to its end; else it goes on by a page.
function seen(q, choice) {
  const box = $(".evidence");
  if (!q.permission || !lasting.includes(choice) || box.seen
    || box.scrollHeight - box.scrollTop - box.clientHeight < 4) return true;
  box.scrollBy(0, box.clientHeight - 24);
  toast("Read it to the end first: a lasting yes covers more than this call");
  return false;
}

// choices are the ways to answer one question.
function choices(q) {
  const box = h("div", { class: "choices" });
  const done = (a) => give(q, a);
  if (q.multi) return several(q, done);
  q.options?.forEach((o, i) => {
    const preview = o.preview ? h("div", { class: "prose preview", html: o.preview }) : "";
    box.append(h("button", {
      type: "button", class: `choice ${calm.includes(o.id) ? "no" : i === 0 ? "primary" : ""}`,
        title: q.permission ? o.help : undefined,
      onclick: () => seen(q, o.id) && done({ choice: o.id }),
    }, h("kbd", {}, String(i + 1)), h("span", {}, o.label, !q.permission && o.help ? h("small", {}, o.help) : "")),
      preview);
  });
  if (q.schema) return schemaForm(q, done);
  if (q.plan) box.append(editPlan(q, done));
  if (q.open) box.append(h("a", { class: "choice", href: q.open, target: "_blank", rel: "noopener noreferrer" },
    "Open ", new URL(q.open).host));
  if (q.free) {
    const no = q.permission;
    box.append(own(no ? "No, and say why" : q.own || "In my own words",
      (text) => done(no ? { choice: "no", text } : { text })));
  }
  if (!q.permission) box.append(h("button", { type: "button", class: "choice no",
    onclick: () => done({ canceled: true }) }, "Dismiss"));
  return box;
}

// own is a line for the user's own words.
function own(label, done) {
  const field = h("input", { type: "text", placeholder: label, "aria-label": label, autocomplete: "off" });
  return h("form",
    { class: "own", onsubmit: (e) => { e.preventDefault(); if (field.value.trim()) done(field.value.trim()); } },
    field, h("button", { type: "submit" }, "Send"));
}

function several(q, done) {
  const box = h("form", { class: "choices", onsubmit: (e) => { e.preventDefault(); done(read(box, q)); } }, inputs(q),
    h("button", { type: "submit", class: "choice primary" }, "Answer"),
    h("button", { type: "button", class: "choice no", onclick: () => done({ canceled: true }) }, "Dismiss"));
  return box;
}

let serial = 0;
// inputs are the options of a question as boxes or radio buttons, with a field for own words.
function inputs(q) {
  const name = "q" + ++serial;
  q.field = name;
  return [
    ...(q.options ?? []).map((o) => h("label", { class: "choice" },
      h("input", { type: q.multi ? "checkbox" : "radio", name, value: o.id }),
      h("span", {}, o.label, o.help ? h("small", {}, o.help) : "",
        o.preview && h("div", { class: "prose preview", html: o.preview })))),
    q.free && h("input", { type: "text", name: name + "own", placeholder: q.own || "In my own words",
      "aria-label": q.own || "In my own words" }),
  ];
}

function read(form, q) {
  const chosen = [...form.querySelectorAll(`input[name="${q.field}"]:checked`)].map((i) => i.value);
  const text = $(`input[name="${q.field}own"]`, form)?.value.trim() || undefined;
  return q.multi ? { choices: chosen, text } : { choice: text ? undefined : chosen[0], text };
}

// parts are several questions that are answered together.
function parts(q) {
  const form = h("form", { class: "choices", onsubmit: (e) => {
    e.preventDefault();
    const all = q.parts.map((p) => read(form, p));
    const open = all.findIndex((a) => !a.choice && !a.text && !a.choices?.length);
    if (open >= 0) toast(`Answer “${q.parts[open].title}” too`, "error");
    else give(q, { parts: all });
  } },
  q.parts.map((p) => h("fieldset", {}, h("legend", {}, p.title), h("p", {}, p.text), inputs(p))),
  h("button", { type: "submit", class: "choice primary" }, "Answer"),
  h("button", { type: "button", class: "choice no", onclick: () => give(q, { canceled: true }) }, "Dismiss"));
  return form;
}

// editPlan opens the plan for changes before it is approved.
function editPlan(q, done) {
  const area = h("textarea", { "aria-label": "The plan", rows: 14, value: q.plan });
  return h("details", { class: "edit" }, h("summary", {}, "Edit the plan"), area,
    h("button", { type: "button", class: "choice primary",
      onclick: () => done({ choice: "default", input: { plan: area.value } }) },
      "Approve the edited plan"));
}

// schemaForm is a form of an MCP server: a field for each property of an object.
function schemaForm(q, done) {
  const fields = Object.entries(q.schema.properties ?? {});
  const form = h("form", { class: "choices", onsubmit: (e) => {
    e.preventDefault();
    const input = {};
    for (const [name, p] of fields) {
      const field = form.elements["f-" + name];
      if (p.type === "boolean") input[name] = field.checked;
      else if (field.value !== "") input[name] = /^(number|integer)$/.test(p.type) ? Number(field.value)
        : field.value;
    }
    done({ choice: q.options?.[0]?.id, input });
  } },
  fields.map(([name, p]) => h("label", { class: "field" }, h("span", {}, p.title ?? name), p.enum
    ? h("select", { name: "f-" + name }, p.enum.map((v) => h("option", { value: v }, v)))
    : h("input", { name: "f-" + name, type: { boolean: "checkbox", number: "number", integer: "number" }[p.type]
      ?? "text",
      required: q.schema.required?.includes(name) }), p.description && h("small", {}, p.description))),
  h("button", { type: "submit", class: "choice primary" }, "Send"),
  h("button", { type: "button", class: "choice no", onclick: () => done({ canceled: true }) }, "Decline"));
  return form;
}

customElements.define("lathe-questions", Questions);
