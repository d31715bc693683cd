// The connection with the server: its state, one stream of changes, and requests that are acknowledged.
import { signal } from "./signals.js";

export const me = signal(undefined); // undefined: not known yet; null: not paired
export const sessions = signal(new Map());
export const current = signal(""); // the session in front
export const link = signal("connecting"); // connecting, on, off
export const head = signal({}); // of the session: title, dir
export const status = signal(null);
export const state = signal({ doing: "idle" });
export const questions = signal(new Map());
// prompts without an answer of the server
export const outbox = signal(JSON.parse(localStorage.getItem("outbox") ?? "[]"));

export const may = (scope) => me()?.scopes?.includes(scope) ?? false;
export const working = () => state().doing !== "idle";

// Problem is an error of the server, with the next move.
export class Problem extends Error {
  constructor(status, body) {
    super([body.title, body.detail, body.next ?? body.hint].filter(Boolean).join(": "));
    this.status = status;
  }
}

// call sends a request and returns the answer.
export async function call(method, path, body) {
  const answer = await fetch(path, {
    method, credentials: "same-origin", cache: "no-store",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 401) me.set(null);
  if (!answer.ok) {
    const text = await answer.text();
    let problem = { title: text || answer.statusText };
    try { problem = JSON.parse(text); } catch { /* it is plain text */ }
    throw new Problem(answer.status, problem);
  }
  return answer.status === 204 || answer.headers.get("Content-Length") === "0" ? undefined : answer.json();
}

const query = (values) => new URLSearchParams(Object.entries(values).filter(([, v]) => v)).toString();
export const get = (path, values = {}) => call("GET", path + (Object.keys(values).length ? "?" + query(values) : ""));
export const of = (part, id = current.peek()) => `/v1/sessions/${encodeURIComponent(id)}/${part}`;

export const command = (name, args = "") => call("POST", of("commands"), { name, args });
export const complete = (kind, text, name) => get(of("completions"),
  { kind, text, name }).then((a) => a.candidates ?? []);
export const render = (what) => call("POST", "/page/render", what).then((a) => a.html);
export const interrupt = () => call("POST", of("interrupt"), { turn: state.peek().turn });
export const queue = (change) => call("POST", of("queue"), change);
export const answer = (q, a) => call("POST", of("answers"), { question: q.id, session: q.session, answer: a });

// The stream. One for a page: browsers open few connections to a server.
let source = null;
let last = ""; // the id of the last change
let heard = 0;
let listener = () => {};
let retry = 0;

// onChange sets who takes the changes of the session.
export const onChange = (f) => { listener = f; };

export function connect() {
  source?.close();
  clearTimeout(retry);
  if (!me.peek()) return;
  if (link.peek() !== "off") link.set("connecting");
  const mine = source = new EventSource("/page/stream?" + query({ session: current.peek(), last }));
  heard = Date.now();
  mine.onmessage = (e) => {
    if (mine !== source) return;
    heard = Date.now();
    if (e.lastEventId) last = e.lastEventId;
    link.set("on");
    take(JSON.parse(e.data));
  };
  mine.onerror = () => {
    if (mine !== source) return;
    mine.close();
    link.set("off");
    retry = setTimeout(connect, 1000 + Math.random() * 2000);
  };
}

// show puts a session in front.
export function show(id) {
  if (id === current.peek()) return;
  current.set(id);
  last = "";
  head.set({});
  status.set(null);
  state.set({ doing: "idle" });
  questions.set(new Map());
  listener({ op: "leave" });
  connect();
}

function take(c) {
  switch (c.op) {
    case "hello": refresh(); flush(); break;
    case "beat": break;
    case "session": row(c.data); break;
    case "status": status.set(c.data); break;
    case "state": state.set(c.data); break;
    case "gone": link.set("off"); break;
    case "ask": questions.update((m) => new Map(m).set(c.key, c.data)); break;
    case "answered":
      questions.update((m) => { const n = new Map(m); n.delete(c.key); return n; });
      listener(c);
      break;
    case "reset":
      head.set(c.data);
      questions.set(new Map());
      listener(c);
      break;
    default: listener(c);
  }
}

function row(s) {
  sessions.update((m) => {
    const n = new Map(m);
    if (s.removed) n.delete(s.id);
    else n.set(s.id, { ...m.get(s.id), ...s });
    return n;
  });
}

// refresh reads the list.
export async function refresh() {
  try {
    const list = (await get("/v1/sessions", { limit: 200 })).sessions;
    sessions.set(new Map(list.map((s) => [s.id, s])));
  } catch { /* the stream tells of a lost connection */ }
}

// enter finds out who this browser is.
export async function enter() {
  try {
    me.set(await get("/v1/me"));
    connect();
  } catch (e) {
    if (e.status === 401) me.set(null);
    else { link.set("off"); setTimeout(enter, 2000); }
  }
}

export async function pair(code) {
  await call("POST", "/v1/pair", { code, name: device(), cookie: true });
  await enter();
}

function device() {
  const agent = navigator.userAgent;
  const system = /iPhone|iPad|Android|Mac OS|Windows|Linux/.exec(agent)?.[0] ?? "a browser";
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0] ?? "Browser";
  return `${browser.replace("Edg", "Edge")} on ${system}`;
}

// send puts a prompt into the outbox, from where it goes under one id until the server has it.
export function send(prompt) {
  outbox.update((list) => [...list, { session: current.peek(), id: crypto.randomUUID?.() ?? random(), ...prompt }]);
  keep();
  return flush();
}

const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2,
  "0")).join("");

export const forget = (id) => outbox.update((list) => list.filter((p) => p.id !== id));

let flushing = null;
export function flush() {
  return flushing ??= sendAll().finally(() => { flushing = null; keep(); });
}

async function sendAll() {
  for (;;) {
    const next = outbox.peek().find((p) => !p.failed);
    if (!next) return;
    const { session, failed, ...body } = next;
    try {
      await call("POST", of("prompts", session), body);
      forget(next.id);
    } catch (e) {
      // later, the same id
      if (!(e instanceof Problem) || e.status >= 500 || e.status === 429) return void setTimeout(flush, 3000);
      outbox.update((list) => list.map((p) => (p === next ? { ...p, failed: e.message } : p)));
    }
  }
}

// keep remembers what is not acknowledged over a reload. Images are too large for that.
function keep() {
  try {
    localStorage.setItem("outbox", JSON.stringify(outbox.peek().map(({ images, ...p }) =>
      images?.length ? { ...p, failed: "The page was loaded again, and the images are gone: attach them again" }
        : p)));
  } catch { /* the store is full */ }
}

// A page that comes back fetches what it missed; a stream that is silent is dead.
document.addEventListener("visibilitychange", () => { if (!document.hidden
  && Date.now() - heard > 5000) connect(); });
addEventListener("online", connect);
addEventListener("offline", () => { link.set("off"); });
setInterval(() => { if (me.peek() && Date.now() - heard > 35000) connect(); }, 5000);
