// Asks a program for the same things through the TypeScript Agent SDK as another one was asked, so that the answers
// can be compared: node compare.mjs PROGRAM SDK-FOLDER [CASE...]
//
// PROGRAM is lathe or Claude Code. Each case prints a JSON line {case, facts}: what a host sees of one method, option
// or message, without ids, times, paths and texts that every program words for itself.
import {createServer} from 'node:http';
import {mkdtempSync, rmSync, mkdirSync, writeFileSync, existsSync, readdirSync, readFileSync, realpathSync} from 'node:fs';
import {join} from 'node:path';
import {tmpdir} from 'node:os';
import {pathToFileURL} from 'node:url';

const [, , program, sdkFolder, ...only] = process.argv;
const sdk = await import(pathToFileURL(join(sdkFolder, 'sdk.mjs')));
const {query, createSdkMcpServer, tool} = sdk;

const root = realpathSync(mkdtempSync(join(tmpdir(), 'compare-')));
process.on('exit', () => rmSync(root, {recursive: true, force: true}));
let requests = [], replies = [], n = 0;

// The model: answers to requests with tools come from a script, each a list of blocks or a function of the request.
const server = createServer((req, res) => {
  let raw = '';
  req.on('data', d => (raw += d));
  req.on('end', async () => {
    let body = {};
    try { body = JSON.parse(raw) } catch {}
    if (!req.url.startsWith('/v1/messages') || req.url.includes('count_tokens')) {
      res.writeHead(req.url.includes('count_tokens') ? 200 : 404, {'content-type': 'application/json'});
      return res.end(req.url.includes('count_tokens') ? '{"input_tokens":100}' : '{}');
    }
    requests.push({headers: req.headers, body, raw});
    let blocks = (body.tools?.length ? replies.shift() : undefined) ?? [{type: 'text', text: 'Hello.'}];
    if (typeof blocks === 'function') blocks = await blocks(body);
    if (blocks === 'cut') return res.destroy();
    const message = {id: 'msg_' + ++n, type: 'message', role: 'assistant', model: body.model, content: [],
      stop_reason: null, stop_sequence: null, usage: {input_tokens: 1000, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0}};
    const stop_reason = blocks.some(b => b.type === 'tool_use') ? 'tool_use' : 'end_turn';
    if (!body.stream) {
      res.writeHead(200, {'content-type': 'application/json'});
      return res.end(JSON.stringify({...message, content: blocks, stop_reason}));
    }
    res.writeHead(200, {'content-type': 'text/event-stream'});
    const send = (type, data) => res.write(`event: ${type}\ndata: ${JSON.stringify({type, ...data})}\n\n`);
    send('message_start', {message});
    blocks.forEach((b, index) => {
      const text = b.type === 'text';
      send('content_block_start', {index, content_block: text ? {type: 'text', text: ''} : {type: 'tool_use', id: b.id, name: b.name, input: {}}});
      send('content_block_delta', {index, delta: text ? {type: 'text_delta', text: b.text} : {type: 'input_json_delta', partial_json: JSON.stringify(b.input)}});
      send('content_block_stop', {index});
    });
    send('message_delta', {delta: {stop_reason, stop_sequence: null}, usage: {output_tokens: 100}});
    send('message_stop', {});
    res.end();
  });
});
await new Promise(done => server.listen(0, '127.0.0.1', done));

const call = (name, input) => ({type: 'tool_use', id: 'toolu_' + String(++n).padStart(4, '0'), name, input});
const say = text => ({type: 'text', text});
const sleep = ms => new Promise(r => setTimeout(r, ms));

// place makes a home and a folder for one case.
function place() {
  const home = join(root, 'h' + ++n), cwd = join(home, 'p');
  for (const dir of ['.config/lathe', '.claude', 'p']) mkdirSync(join(home, dir), {recursive: true});
  writeFileSync(join(home, '.config/lathe/settings.json'), '{"stream": {"retryBaseMs": 1}}');
  process.env.CLAUDE_CONFIG_DIR = join(home, '.claude'); // of the SDK's own functions
  return {home, cwd, env: {
    HOME: home, PATH: process.env.PATH, ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: 'sk-test',
    CLAUDE_CONFIG_DIR: join(home, '.claude'), IS_SANDBOX: '1', DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1', DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_MAX_RETRIES: '1',
  }};
}
const options = (at, more) => ({cwd: at.cwd, env: at.env, pathToClaudeCodeExecutable: program, model: 'claude-sonnet-4-5', ...more});
const bypass = {permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true};

// run drives one query of one prompt to its end.
async function run(at, more, {prompt = 'hi', script = []} = {}) {
  requests = [], replies = [...script];
  const out = {messages: [], error: null};
  try {
    for await (const m of query({prompt, options: options(at, more)})) {
      out.messages.push(m);
      if (m.type === 'result') out.result = m;
      if (m.type === 'system' && m.subtype === 'init') out.init = m;
    }
  } catch (e) {
    out.error = e;
  }
  out.requests = requests;
  out.results = JSON.stringify(out.messages.filter(m => m.type === 'user'));
  return out;
}

// talk opens a query that takes prompts by say(), each of which resolves with the messages up to its result.
async function talk(at, more, script, act) {
  requests = [], replies = [...script];
  const waiting = [], seen = [];
  let wake, open = true;
  async function* prompts() {
    while (open) {
      while (waiting.length) yield waiting.shift();
      await new Promise(r => (wake = r));
    }
  }
  const q = query({prompt: prompts(), options: options(at, more)});
  let from = 0, ended = false, notify = () => {};
  const reading = (async () => {
    try { for await (const m of q) seen.push(m), notify() } catch (e) { seen.push({type: 'thrown', error: e}) }
    ended = true, notify();
  })();
  const until = async (test, limit = 20000) => {
    const end = Date.now() + limit;
    for (;;) {
      const found = seen.slice(from).find(test);
      if (found || ended || Date.now() > end) return found;
      await Promise.race([new Promise(r => (notify = r)), sleep(250)]);
    }
  };
  const send = (text, extra) => (waiting.push({type: 'user', message: {role: 'user', content: text}, parent_tool_use_id: null, session_id: '', ...extra}), wake?.());
  const ask = async (text, extra) => {
    from = seen.length;
    send(text, extra);
    const result = await until(m => m.type === 'result');
    return {result, messages: seen.slice(from)};
  };
  try {
    return await act({q, seen, send, ask, until, mark: () => (from = seen.length)});
  } finally {
    open = false, wake?.();
    q.close?.();
    await Promise.race([reading, sleep(5000)]);
  }
}
const failure = async f => { try { return await f() } catch (e) { return {rejected: true, named: e.message} } };
const rejected = async f => { try { await f(); return false } catch { return true } };
const keys = o => (o && typeof o === 'object' ? Object.keys(o).sort().join(' ') : typeof o);
const kinds = (o, names) => names.map(k => `${k}:${o?.[k] === null ? 'null' : Array.isArray(o?.[k]) ? 'list' : typeof o?.[k]}`).join(' ');
const subtypes = ms => ms.map(m => (m.subtype ? `${m.type}/${m.subtype}` : m.type));
const find = (ms, subtype) => ms.find(m => m.type === 'system' && m.subtype === subtype);
const peer = (at, name = 'peer') => {
  const file = join(at.home, name + '.mjs');
  writeFileSync(file, `
    import {createInterface} from 'node:readline';
    const say = m => console.log(JSON.stringify({jsonrpc: '2.0', ...m}));
    createInterface({input: process.stdin}).on('line', l => {
      const m = JSON.parse(l), page = {uri: 'ui://page', mimeType: 'text/html', text: '<p>hi</p>'};
      if (m.method === 'initialize') say({id: m.id, result: {protocolVersion: '2025-06-18', capabilities: {tools: {}, resources: {}}, serverInfo: {name: 'peer', version: '7'}}});
      else if (m.method === 'tools/list') say({id: m.id, result: {tools: [{name: 'hi', description: 'Greets.', inputSchema: {type: 'object'}}]}});
      else if (m.method === 'tools/call') say({id: m.id, result: {content: [{type: 'text', text: 'greeting'}]}});
      else if (m.method === 'resources/list') say({id: m.id, result: {resources: [{uri: 'ui://page', name: 'page'}]}});
      else if (m.method === 'resources/read' && m.params.uri === 'ui://page') say({id: m.id, result: {contents: [page]}});
      else if (m.id !== undefined) say({id: m.id, error: {code: -32601, message: 'not known'}});
    });`);
  return {command: process.execPath, args: [file]};
};
const connected = async (q, name) => {
  for (let i = 0; i < 100; i++) {
    const s = (await q.mcpServerStatus()).find(s => s.name === name);
    if (s && s.status !== 'pending') return s;
    await sleep(100);
  }
};

const cases = {
  initializationResult: () => talk(place(), {}, [], async ({q}) => {
    const r = await q.initializationResult();
    return {
      kinds: kinds(r, ['commands', 'agents', 'output_style', 'available_output_styles', 'models', 'account', 'claude_code_version', 'hook_on_failure_supported']),
      version: r.claude_code_version, style: r.output_style, command: kinds(r.commands[0], ['name', 'description', 'argumentHint']),
      model: kinds(r.models[0], ['value', 'displayName', 'description']), account: r.account.apiKeySource,
    };
  }),
  reinitialize: () => talk(place(), {hooks: {Stop: [{hooks: [async () => ({})]}]}, title: 'T', systemPrompt: 'S', agents: {judge: {description: 'd', prompt: 'p'}}}, [], async ({q, ask}) => {
    const before = await failure(() => q.reinitialize());
    await ask('hi');
    const after = await failure(() => q.reinitialize());
    return {before: kinds(before, ['commands', 'agents', 'models', 'hooks_applied']), after: kinds(after, ['commands', 'agents', 'models', 'hooks_applied']), hooks: after.hooks_applied};
  }),
  supportedAgents: () => talk(place(), {agents: {judge: {description: 'Judges', prompt: 'p', model: 'haiku'}, plain: {description: 'Plain', prompt: 'p'}}}, [], async ({q}) => {
    const all = await q.supportedAgents(), of = name => all.find(a => a.name === name);
    return {judge: of('judge'), plain: of('plain'), builtin: ['general-purpose', 'Explore', 'Plan'].map(n => `${n}:${of(n)?.model ?? '-'}`).join(' ')};
  }),
  getContextUsage: () => talk(place(), {agents: {judge: {description: 'Judges', prompt: 'p'}}}, [], async ({q, ask}) => {
    await ask('hi');
    const u = await q.getContextUsage(), s = await q.getContextUsage({detail: 'summary'});
    return {
      kinds: kinds(u, ['categories', 'totalTokens', 'maxTokens', 'rawMaxTokens', 'percentage', 'gridRows', 'model', 'memoryFiles', 'mcpTools', 'agents', 'isAutoCompactEnabled', 'apiUsage']),
      summary: kinds(s, ['categories', 'totalTokens', 'apiUsage']), category: kinds(u.categories[0], ['id', 'name', 'tokens', 'color', 'kind']),
      free: u.categories.find(c => c.id === 'free_space')?.kind,
      apiUsage: u.apiUsage, agents: u.agents.map(a => kinds(a, ['agentType', 'source', 'tokens'])).slice(0, 1), auto: u.isAutoCompactEnabled,
    };
  }),
  getContextUsageOfMemory: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'CLAUDE.md'), 'Memory of the project.');
    return talk(at, {mcpServers: {one: peer(at)}}, [], async ({q, ask}) => {
      await connected(q, 'one');
      await ask('hi');
      const u = await q.getContextUsage();
      return {memory: u.memoryFiles.map(f => f.path.replace(at.cwd, 'CWD') + ' ' + f.type), mcp: u.mcpTools.map(t => `${t.name} ${t.serverName} ${typeof t.tokens}`)};
    });
  },
  backgroundTasks: () => talk(place(), {}, [], async ({q}) => ({idle: await failure(() => q.backgroundTasks()), unknown: await failure(() => q.backgroundTasks('toolu_x'))})),
  backgroundTasksRunning: () => talk(place(), bypass, [[call('Bash', {command: 'sleep 5; echo late', description: 'Wait'})]], async ({q, until, send, mark}) => {
    mark(), send('hi');
    const {message} = await until(m => m.type === 'assistant');
    let moved = false;
    for (let i = 0; i < 40 && !moved; i++) await sleep(100), moved = await failure(() => q.backgroundTasks(message.content[0].id));
    const result = await until(m => m.type === 'user' && JSON.stringify(m).includes('tool_result'));
    return {moved, background: /background/i.test(JSON.stringify(result))};
  }),
  setMcpServers: async () => {
    const at = place();
    const hi = name => createSdkMcpServer({name, tools: [tool('hi', 'Greets.', {}, async () => ({content: [{type: 'text', text: 'hello'}]}))]});
    return talk(at, {mcpServers: {first: peer(at), host: hi('host')}}, [], async ({q}) => {
      const names = async () => (await q.mcpServerStatus()).map(s => s.name).sort().join(' ');
      const out = {};
      for (const [step, set] of [['a', {a: peer(at)}], ['b', {b: peer(at)}], ['sdk', {other: hi('other')}], ['none', {}], ['named', {first: peer(at)}], ['again', {}]]) {
        const r = await failure(() => q.setMcpServers(set));
        out[step] = {...r, names: await names()};
      }
      return out;
    });
  },
  mcpServerStatus: async () => {
    const at = place();
    return talk(at, {mcpServers: {one: peer(at)}}, [], async ({q}) => {
      const s = await connected(q, 'one');
      return {status: s?.status, info: s?.serverInfo, scope: s?.scope, tools: s?.tools?.map(t => t.name)};
    });
  },
  pluginServers: async () => {
    const at = place(), path = join(at.home, 'heron');
    mkdirSync(join(path, '.claude-plugin'), {recursive: true});
    writeFileSync(join(path, '.claude-plugin/plugin.json'), '{"name": "heron"}');
    writeFileSync(join(path, '.mcp.json'), JSON.stringify({mcpServers: {fish: peer({home: path})}}));
    return talk(at, {plugins: [{type: 'local', path}]}, [], async ({q, ask}) => {
      const s = await connected(q, 'plugin:heron:fish');
      const {messages} = await ask('hi'), init = find(messages, 'init');
      return {status: s?.status, init: init.mcp_servers.map(s => s.name), tools: init.tools.filter(t => t.startsWith('mcp__')), sent: requests.some(r => r.raw.includes('mcp__plugin_heron_fish__hi'))};
    });
  },
  readMcpResource: async () => {
    const at = place();
    return talk(at, {mcpServers: {one: peer(at)}}, [], async ({q, ask}) => {
      await connected(q, 'one');
      const {messages} = await ask('hi');
      return {page: await failure(() => q.readMcpResource('one', 'ui://page')), other: await rejected(() => q.readMcpResource('one', 'file:///x')),
        nobody: await rejected(() => q.readMcpResource('nobody', 'ui://page')), capability: find(messages, 'init').capabilities?.includes('mcp_read_resource_v1')};
    });
  },
  setMcpPermissionModeOverride: async () => {
    const at = place(), asked = [];
    const canUseTool = async (name, input) => (asked.push(name), {behavior: 'allow', updatedInput: input});
    const script = [[call('mcp__one__hi', {})], [say('1')], [call('mcp__one__hi', {})], [say('2')], [call('mcp__one__hi', {})]];
    return talk(at, {...bypass, canUseTool, mcpServers: {one: peer(at)}}, script, async ({q, ask}) => {
      await connected(q, 'one');
      const out = {unknown: kinds(await failure(() => q.setMcpPermissionModeOverride('nobody', 'default')), ['warning', 'rejected']), wide: await rejected(() => q.setMcpPermissionModeOverride('one', 'bypassPermissions'))};
      await ask('hi');
      out.before = asked.join();
      out.set = await failure(() => q.setMcpPermissionModeOverride('one', 'default'));
      await ask('hi');
      out.pinned = asked.join();
      out.clear = await failure(() => q.setMcpPermissionModeOverride('one', null));
      await ask('hi');
      out.after = asked.join();
      return out;
    });
  },
  updateSettings: async () => {
    const at = place();
    return talk(at, {settingSources: ['user', 'project', 'local']}, [], async ({q, ask}) => {
      await ask('hi');
      const local = await failure(() => q.updateSettings('localSettings', {outputStyle: 'Explanatory'}));
      const places = ['.claude/settings.local.json', '.lathe/settings.local.json'].filter(f => existsSync(join(at.cwd, f)));
      const user = await failure(() => q.updateSettings('userSettings', {effortLevel: 'low'}));
      const users = ['.claude/settings.json', '.config/lathe/settings.json'].filter(f => existsSync(join(at.home, f)) && /low/.test(readFileSync(join(at.home, f), 'utf8')));
      return {
        local: local ?? null, place: places.join(), content: places[0] && JSON.parse(readFileSync(join(at.cwd, places[0]), 'utf8')).outputStyle, user: user ?? null, users: users.join(),
        key: await rejected(() => q.updateSettings('localSettings', {model: 'opus'})), source: await rejected(() => q.updateSettings('projectSettings', {outputStyle: 'x'})),
        value: await rejected(() => q.updateSettings('localSettings', {outputStyle: 3})),
      };
    });
  },
  updateSettingsWithoutSource: () => talk(place(), {settingSources: []}, [], async ({q}) => ({refused: await rejected(() => q.updateSettings('localSettings', {outputStyle: 'Explanatory'}))})),
  setPermissionMode: () => talk(place(), {}, [], async ({q}) => ({mode: await failure(() => q.setPermissionMode('acceptEdits')), bypass: await rejected(() => q.setPermissionMode('bypassPermissions')), unknown: await rejected(() => q.setPermissionMode('x'))})),
  setModel: () => talk(place(), {}, [], async ({q, ask}) => {
    await q.setModel('claude-opus-4-5');
    await ask('hi');
    const one = requests.find(r => r.body.tools?.length)?.body.model;
    return {model: one, back: await rejected(() => q.setModel())};
  }),
  setMaxThinkingTokens: () => talk(place(), {}, [], async ({q, ask}) => {
    await q.setMaxThinkingTokens(2048);
    await ask('hi');
    return {thinking: requests.find(r => r.body.tools?.length)?.body.thinking, clear: await rejected(() => q.setMaxThinkingTokens(null))};
  }),
  interrupt: () => talk(place(), {}, [async () => (await sleep(1500), [say('late')])], async ({q, send, until, mark}) => {
    mark(), send('hi');
    await until(m => m.type === 'system' && m.subtype === 'init');
    await sleep(300);
    const receipt = await failure(() => q.interrupt()), result = await until(m => m.type === 'result');
    return {receipt, subtype: result?.subtype, error: result?.is_error, reason: result?.terminal_reason};
  }),
  readFile: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'a.txt'), 'content');
    return talk(at, {}, [], async ({q}) => {
      const r = await failure(() => q.readFile('a.txt'));
      return {contents: r?.contents, path: r?.absPath?.replace(at.cwd, 'CWD'), missing: await failure(() => q.readFile('none.txt'))};
    });
  },
  reload: () => talk(place(), {}, [], async ({q}) => ({
    plugins: kinds(await failure(() => q.reloadPlugins()), ['commands', 'agents', 'plugins', 'mcpServers', 'error_count']), skills: kinds(await failure(() => q.reloadSkills()), ['skills']),
    styles: kinds(await failure(() => q.reloadOutputStyles()), ['available_output_styles']),
  })),
  account: () => talk(place(), {}, [], async ({q}) => ({account: await q.accountInfo(), models: (await q.supportedModels()).length > 0, commands: (await q.supportedCommands()).some(c => c.name === 'compact')})),
  usage: () => talk(place(), {}, [], async ({q, ask}) => {
    await ask('hi');
    const u = await failure(() => q.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({skipBehaviors: true}));
    return {kinds: kinds(u, ['session', 'rate_limits', 'rate_limits_available', 'behaviors', 'subscription_type']), session: kinds(u.session, ['total_cost_usd', 'total_api_duration_ms', 'total_duration_ms', 'total_lines_added', 'total_lines_removed', 'model_usage'])};
  }),
  applyFlagSettings: () => talk(place(), {}, [], async ({q}) => ({set: (await failure(() => q.applyFlagSettings({permissions: {deny: ['Bash']}}))) ?? null, clear: (await failure(() => q.applyFlagSettings({permissions: null}))) ?? null, bad: await rejected(() => q.applyFlagSettings({permissions: 'x'}))})),
  stopTask: () => talk(place(), {}, [], async ({q}) => ({unknown: await rejected(() => q.stopTask('x'))})),
  seedReadState: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'a.txt'), 'x');
    return talk(at, {}, [], async ({q}) => ({set: (await failure(() => q.seedReadState(join(at.cwd, 'a.txt'), Date.now()))) ?? null}));
  },
  version: async () => ({version: (await run(place(), {})).init.claude_code_version}),
  betas: async () => talk(place(), {betas: ['context-1m-2025-08-07'], model: 'claude-sonnet-4-5'}, [], async ({q, ask}) => {
    const {messages} = await ask('hi');
    const first = requests.find(r => r.body.tools?.length);
    return {header: !!first?.headers['anthropic-beta']?.includes('context-1m-2025-08-07'), window: (await q.getContextUsage()).rawMaxTokens, init: find(messages, 'init').betas};
  }),
  systemPromptList: async () => {
    const r = await run(place(), {systemPrompt: ['Static part.', sdk.SYSTEM_PROMPT_DYNAMIC_BOUNDARY, 'Dynamic part.']});
    const blocks = r.requests.find(q => q.body.tools?.length)?.body.system ?? [], text = JSON.stringify(blocks);
    const of = word => blocks.find(b => b.text.includes(word));
    return {boundary: text.includes('__SYSTEM_PROMPT'), both: text.includes('Static part.') && text.includes('Dynamic part.'), apart: of('Static part.') !== of('Dynamic part.'),
      cachedStatic: !!of('Static part.')?.cache_control, cachedDynamic: !!of('Dynamic part.')?.cache_control};
  },
  canUseTool: async () => {
    const at = place(), asked = [];
    const canUseTool = async (name, input, o) => (asked.push({name, title: o.title?.replaceAll(at.cwd, 'CWD'), display: o.displayName, description: o.description, suggestions: !!o.suggestions?.length}), {behavior: 'deny', message: 'no'});
    await run(at, {canUseTool}, {script: [[call('Write', {file_path: join(at.cwd, 'made.txt'), content: 'x'})], [call('Bash', {command: 'touch x', description: 'Touches x'})], [call('Edit', {file_path: join(at.cwd, 'a.txt'), old_string: 'a', new_string: 'b'})], [call('WebFetch', {url: 'https://example.com/x', prompt: 'p'})]]});
    return {...Object.fromEntries(asked.map(({title, ...a}) => [a.name, a])), titles: asked.map(a => a.title ?? null)};
  },
  canUseMcpTool: async () => {
    const at = place(), asked = [];
    const canUseTool = async (name, input, o) => (asked.push({title: o.title ?? null, display: o.displayName, server: o.mcpServer}), {behavior: 'allow', updatedInput: input});
    await talk(at, {canUseTool, mcpServers: {one: peer(at)}}, [[call('mcp__one__hi', {})]], async ({q, ask}) => (await connected(q, 'one'), await ask('hi')));
    return asked[0] ?? {};
  },
  rewindFiles: async () => {
    const at = place(), uuid = '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee', file = join(at.cwd, 'made.txt');
    return talk(at, {...bypass, enableFileCheckpointing: true, extraArgs: {'replay-user-messages': null}}, [[call('Write', {file_path: file, content: 'x\n'})]], async ({q, ask}) => {
      await ask('hi', {uuid});
      const paths = r => ({...r, filesChanged: r.filesChanged?.map(p => p.replace(at.cwd, 'CWD'))});
      const dry = paths(await failure(() => q.rewindFiles(uuid, {dryRun: true}))), real = paths(await failure(() => q.rewindFiles(uuid)));
      return {dry, real, gone: !existsSync(file), unknown: kinds(await failure(() => q.rewindFiles('0190aaaa-bbbb-4ccc-8ddd-000000000000')), ['canRewind', 'error', 'rejected'])};
    });
  },
  omitClaudeMd: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'CLAUDE.md'), 'Memory of the project.');
    const agents = {bare: {description: 'd', prompt: 'You are bare.', omitClaudeMd: true}, full: {description: 'd', prompt: 'You are full.'}};
    const r = await run(at, {agents, ...bypass}, {script: [[call('Agent', {description: 'do', prompt: 'do it', subagent_type: 'bare'})], [say('A.')], [call('Agent', {description: 'do', prompt: 'do it', subagent_type: 'full'})], [say('B.')]]});
    const of = text => r.requests.find(q => JSON.stringify(q.body.system ?? '').includes(text))?.raw.includes('Memory of the project.');
    return {bare: of('You are bare.'), full: of('You are full.')};
  },
  toolAliases: async () => {
    const at = place(), got = [];
    const sh = tool('sh', 'Runs.', {command: (await import(pathToFileURL(join(sdkFolder, '../../zod/index.js')))).z.string()}, async a => (got.push(a.command), {content: [{type: 'text', text: 'from the host'}]}));
    const r = await run(at, {toolAliases: {Bash: 'mcp__box__sh'}, mcpServers: {box: createSdkMcpServer({name: 'box', tools: [sh]})}, allowedTools: ['mcp__box__sh']}, {script: [[call('Bash', {command: 'echo hi'})]]});
    return {error: !!r.error, got, result: r.results.includes('from the host'), subtype: r.result?.subtype};
  },
  managedSettings: async () => {
    const at = place();
    const r = await run(at, {...bypass, managedSettings: {permissions: {deny: ['Bash(touch *)'], allow: ['Write']}, model: 'claude-opus-4-5'}}, {script: [[call('Bash', {command: 'touch made.txt'})], [call('Write', {file_path: join(at.cwd, 'b.txt'), content: 'x'})]]});
    return {error: !!r.error, ran: existsSync(join(at.cwd, 'made.txt')), written: existsSync(join(at.cwd, 'b.txt')), model: r.init?.model, denials: r.result?.permission_denials?.length};
  },
  resumeDropsTurn: async () => {
    const at = place(), first = '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeee01', second = '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeee02';
    let session, keep;
    await talk(at, {}, [[say('One.')], [say('Two.')]], async ({ask}) => {
      const a = await ask('first words', {uuid: first});
      session = a.result.session_id, keep = a.messages.filter(m => m.type === 'assistant').at(-1).uuid;
      await ask('second words', {uuid: second});
    });
    const good = await run(at, {resume: session, resumeSessionAt: keep, resumeDropsTurn: second}, {prompt: 'third words'});
    const sent = good.requests.filter(r => r.body.tools?.length).at(-1)?.raw ?? '';
    const bad = await run(at, {resume: session, resumeSessionAt: keep, resumeDropsTurn: '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeee09'}, {prompt: 'fourth words'});
    const text = [bad.error?.message, ...(bad.result?.errors ?? []), bad.result?.result].join(' ');
    return {works: !good.error, first: sent.includes('first words'), second: sent.includes('second words'), refused: !!bad.error || bad.result?.subtype !== 'success', prefix: text.match(/No turn|[Rr]efus\w*/)?.[0] ?? ''};
  },
  subagent: async () => {
    const at = place();
    writeFileSync(join(at.cwd, 'a.txt'), 'content');
    const task = call('Agent', {description: 'read a file', prompt: 'read it', subagent_type: 'general-purpose', run_in_background: false});
    const r = await run(at, bypass, {script: [[task], [call('Read', {file_path: join(at.cwd, 'a.txt')})], [say('Done.')], [say('All done.')]]});
    const started = find(r.messages, 'task_started'), progress = find(r.messages, 'task_progress'), ended = find(r.messages, 'task_notification');
    const inner = r.messages.filter(m => m.parent_tool_use_id === task.id), ids = new Set(inner.map(m => m.agent_id));
    const order = subtypes(r.messages).filter(s => /task_|background_tasks/.test(s));
    return {
      order: [...new Set(order)].join(' '),
      started: started && {tool: started.tool_use_id === task.id, description: started.description, type: started.task_type, subagent: started.subagent_type, background: started.is_backgrounded, depth: started.spawn_depth, prompt: started.prompt},
      progress: progress && {tool: progress.tool_use_id === task.id, description: typeof progress.description, subagent: progress.subagent_type, usage: kinds(progress.usage, ['total_tokens', 'tool_uses', 'duration_ms']), last: progress.last_tool_name},
      ended: ended && {tool: ended.tool_use_id === task.id, status: ended.status, file: typeof ended.output_file, summary: typeof ended.summary, usage: kinds(ended.usage, ['total_tokens', 'tool_uses', 'duration_ms'])},
      same: new Set([started, progress, ended].map(m => m?.task_id)).size === 1, agent: ids.size === 1 && ids.has(started?.task_id),
      inner: [...new Set(inner.map(m => `${m.type} ${m.subagent_type} ${m.task_description}`))],
    };
  },
  subagentInBackground: async () => {
    const at = place(), task = call('Agent', {description: 'think', prompt: 'think it', subagent_type: 'general-purpose', run_in_background: true});
    return talk(at, bypass, [[task], b => [say('x')], b => [say('y')], b => [say('z')]], async ({ask, until}) => {
      await ask('hi');
      const ended = await until(m => m.subtype === 'task_notification'), started = await until(m => m.subtype === 'task_started');
      return {started: started && {background: started.is_backgrounded, type: started.task_type, subagent: started.subagent_type}, ended: ended && {status: ended.status, usage: !!ended.usage}};
    });
  },
  hookNames: async () => {
    const at = place(), seen = [];
    const hook = name => ({matcher: name, hooks: [async input => (seen.push(`${name}:${input.tool_name}`), {})]});
    const r = await run(at, {...bypass, hooks: {PreToolUse: [hook('Task'), hook('Agent')], PostToolUse: [hook('Agent')]}}, {script: [[call('Agent', {description: 'do', prompt: 'do it', subagent_type: 'general-purpose', run_in_background: false})], [say('Done.')]]});
    return {seen: seen.sort().join(' '), tools: r.init.tools.filter(t => t === 'Task' || t === 'Agent').join()};
  },
  blockedPrompt: async () => {
    const hooks = {UserPromptSubmit: [{hooks: [async () => ({decision: 'block', reason: 'not on a Friday'})]}]};
    const r = await run(place(), {hooks});
    return {subtype: r.result?.subtype, error: r.result?.is_error, reason: JSON.stringify(r.result ?? {}).includes('not on a Friday'), inResult: !!r.result?.result?.includes('not on a Friday'), requests: r.requests.filter(q => q.body.tools?.length).length, turns: r.result?.num_turns};
  },
  stoppedPrompt: async () => {
    const hooks = {UserPromptSubmit: [{hooks: [async () => ({continue: false, stopReason: 'enough for today'})]}]};
    const r = await run(place(), {hooks});
    return {subtype: r.result?.subtype, error: r.result?.is_error, inResult: !!r.result?.result?.includes('enough for today'), requests: r.requests.filter(q => q.body.tools?.length).length};
  },
  clear: () => talk(place(), {}, [], async ({ask}) => {
    const a = await ask('first words'), b = await ask('/clear'), c = await ask('next words');
    const reset = b.messages.find(m => m.type === 'conversation_reset'), sent = requests.filter(r => r.body.tools?.length).at(-1)?.raw ?? '';
    return {reset: kinds(reset, ['new_conversation_id', 'uuid', 'session_id']), trigger: reset?.trigger, subtype: b.result?.subtype, error: b.result?.is_error, text: b.result?.result, forgets: !sent.includes('first words'),
      id: reset?.new_conversation_id === c.result?.session_id, old: reset?.session_id === a.result?.session_id};
  }),
  compact: () => talk(place(), {}, [], async ({ask}) => {
    const a = await ask('/compact');
    return {subtype: a.result?.subtype, error: a.result?.is_error, boundary: !!find(a.messages, 'compact_boundary')};
  }),
  init: async () => {
    const {init} = await run(place(), {});
    return {kinds: kinds(init, ['cwd', 'session_id', 'tools', 'mcp_servers', 'model', 'permissionMode', 'slash_commands', 'apiKeySource', 'claude_code_version', 'output_style', 'agents', 'skills', 'plugins', 'uuid']), source: init.apiKeySource, style: init.output_style, model: init.model};
  },
  result: async () => {
    const {result} = await run(place(), {});
    return {kinds: kinds(result, ['subtype', 'is_error', 'duration_ms', 'duration_api_ms', 'num_turns', 'result', 'stop_reason', 'session_id', 'total_cost_usd', 'usage', 'modelUsage', 'permission_denials', 'uuid', 'terminal_reason']), stop: result.stop_reason, reason: result.terminal_reason};
  },
  sessionStore: async () => {
    const at = place(), stored = new Map();
    const id = k => JSON.stringify(k);
    const store = {append: async (k, entries) => void stored.set(id(k), [...(stored.get(id(k)) ?? []), ...entries]), load: async k => stored.get(id(k)) ?? null};
    const r = await run(at, {sessionStore: store}, {prompt: 'first words'});
    const all = [...stored.values()].flat(), key = [...stored.keys()][0] ? JSON.parse([...stored.keys()][0]) : {};
    const again = place();
    const next = r.result && await run(again, {sessionStore: store, resume: r.result.session_id, cwd: at.cwd}, {prompt: 'second words'});
    const sent = next?.requests.filter(q => q.body.tools?.length).at(-1)?.raw ?? '';
    return {error: !!r.error, key: keys(key), session: key.sessionId === r.result?.session_id, user: all.some(e => e.type === 'user'), assistant: all.some(e => e.type === 'assistant'), resumed: sent.includes('first words'), subtype: next?.result?.subtype};
  },
  sessions: async () => {
    const at = place(), uuid = '0190aaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
    let id;
    await talk(at, bypass, [[call('Write', {file_path: join(at.cwd, 'a.txt'), content: 'x'})], [say('One.')], [say('Two.')]], async ({ask}) => {
      id = (await ask('first words', {uuid})).result.session_id;
      await ask('second words');
    });
    const dir = at.cwd, list = async () => (await sdk.listSessions({dir})).map(s => s.sessionId === id ? 'it' : 'other').join();
    const info = await sdk.getSessionInfo(id, {dir}), messages = await sdk.getSessionMessages(id, {dir});
    const out = {
      list: await list(), info: kinds(info, ['sessionId', 'summary', 'lastModified', 'fileSize', 'firstPrompt', 'cwd', 'createdAt', 'customTitle', 'tag']), first: info?.firstPrompt, cwd: info?.cwd === dir,
      messages: messages.map(m => m.type + ' ' + (typeof m.message.content === 'string' ? m.message.content : m.message.content.map(b => b.type + (b.text ? ':' + b.text : '') + (b.name ? ':' + b.name : '')).join('+'))),
      own: messages[0]?.uuid === uuid, keys: messages[0] && keys(messages[0]),
    };
    out.renamed = !(await rejected(() => sdk.renameSession(id, 'A title', {dir})));
    out.tagged = !(await rejected(() => sdk.tagSession(id, 'red', {dir})));
    const named = await sdk.getSessionInfo(id, {dir});
    out.title = named?.customTitle, out.summary = named?.summary, out.tag = named?.tag;
    const fork = await failure(() => sdk.forkSession(id, {dir}));
    out.forked = fork.sessionId ? (await sdk.getSessionMessages(fork.sessionId, {dir})).length === messages.length : false;
    const resumed = await run(at, {resume: id}, {prompt: 'third words'});
    const sent = resumed.requests.filter(r => r.body.tools?.length).at(-1)?.raw ?? '';
    out.resumed = sent.includes('first words') && sent.includes('second words');
    out.grown = (await sdk.getSessionMessages(id, {dir})).length - messages.length;
    const kept = await sdk.getSessionInfo(id, {dir});
    out.keptTitle = kept?.customTitle, out.keptTag = kept?.tag;
    const ofFork = fork.sessionId && await run(at, {resume: fork.sessionId}, {prompt: 'words of the fork'});
    out.forkResumed = !!ofFork && !ofFork.error && ofFork.requests.some(r => r.raw.includes('second words') && r.raw.includes('words of the fork'));
    out.deleted = !(await rejected(() => sdk.deleteSession(id, {dir})));
    out.after = (await sdk.getSessionInfo(id, {dir})) === undefined;
    const gone = await run(at, {resume: id}, {prompt: 'last words'});
    out.gone = !!gone.error || gone.result?.is_error === true;
    return out;
  },
  subagentTranscript: async () => {
    const at = place(), task = call('Agent', {description: 'think', prompt: 'think it', subagent_type: 'general-purpose', run_in_background: false});
    const r = await run(at, bypass, {script: [[task], [say('Thought.')], [say('Done.')]]});
    const id = r.result.session_id, agents = await sdk.listSubagents(id, {dir: at.cwd});
    const messages = agents[0] ? await sdk.getSubagentMessages(id, agents[0], {dir: at.cwd}) : [];
    return {agents: agents.length, messages: messages.map(m => m.type).join(' ')};
  },
};

for (const [name, check] of Object.entries(cases)) {
  if (only.length && !only.includes(name)) continue;
  let facts;
  try {
    facts = await check();
  } catch (e) {
    facts = {failed: e.message};
  }
  console.log(JSON.stringify({case: name, facts}));
}
server.closeAllConnections();
server.close();
process.exit(0);
