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

  /** List the devices. */
  listDevices(options) {
    return this.request("GET", `/v1/devices`, { ...options });
  }

  /** Make a device, and show its token once. */
  addDevice(body, options) {
    return this.request("POST", `/v1/devices`, { body, ...options });
  }

  /** Revoke a device; its streams end. */
  revokeDevice(id, options) {
    return this.request("DELETE", `/v1/devices/${encodeURIComponent(id)}`, { ...options });
  }

  /** Revoke the own token. */
  logout(options) {
    return this.request("POST", `/v1/logout`, { ...options });
  }

  /** Say who sends the request, and what it may do. */
  me(options) {
    return this.request("GET", `/v1/me`, { ...options });
  }

  /** List the models that can be chosen. */
  listModels(query, options) {
    return this.request("GET", `/v1/models`, { query, ...options });
  }

  /** List the permission modes. */
  listModes(options) {
    return this.request("GET", `/v1/modes`, { ...options });
  }

  /** Take a pairing code: the only operation without a token. */
  pair(body, options) {
    return this.request("POST", `/v1/pair`, { body, ...options });
  }

  /** Make a code that works once, within five minutes. */
  beginPairing(body, options) {
    return this.request("POST", `/v1/pairings`, { body, ...options });
  }

  /** List the folders of sessions. */
  listProjects(options) {
    return this.request("GET", `/v1/projects`, { ...options });
  }

  /** Search the messages of sessions. */
  searchSessions(query, options) {
    return this.request("GET", `/v1/search`, { query, ...options });
  }

  /** List sessions, the newest first. */
  listSessions(query, options) {
    return this.request("GET", `/v1/sessions`, { query, ...options });
  }

  /** Begin a session. */
  createSession(body, options) {
    return this.request("POST", `/v1/sessions`, { body, ...options });
  }

  /** Delete a session for good. */
  deleteSession(id, options) {
    return this.request("DELETE", `/v1/sessions/${encodeURIComponent(id)}`, { ...options });
  }

  /** Show a session. */
  getSession(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}`, { ...options });
  }

  /** Give a session another title. */
  renameSession(id, body, options) {
    return this.request("PATCH", `/v1/sessions/${encodeURIComponent(id)}`, { body, ...options });
  }

  /** Show the kinds of agents, as /agents does. */
  getAgents(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/agents`, { ...options });
  }

  /** Answer a question; the first valid answer counts. */
  answer(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/answers`, { body, ...options });
  }

  /** Take a session off the lists, for 30 days. */
  archiveSession(id, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/archive`, { ...options });
  }

  /** Run a slash command, if the device may. */
  runCommand(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/commands`, { body, ...options });
  }

  /** Complete what is typed. */
  complete(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/completions`, { query, ...options });
  }

  /** Show the context window, as /context does. */
  getContext(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/context`, { ...options });
  }

  /** Show what a session or one of its turns changed. */
  getDiff(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/diff`, { query, ...options });
  }

  /** Send a session as a file. */
  exportSession(id, query, options) {
    return this.fetch("GET", `/v1/sessions/${encodeURIComponent(id)}/export`, { query, ...options });
  }

  /** Read a text file. */
  readFile(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/file`, { query, ...options });
  }

  /** List a folder. */
  listFiles(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/files`, { query, ...options });
  }

  /** Copy a conversation up to an entry. */
  forkSession(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/fork`, { body, ...options });
  }

  /** Read a conversation by pages, from its end. */
  readHistory(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/history`, { query, ...options });
  }

  /** Show the hooks, as /hooks does. */
  getHooks(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/hooks`, { ...options });
  }

  /** End the running turn. */
  interrupt(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/interrupt`, { body, ...options });
  }

  /** Show the MCP servers, as /mcp does. */
  getMCP(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/mcp`, { ...options });
  }

  /** Send a message to the model. */
  sendPrompt(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/prompts`, { body, ...options });
  }

  /** List the open questions. */
  openQuestions(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/questions`, { ...options });
  }

  /** List the messages that wait. */
  readQueue(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/queue`, { ...options });
  }

  /** Change the messages that wait. */
  changeQueue(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/queue`, { body, ...options });
  }

  /** Read a file as it is. */
  rawFile(id, query, options) {
    return this.fetch("GET", `/v1/sessions/${encodeURIComponent(id)}/raw`, { query, ...options });
  }

  /** Bring back what undo took back. */
  redo(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/redo`, { body, ...options });
  }

  /** Bring an archived session back. */
  restoreSession(id, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/restore`, { ...options });
  }

  /** Search names or content of files. */
  searchFiles(id, query, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/search`, { query, ...options });
  }

  /** Read the settings of its folder. */
  getSessionSettings(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/settings`, { ...options });
  }

  /** Say what a session does; wakes it. */
  getStatus(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/status`, { ...options });
  }

  /** End the process of a session; a prompt wakes it. */
  stopSession(id, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/stop`, { ...options });
  }

  /** Take changes of files back. */
  undo(id, body, options) {
    return this.request("POST", `/v1/sessions/${encodeURIComponent(id)}/undo`, { body, ...options });
  }

  /** Say what a session used. */
  getUsage(id, options) {
    return this.request("GET", `/v1/sessions/${encodeURIComponent(id)}/usage`, { ...options });
  }

  /** Read settings with their origins. */
  readSettings(query, options) {
    return this.request("GET", `/v1/settings`, { query, ...options });
  }

  /** Change a setting that did not change since it was read. */
  writeSettings(body, query, options) {
    return this.request("PUT", `/v1/settings`, { body, query, ...options });
  }
}

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
