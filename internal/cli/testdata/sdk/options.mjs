// Tries every option of the TypeScript Agent SDK against lathe: node options.mjs LATHE SDK-FOLDER [OPTION...]
//
// Each case starts lathe through query() and checks what the option must do, in the requests that a small server of
// the Messages API gets, in the messages, or on disk. It prints a JSON line per option: {option, outcome, detail}, where
// outcome is "works", "refused" (the error names the option or its flag), "without effect" (accepted, and the turn goes
// its way) or "failed".
import {createServer} from 'node:http';
import {mkdtempSync, rmSync, mkdirSync, writeFileSync, existsSync, readdirSync, readFileSync, realpathSync} from 'node:fs';
import {join} from 'node:path';
import {tmpdir} from 'node:os';
import {spawn} from 'node:child_process';
import {pathToFileURL} from 'node:url';

const [, , lathe, sdk, ...only] = process.argv;
const {query, createSdkMcpServer, tool} = await import(pathToFileURL(join(sdk, 'sdk.mjs')));

const root = realpathSync(mkdtempSync(join(tmpdir(), 'sdk-')));
process.on('exit', () => rmSync(root, {recursive: true, force: true}));
let requests = [], replies = [], status = 200, hang = false;

const server = createServer((req, res) => {
  let body = '';
  req.on('data', d => (body += d));
  req.on('end', () => {
    let json = {};
    try { json = JSON.parse(body) } catch {}
    requests.push({headers: req.headers, body: json, raw: body});
    if (hang) return;
    const code = typeof status === 'function' ? status(json) : status;
    if (code !== 200) {
      res.writeHead(code, {'content-type': 'application/json'});
      return res.end(JSON.stringify({type: 'error', error: {type: 'overloaded_error', message: 'overloaded'}}));
    }
    const blocks = (json.tools?.length ? replies.shift() : undefined) ?? [{type: 'text', text: 'Hello.'}];
    const calls = blocks.some(b => b.type === 'tool_use');
    res.writeHead(200, {'content-type': 'text/event-stream'});
    const send = (type, data) => res.write(`event: ${type}\ndata: ${JSON.stringify({type, ...data})}\n\n`);
    send('message_start', {message: {id: 'msg_' + requests.length, type: 'message', role: 'assistant', model: json.model, content: [],
      stop_reason: null, stop_sequence: null, usage: {input_tokens: 1000, output_tokens: 1}}});
    blocks.forEach((b, index) => {
      if (b.type === 'text') {
        send('content_block_start', {index, content_block: {type: 'text', text: ''}});
        send('content_block_delta', {index, delta: {type: 'text_delta', text: b.text}});
      } else {
        send('content_block_start', {index, content_block: {type: 'tool_use', id: b.id, name: b.name, input: {}}});
        send('content_block_delta', {index, delta: {type: 'input_json_delta', partial_json: JSON.stringify(b.input)}});
      }
      send('content_block_stop', {index});
    });
    send('message_delta', {delta: {stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null}, usage: {output_tokens: 100}});
    send('message_stop', {});
    res.end();
  });
});
await new Promise(done => server.listen(0, '127.0.0.1', done));

let n = 0;
const call = (name, input) => ({type: 'tool_use', id: 'toolu_' + ++n, name, input});

// place makes a home and a folder for one case.
function place() {
  const home = join(root, 'h' + ++n), cwd = join(home, 'p');
  mkdirSync(join(home, '.config/lathe'), {recursive: true});
  mkdirSync(cwd, {recursive: true});
  writeFileSync(join(home, '.config/lathe/settings.json'), '{"stream": {"retryBaseMs": 1}}');
  const env = {HOME: home, PATH: process.env.PATH, ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: 'sk-test'};
  return {home, cwd, env};
}

// run drives one query to its end.
async function run(at, options, {prompt = 'hi', script = [], onQuery} = {}) {
  requests = [], replies = [...script];
  const out = {messages: [], stderr: '', error: null};
  try {
    const q = query({prompt, options: {cwd: at.cwd, env: at.env, pathToClaudeCodeExecutable: lathe, stderr: s => (out.stderr += s), ...options}});
    if (onQuery) out.extra = await onQuery(q);
    for await (const m of q) {
      out.messages.push(m);
      if (m.type === 'result') out.result = m;
      if (m.type === 'system' && m.subtype === 'init') out.init = m;
    }
  } catch (e) {
    out.error = e;
  }
  out.requests = requests;
  out.text = () => [out.error?.message, ...(out.result?.errors ?? []), out.stderr].join('\n');
  return out;
}

function must(ok, detail) {
  if (!ok) throw new Error(typeof detail === 'string' ? detail : JSON.stringify(detail));
}
const done = r => must(r.result?.subtype === 'success' && !r.error, r.text() || r.result);
const refused = (options, word, more) => async () => {
  const r = await run(place(), options, more);
  must(r.result?.subtype !== 'success', 'it was not refused');
  must(r.text().includes(word), `the error does not name ${word}: ${r.text()}`);
  return 'refused';
};
const noEffect = (options, more) => async () => {
  done(await run(place(), options, more));
  return 'without effect';
};
const write = cwd => call('Write', {file_path: join(cwd, 'made.txt'), content: 'x'});
const results = r => JSON.stringify(r.messages.filter(m => m.type === 'user'));
const stores = home => join(home, '.local/share/lathe/projects');
const heron = async pluginDelivery => {
  const at = place(), path = join(at.home, 'heron');
  mkdirSync(join(path, '.claude-plugin'), {recursive: true});
  mkdirSync(join(path, 'skills/fish'), {recursive: true});
  writeFileSync(join(path, '.claude-plugin/plugin.json'), '{"name": "heron"}');
  writeFileSync(join(path, 'skills/fish/SKILL.md'), '---\nname: fish\ndescription: Fishes\n---\nFish.');
  const r = await run(at, {plugins: [{type: 'local', path}], pluginDelivery});
  done(r);
  must(r.init.slash_commands.includes('heron:fish'), r.init.slash_commands);
};
const resumed = async more => {
  const at = place(), first = await run(at, {}, {prompt: 'first words'});
  done(first);
  const again = await run(at, more(first));
  done(again);
  return {first, again, last: again.requests.at(-1).raw};
};

// controlServers lists, replaces, switches off and reconnects servers by the methods of a running query.
async function controlServers() {
  const at = place(), file = join(at.cwd, 'server.mjs');
  writeFileSync(file, `
    import {createInterface} from 'node:readline';
    const say = m => console.log(JSON.stringify({jsonrpc: '2.0', ...m}));
    createInterface({input: process.stdin}).on('line', l => {
      const m = JSON.parse(l);
      if (m.method === 'initialize') say({id: m.id, result: {protocolVersion: '2025-11-25', capabilities: {tools: {}}, serverInfo: {name: 'peer', version: '7'}}});
      else if (m.method === 'tools/list') say({id: m.id, result: {tools: [{name: 'hi', inputSchema: {type: 'object'}}]}});
      else if (m.method === 'tools/call') say({id: m.id, result: {content: [{type: 'text', text: 'greeting of the new server'}]}});
    });`);
  const entry = {command: process.execPath, args: [file]};
  let ready, ended;
  const prepared = new Promise(r => (ready = r));
  async function* prompts() {
    await prepared;
    yield {type: 'user', message: {role: 'user', content: 'hi'}, parent_tool_use_id: null, session_id: ''};
    await new Promise(r => (ended = r));
  }
  const q = query({prompt: prompts(), options: {cwd: at.cwd, env: at.env, pathToClaudeCodeExecutable: lathe, mcpServers: {old: entry}, allowedTools: ['mcp__new__hi']}});
  requests = [], replies = [[call('mcp__new__hi', {})]];
  const state = async name => (await q.mcpServerStatus()).find(s => s.name === name);
  await q.reconnectMcpServer('old');
  const old = await state('old');
  must(old?.status === 'connected' && old.serverInfo?.name === 'peer' && old.tools?.[0].name === 'hi', old);
  const set = await q.setMcpServers({new: entry});
  must(set.added.join() === 'new' && Object.keys(set.errors ?? {}).length === 0, set);
  must((await state('new'))?.status === 'connected', await q.mcpServerStatus());
  await q.toggleMcpServer('new', false);
  must((await state('new'))?.status === 'disabled', await q.mcpServerStatus());
  await q.toggleMcpServer('new', true);
  await q.reconnectMcpServer('new');
  must((await state('new'))?.status === 'connected', await q.mcpServerStatus());
  let unknown;
  await q.reconnectMcpServer('nobody').catch(e => (unknown = e.message));
  must(unknown?.includes('nobody'), unknown ?? 'a server that is not there was reconnected');
  ready();
  let seen = '';
  for await (const m of q) {
    if (m.type === 'user') seen += JSON.stringify(m);
    if (m.type === 'result') ended?.(), q.close?.();
  }
  must(seen.includes('greeting of the new server'), seen);
}

// remoteServers uses a server over Streamable HTTP and one over the older SSE, which want a header.
async function remoteServers() {
  const answer = (kind, m) => {
    if (m.method === 'initialize') return {result: {protocolVersion: '2024-11-05', capabilities: {tools: {}}, serverInfo: {name: kind, version: '1'}}};
    if (m.method === 'tools/list') return {result: {tools: [{name: 'hi', inputSchema: {type: 'object'}}]}};
    if (m.method === 'tools/call') return {result: {content: [{type: 'text', text: 'greeting over ' + kind}]}};
    return {error: {code: -32601, message: 'not known'}};
  };
  let stream;
  const peer = createServer((req, res) => {
    if (req.headers['x-key'] !== 'k') return res.writeHead(403).end();
    if (req.method !== 'POST') {
      if (req.url !== '/sse') return res.writeHead(405).end();
      res.writeHead(200, {'content-type': 'text/event-stream'});
      stream = res;
      return res.write('event: endpoint\ndata: /messages\n\n');
    }
    let body = '';
    req.on('data', d => (body += d));
    req.on('end', () => {
      const m = JSON.parse(body), over = req.url === '/messages' ? 'sse' : 'http';
      if (req.url === '/sse') return res.writeHead(405).end();
      if (m.id === undefined) return res.writeHead(202).end();
      const reply = JSON.stringify({jsonrpc: '2.0', id: m.id, ...answer(over, m)});
      if (over === 'http') return res.writeHead(200, {'content-type': 'application/json'}).end(reply);
      res.writeHead(202).end();
      stream.write('event: message\ndata: ' + reply + '\n\n');
    });
  });
  await new Promise(r => peer.listen(0, '127.0.0.1', r));
  const base = 'http://127.0.0.1:' + peer.address().port, headers = {'X-Key': 'k'};
  try {
    const mcpServers = {h: {type: 'http', url: base + '/mcp', headers}, s: {type: 'sse', url: base + '/sse', headers}};
    const script = [[call('mcp__h__hi', {})], [call('mcp__s__hi', {})]];
    const r = await run(place(), {mcpServers, allowedTools: ['mcp__h', 'mcp__s']}, {script});
    done(r);
    for (const kind of ['http', 'sse']) must(results(r).includes('greeting over ' + kind), results(r));
    must(r.init.mcp_servers.map(s => s.name).sort().join() === 'h,s', r.init.mcp_servers);
  } finally {
    peer.closeAllConnections();
    peer.close();
  }
}

const cases = {
  abortController: async () => {
    const c = new AbortController();
    hang = true;
    const r = await run(place(), {abortController: c}, {onQuery: () => setTimeout(() => c.abort(), 500)});
    hang = false;
    must(r.error && /abort/i.test(r.error.name + r.error.message), r.text());
  },
  additionalDirectories: async () => {
    const at = place(), other = join(at.home, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'a.txt'), 'the content');
    const r = await run(at, {additionalDirectories: [other]}, {script: [[call('Read', {file_path: join(other, 'a.txt')})]]});
    must(results(r).includes('the content'), results(r));
  },
  projectConfigRoot: refused({projectConfigRoot: root}, 'project-config-root'),
  agent: async () => {
    const agents = {judge: {description: 'Judges', prompt: 'You judge.', tools: ['Read']}};
    const r = await run(place(), {agent: 'judge', agents});
    done(r);
    const main = r.requests.find(q => q.raw.includes('You judge.'));
    must(main && main.body.tools.every(t => t.name === 'Read'), 'the conversation is not of that agent');
    must((await run(place(), {agent: 'x'})).text().includes('no agent "x"'), 'an unknown agent is taken');
  },
  agents: async () => {
    const agents = {judge: {description: 'Judges', prompt: 'You judge.', tools: ['Read']}};
    const script = [[call('Task', {description: 'judge', prompt: 'judge it', subagent_type: 'judge'})], [{type: 'text', text: 'Guilty.'}]];
    const r = await run(place(), {agents}, {script});
    done(r);
    must(results(r).includes('Guilty.'), results(r));
    const child = requests.find(q => JSON.stringify(q.body.system ?? '').includes('You judge.'));
    must(child && child.body.tools.every(t => t.name === 'Read'), 'the agent has other tools');
  },
  allowedTools: async () => {
    const at = place();
    done(await run(at, {allowedTools: ['Bash(touch *)']}, {script: [[call('Bash', {command: 'touch made.txt'})]]}));
    must(existsSync(join(at.cwd, 'made.txt')), 'the call did not run');
  },
  canUseTool: async () => {
    const at = place(), asked = [];
    const canUseTool = async (name, input) => (asked.push(name), {behavior: 'allow', updatedInput: input});
    done(await run(at, {canUseTool}, {script: [[write(at.cwd)]]}));
    must(asked[0] === 'Write' && existsSync(join(at.cwd, 'made.txt')), asked);
    const questions = [{question: 'Which?', header: 'Which', multiSelect: false, options: [{label: 'A', description: ''}, {label: 'B', description: ''}]}];
    const answer = async (name, input) => ({behavior: 'allow', updatedInput: {...input, answers: {'Which?': 'B'}}});
    const r = await run(place(), {canUseTool: answer}, {script: [[call('AskUserQuestion', {questions})]]});
    must(results(r).includes('→ B'), results(r));
    const plan = await run(place(), {canUseTool: async (name, input) => (asked.push([name, input]), {behavior: 'allow', updatedInput: input}), permissionMode: 'plan'},
      {script: [[call('ExitPlanMode', {plan: '# Plan'})]]});
    const [name, input] = asked.at(-1);
    must(name === 'ExitPlanMode' && input.plan === '# Plan' && input.planFilePath && results(plan).includes('approved the plan'), [asked, results(plan)]);
    const parent = place(), children = [];
    const ofAgent = async (name, input, o) => (children.push([name, o.agentID]), {behavior: 'allow', updatedInput: input});
    done(await run(parent, {canUseTool: ofAgent}, {script: [[call('Task', {description: 'write', prompt: 'write it'})], [write(parent.cwd)]]}));
    must(children[0]?.[0] === 'Write' && /^[0-9a-f-]{36}$/.test(children[0][1] ?? '') && existsSync(join(parent.cwd, 'made.txt')), children);
  },
  continue: async () => must((await resumed(() => ({continue: true}))).last.includes('first words'), 'the first prompt is missing'),
  cwd: async () => {
    const at = place(), r = await run(at, {});
    must(r.init.cwd === at.cwd, r.init.cwd);
  },
  disallowedTools: async () => {
    const at = place();
    const r = await run(at, {disallowedTools: ['Bash'], permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true}, {script: [[call('Bash', {command: 'touch made.txt'})]]});
    must(!existsSync(join(at.cwd, 'made.txt')) && r.requests.every(q => !q.body.tools?.some(t => t.name === 'Bash')), 'Bash is there');
  },
  toolAliases: async () => {
    const sh = tool('sh', 'Runs.', {}, async () => ({content: [{type: 'text', text: 'from the host'}]}));
    const options = {toolAliases: {Bash: 'mcp__box__sh'}, mcpServers: {box: createSdkMcpServer({name: 'box', tools: [sh]})}, allowedTools: ['mcp__box__sh']};
    const r = await run(place(), options, {script: [[call('Bash', {})]]});
    must(results(r).includes('from the host'), results(r));
  },
  tools: async () => {
    const r = await run(place(), {tools: ['Read']});
    must(r.init.tools.join() === 'Read' && r.requests[0].body.tools.length === 1, r.init.tools);
  },
  env: async () => {
    const at = place(), r = await run(at, {env: {...at.env, LATHE_MODEL: 'claude-opus-5'}});
    must(r.requests[0].body.model === 'claude-opus-5', r.requests[0].body.model);
  },
  executable: async () => { done(await run(place(), {executable: 'node'})); return 'without effect' },
  executableArgs: async () => {
    const r = await run(place(), {executableArgs: ['--model', 'opus']});
    must(r.requests[0].body.model === 'claude-opus-5', r.requests[0].body.model);
  },
  extraArgs: async () => {
    const r = await run(place(), {extraArgs: {'small-model': 'haiku', model: 'opus', 'disable-slash-commands': null}});
    must(r.requests[0].body.model === 'claude-opus-5' && r.init.slash_commands.length === 0, r.init);
  },
  fallbackModel: async () => {
    status = q => (q.model === 'claude-haiku-4-5' ? 200 : 529);
    const r = await run(place(), {fallbackModel: 'claude-haiku-4-5'});
    status = 200;
    done(r);
    must(r.requests.at(-1).body.model === 'claude-haiku-4-5', 'the other model did not answer');
  },
  enableFileCheckpointing: async () => {
    let text = '';
    await run(place(), {enableFileCheckpointing: true}, {onQuery: async q => { try { await q.rewindFiles('x') } catch (e) { text = e.message } }});
    must(text.includes('no message "x"'), text || 'a message that is not there was found');
  },
  toolConfig: noEffect({toolConfig: {askUserQuestion: {previewFormat: 'html'}}}),
  forkSession: async () => {
    const {first, again, last} = await resumed(f => ({resume: f.result.session_id, forkSession: true}));
    must(first.result.session_id !== again.result.session_id && last.includes('first words'), 'it is no copy');
  },
  betas: async () => {
    const r = await run(place(), {betas: ['context-1m-2025-08-07']});
    must(r.requests[0].headers['anthropic-beta']?.includes('context-1m-2025-08-07'), r.requests[0].headers);
  },
  hooks: async () => {
    const at = place(), seen = [];
    const r = await run(at, {permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true, hooks: {
      PreToolUse: [{matcher: 'Write', hooks: [async (input, id) => {
        seen.push([input.hook_event_name, input.tool_name, id]);
        return {hookSpecificOutput: {hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'not while we test'}};
      }]}],
      UserPromptSubmit: [{hooks: [async input => ({hookSpecificOutput: {hookEventName: 'UserPromptSubmit', additionalContext: 'asked: ' + input.prompt}})]}],
    }}, {script: [[write(at.cwd)]]});
    done(r);
    must(seen.length === 1 && seen[0][0] === 'PreToolUse' && seen[0][1] === 'Write' && seen[0][2].startsWith('toolu_'), seen);
    must(!existsSync(join(at.cwd, 'made.txt')) && results(r).includes('not while we test'), results(r));
    must(r.requests.some(q => q.raw.includes('asked: hi')), 'no context');
  },
  onElicitation: async () => {
    const at = place(), file = join(at.home, 'asks.mjs'), asked = [];
    writeFileSync(file, `
      import {createInterface} from 'node:readline';
      const say = m => console.log(JSON.stringify({jsonrpc: '2.0', ...m}));
      let call;
      createInterface({input: process.stdin}).on('line', l => {
        const m = JSON.parse(l), schema = {type: 'object', properties: {name: {type: 'string'}}};
        if (m.method === 'initialize') say({id: m.id, result: {protocolVersion: '2025-11-25', capabilities: {tools: {}}, serverInfo: {name: 'asks', version: '1'}}});
        else if (m.method === 'tools/list') say({id: m.id, result: {tools: [{name: 'ask', inputSchema: {type: 'object'}}]}});
        else if (m.method === 'tools/call') call = m.id, say({id: 'q', method: 'elicitation/create', params: {message: 'Your name?', requestedSchema: schema}});
        else if (m.id === 'q') say({id: call, result: {content: [{type: 'text', text: 'answered ' + JSON.stringify(m.result)}]}});
      });`);
    const options = {mcpServers: {asks: {command: process.execPath, args: [file]}}, allowedTools: ['mcp__asks__ask']};
    const onElicitation = async q => (asked.push(q), {action: 'accept', content: {name: 'Ada'}});
    const r = await run(at, {...options, onElicitation}, {script: [[call('mcp__asks__ask', {})]]});
    must(asked[0]?.serverName === 'asks' && asked[0].message === 'Your name?' && asked[0].requestedSchema.properties.name, asked);
    must(results(r).includes('Ada'), results(r));
    const declined = await run(at, options, {script: [[call('mcp__asks__ask', {})]]});
    must(results(declined).includes('decline'), results(declined));
  },
  onUserDialog: noEffect({onUserDialog: async () => ({behavior: 'cancelled'})}),
  supportedDialogKinds: noEffect({onUserDialog: async () => ({behavior: 'cancelled'}), supportedDialogKinds: ['refusal_fallback_prompt']}),
  perTaskStopAffordance: noEffect({perTaskStopAffordance: true}),
  persistSession: async () => {
    const at = place();
    done(await run(at, {persistSession: false}));
    must(!existsSync(stores(at.home)), 'something was kept');
  },
  sessionStore: async () => {
    const stored = [], at = place();
    at.env.CLAUDE_CONFIG_DIR = process.env.CLAUDE_CONFIG_DIR = join(at.home, '.claude'); // lathe and the SDK know the same place
    const r = await run(at, {sessionStore: {append: async (key, entries) => void stored.push(...entries), load: async () => null}});
    done(r);
    delete process.env.CLAUDE_CONFIG_DIR;
    must(stored.some(e => e.type === 'user') && stored.some(e => e.type === 'assistant'), stored);
  },
  sessionStoreFlush: noEffect({sessionStoreFlush: 'eager'}),
  loadTimeoutMs: noEffect({loadTimeoutMs: 1000}),
  includeHookEvents: async () => {
    const r = await run(place(), {includeHookEvents: true, hooks: {Stop: [{hooks: [async () => ({systemMessage: 'bye'})]}]}});
    done(r);
    const of = s => r.messages.filter(m => m.type === 'system' && m.subtype === s && m.hook_event === 'Stop');
    must(of('hook_started').length === 1 && of('hook_response').length === 1 && of('hook_response')[0].outcome === 'success', r.messages);
  },
  includePartialMessages: async () => {
    const r = await run(place(), {includePartialMessages: true});
    must(r.messages.some(m => m.type === 'stream_event' && m.event.type === 'content_block_delta'), 'no deltas');
  },
  forwardSubagentText: noEffect({forwardSubagentText: true}),
  verbatimPrompts: async () => {
    const r = await run(place(), {verbatimPrompts: true}, {prompt: '/cost'});
    must(r.requests.length === 1 && r.requests[0].raw.includes('/cost'), 'the command ran');
  },
  thinking: async () => {
    let r = await run(place(), {thinking: {type: 'disabled'}});
    must(r.requests[0].body.thinking.type === 'disabled', r.requests[0].body.thinking);
    r = await run(place(), {thinking: {type: 'enabled', budgetTokens: 2048}, model: 'claude-sonnet-4-5'});
    must(r.requests[0].body.thinking.budget_tokens === 2048, r.requests[0].body.thinking);
    r = await run(place(), {thinking: {type: 'adaptive'}});
    must(r.requests[0].body.thinking.type === 'adaptive', r.requests[0].body.thinking);
  },
  effort: async () => {
    const r = await run(place(), {effort: 'low'});
    must(r.requests[0].body.output_config.effort === 'low', r.requests[0].body.output_config);
  },
  maxThinkingTokens: async () => {
    const r = await run(place(), {maxThinkingTokens: 2048, model: 'claude-sonnet-4-5'});
    must(r.requests[0].body.thinking.budget_tokens === 2048, r.requests[0].body.thinking);
  },
  maxTurns: async () => {
    const r = await run(place(), {maxTurns: 1}, {script: [[call('Glob', {pattern: '*'})]]});
    must(r.result.subtype === 'error_max_turns', r.result);
  },
  maxBudgetUsd: async () => {
    const r = await run(place(), {maxBudgetUsd: 0.000001}, {script: [[call('Glob', {pattern: '*'})]]});
    must(r.result.subtype === 'error_max_budget_usd', r.result);
  },
  taskBudget: async () => {
    const {body, headers} = (await run(place(), {taskBudget: {total: 30000}})).requests[0];
    must(body.output_config.task_budget.total === 30000 && headers['anthropic-beta'].includes('task-budgets-'), body.output_config);
  },
  mcpServers: async () => {
    const hi = tool('hi', 'Greets.', {}, async () => ({content: [{type: 'text', text: 'greeting from the host'}]}));
    const options = {mcpServers: {x: createSdkMcpServer({name: 'x', tools: [hi]})}, allowedTools: ['mcp__x__hi']};
    const r = await run(place(), options, {script: [[call('mcp__x__hi', {})]]});
    must(results(r).includes('greeting from the host'), r.text() || results(r));
    must(r.init.mcp_servers[0].name === 'x', r.init.mcp_servers);
    await controlServers();
    await remoteServers();
  },
  mcpServersDelivery: async () => {
    const r = await run(place(), {mcpServers: {x: {command: 'true'}}, mcpServersDelivery: 'initialize'});
    done(r);
    must(r.init.mcp_servers[0].name === 'x', r.init.mcp_servers);
  },
  model: async () => {
    const r = await run(place(), {model: 'opus'});
    must(r.requests[0].body.model === 'claude-opus-5', r.requests[0].body.model);
  },
  outputFormat: async () => {
    const schema = {type: 'object', properties: {a: {type: 'string'}}, required: ['a']};
    const r = await run(place(), {outputFormat: {type: 'json_schema', schema}}, {script: [[call('StructuredOutput', {a: 'b'})]]});
    must(r.result.structured_output?.a === 'b', r.result);
  },
  pathToClaudeCodeExecutable: async () => done(await run(place(), {pathToClaudeCodeExecutable: lathe})),
  permissionMode: async () => {
    const at = place();
    await run(at, {permissionMode: 'acceptEdits'}, {script: [[write(at.cwd)]]});
    must(existsSync(join(at.cwd, 'made.txt')), 'the edit was refused');
  },
  planModeInstructions: async () => {
    const r = await run(place(), {permissionMode: 'plan', planModeInstructions: 'Say it in verse.'});
    must(r.requests[0].raw.includes('Say it in verse.'), 'the instructions are missing');
  },
  allowDangerouslySkipPermissions: async () => {
    const at = place();
    await run(at, {permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true}, {script: [[call('Bash', {command: 'touch made.txt'})]]});
    must(existsSync(join(at.cwd, 'made.txt')), 'the call was refused');
  },
  permissionPromptToolName: async () => {
    const at = place();
    const ask = tool('ask', 'Decides.', {}, async () => ({content: [{type: 'text', text: '{"behavior": "allow"}'}]}));
    const options = {permissionPromptToolName: 'mcp__x__ask', mcpServers: {x: createSdkMcpServer({name: 'x', tools: [ask]})}};
    await run(at, options, {script: [[write(at.cwd)]]});
    must(existsSync(join(at.cwd, 'made.txt')), 'the call was refused');
  },
  permissionPrompts: async () => {
    const at = place();
    const r = await run(at, {permissionPrompts: 'none', canUseTool: async (_, input) => ({behavior: 'allow', updatedInput: input})}, {script: [[write(at.cwd)]]});
    must(r.result.permission_denials.length === 1 && !existsSync(join(at.cwd, 'made.txt')), 'somebody was asked');
  },
  plugins: async () => heron('argv'),
  pluginDelivery: async () => heron('initialize'),
  promptSuggestions: noEffect({promptSuggestions: true}),
  agentProgressSummaries: noEffect({agentProgressSummaries: true}),
  resume: async () => must((await resumed(f => ({resume: f.result.session_id}))).last.includes('first words'), 'the first prompt is missing'),
  sessionId: async () => {
    const id = '0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee', r = await run(place(), {sessionId: id});
    must(r.result.session_id === id, r.result.session_id);
  },
  resumeSessionAt: async () => {
    const {last} = await resumed(f => ({resume: f.result.session_id, resumeSessionAt: f.messages.find(m => m.type === 'assistant').uuid}));
    must(last.includes('first words'), 'the first prompt is missing');
  },
  resumeDropsTurn: async () => {
    const at = place(), f = await run(at, {});
    const r = await run(at, {resume: f.result.session_id, resumeSessionAt: f.messages.find(m => m.type === 'assistant').uuid, resumeDropsTurn: '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'});
    done(r);
    const again = await run(at, {resume: f.result.session_id, resumeSessionAt: f.messages.find(m => m.type === 'assistant').uuid, resumeDropsTurn: '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'});
    must(again.text().includes('Resume rejected by --resume-drops-turn:'), again.text());
  },
  sandbox: async () => {
    const at = place(), command = `touch inside; touch ${join(at.home ?? join(at.cwd, '..'), 'outside')}`;
    const r = await run(at, {sandbox: {enabled: true}, allowedTools: ['Bash']}, {script: [[call('Bash', {command})]]});
    if (!r.result) return must(r.text().includes('sandbox'), r.text()); // this machine has none
    must(existsSync(join(at.cwd, 'inside')) && !existsSync(join(at.cwd, '..', 'outside')), results(r));
  },
  settings: async () => {
    const r = await run(place(), {settings: {model: 'opus'}});
    must(r.requests[0].body.model === 'claude-opus-5', r.requests[0].body.model);
  },
  managedSettings: async () => {
    const at = place();
    await run(at, {managedSettings: {permissions: {deny: ['Bash(touch *)']}}, permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true}, {script: [[call('Bash', {command: 'touch made.txt'})]]});
    must(!existsSync(join(at.cwd, 'made.txt')), 'the call ran');
  },
  settingSources: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'CLAUDE.md'), 'memory of the project');
    must((await run(at, {})).requests[0].raw.includes('memory of the project'), 'it is not read by default');
    must(!(await run(at, {settingSources: []})).requests[0].raw.includes('memory of the project'), 'it is read all the same');
  },
  skills: async () => {
    const at = place(), skill = name => {
      mkdirSync(join(at.cwd, '.claude/skills', name), {recursive: true});
      writeFileSync(join(at.cwd, '.claude/skills', name, 'SKILL.md'), `---\nname: ${name}\ndescription: about ${name}s\n---\nBody.\n`);
    };
    skill('heron'), skill('otter');
    const r = await run(at, {skills: ['heron']}), sent = r.requests[0].raw;
    must(sent.includes('about herons') && !sent.includes('about otters'), sent);
    const all = await run(at, {skills: 'all'});
    must(all.requests[0].raw.includes('about otters'), all.requests[0].raw);
    must(all.init.skills.join() === 'heron,otter' && all.init.slash_commands.includes('otter'), all.init);
  },
  debug: async () => {
    const at = place();
    done(await run(at, {debug: true}));
    must(existsSync(join(at.home, '.local/state/lathe/debug')), 'nothing was recorded');
  },
  debugFile: async () => {
    const at = place(), file = join(at.home, 'debug.jsonl');
    done(await run(at, {debugFile: file}));
    must(existsSync(file), 'nothing was recorded');
  },
  stderr: async () => must((await run(place(), {agent: 'x'})).stderr.includes('no agent'), 'stderr was empty'),
  strictMcpConfig: async () => {
    for (const strictMcpConfig of [true, false]) {
      const at = place();
      writeFileSync(join(at.home, '.claude.json'), '{"mcpServers": {"users": {"command": "true"}}}');
      const r = await run(at, {strictMcpConfig, settingSources: ['user']});
      done(r);
      must(r.init.mcp_servers.some(s => s.name === 'users') !== strictMcpConfig, r.init.mcp_servers);
    }
  },
  systemPrompt: async () => {
    const at = place();
    let r = await run(at, {systemPrompt: 'Only this.'});
    must(JSON.stringify(r.requests[0].body.system).includes('Only this.') && JSON.stringify(r.requests[0].body.system).length < 300, r.requests[0].body.system);
    r = await run(at, {systemPrompt: {type: 'preset', preset: 'claude_code', append: 'And this.', excludeDynamicSections: true}});
    must(JSON.stringify(r.requests[0].body.system).includes('And this.') && JSON.stringify(r.requests[0].body.system).length > 1000, r.requests[0].body.system);
  },
  title: async () => {
    const at = place();
    done(await run(at, {title: 'My title'}));
    const dir = stores(at.home), log = join(dir, readdirSync(dir)[0]);
    must(readFileSync(join(log, readdirSync(log)[0], 'log.jsonl'), 'utf8').includes('My title'), 'the session has no title');
  },
  spawnClaudeCodeProcess: async () => {
    let spawned = false;
    done(await run(place(), {spawnClaudeCodeProcess: o => {
      spawned = true;
      return spawn(o.command, o.args, {cwd: o.cwd, env: o.env, stdio: ['pipe', 'pipe', 'pipe'], signal: o.signal});
    }}));
    must(spawned, 'it was not called');
  },
};

for (const [option, check] of Object.entries(cases)) {
  if (only.length && !only.includes(option)) continue;
  let outcome, detail = '';
  try {
    outcome = (await check()) ?? 'works';
  } catch (e) {
    outcome = 'failed', detail = e.message;
  }
  hang = false, status = 200;
  console.log(JSON.stringify({option, outcome, detail}));
}
server.closeAllConnections();
server.close();
