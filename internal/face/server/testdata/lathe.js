// A client of lathe serve, for browsers and Node. Generated from openapi.json: do not edit.

/** What a request failed with (RFC 9457): type, title, status, detail, next. */
export class Problem extends Error {
  constructor(fields) {
    super([fields.title, fields.detail, fields.next].filter(Boolean).join("; "));
    Object.assign(this, fields);
  }
}

const silent = 40_000; // more than two heartbeats
const pause = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });

export class Lathe {
  /** base: the address, "" for the page's own; token: of a device, none where a cookie is sent. */
  constructor(base = "", { token, fetch: send = fetch } = {}) {
    this.base = base.replace(/\/+$/, "");
    this.token = token;
    this.send = (...args) => send(...args);
  }

  /** Sends a request, and returns its answer; what is no success is thrown as a Problem. */
  async fetch(method, path, { query = {}, body, key, signal, headers = {} } = {}) {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) params.append(name, String(one));
    const search = params.size ? `?${params}` : "";
    if (this.token) headers = { ...headers, Authorization: `Bearer ${this.token}` };
    if (key) headers = { ...headers, "Idempotency-Key": key };
    if (body !== undefined) headers = { ...headers, "Content-Type": "application/json" };
    const answer = await this.send(this.base + path + search, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Problem({ title: answer.statusText, status: answer.status, ...said });
  }

  async request(method, path, options) {
    const answer = await this.fetch(method, path, options);
    return answer.status === 204 ? undefined : answer.json();
  }

  /**
   * The events of many sessions, from the one after options.after. A stream that broke is made again and goes on where it
   * was. It ends with options.signal, or throws a Problem.
   */
  async *events(query = {}, { after = "", signal } = {}) {
    for (let wait = 50; !signal?.aborted; wait = Math.min(2 * wait, 5000)) {
      const dead = new AbortController();
      const end = () => dead.abort();
      signal?.addEventListener("abort", end);
      let timer = setTimeout(end, silent);
      try {
        const headers = after ? { "Last-Event-ID": after } : {};
        const answer = await this.fetch("GET", "/v1/events", { query, headers, signal: dead.signal });
        for await (const { id, data } of lines(answer.body)) {
          clearTimeout(timer);
          timer = setTimeout(end, silent);
          wait = 25;
          if (id) after = id;
          yield { ...JSON.parse(data), id: after };
        }
      } catch (err) {
        if (err instanceof Problem && err.status < 500 && err.status !== 429) throw err;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        end();
      }
      await pause(wait, signal);
    }
  }
/* operations */}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const event = { id: "", data: "" };
      for (const line of part.split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      if (event.data) yield event;
    }
  }
}
