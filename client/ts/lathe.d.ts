// A client of lathe serve, for browsers and Node. Generated from openapi.json: do not edit.

export interface Options {
  /** The same key again gets the same answer, also after the server was killed. */
  key?: string;
  signal?: AbortSignal;
}

export declare class Problem extends Error {
  type: string;
  title: string;
  status: number;
  detail?: string;
  next: string;
}

interface Common {
  time: string;
  session: string;
  seq?: number;
  cursor?: string;
  agent?: string[];
  /** Where the stream goes on after this event. */
  id: string;
}

/** An event by its kind. Ignore kinds that you do not know. */
export type StreamEvent = { [K in keyof Bodies]: Common & { kind: K; body: Bodies[K] } }[keyof Bodies];

export declare class Lathe {
  constructor(base?: string, options?: { token?: string; fetch?: typeof fetch });
  fetch(
    method: string,
    path: string,
    options?: Options & { query?: object; body?: unknown; headers?: Record<string, string> },
  ): Promise<Response>;
  events(query?: EventsQuery, options?: { after?: string; signal?: AbortSignal }): AsyncGenerator<StreamEvent, void>;
  /** List the devices. */
  listDevices(options?: Options): Promise<DeviceList>;
  /** Make a device, and show its token once. */
  addDevice(body: NewDevice, options?: Options): Promise<Paired>;
  /** Revoke a device; its streams end. */
  revokeDevice(id: string, options?: Options): Promise<Device>;
  /** Revoke the own token. */
  logout(options?: Options): Promise<undefined>;
  /** Say who sends the request, and what it may do. */
  me(options?: Options): Promise<Me>;
  /** List the models that can be chosen. */
  listModels(query?: {
      /** the folder whose settings count */ dir?: string;
    }, options?: Options): Promise<Models>;
  /** List the permission modes. */
  listModes(options?: Options): Promise<Modes>;
  /** Take a pairing code: the only operation without a token. */
  pair(body: Pair, options?: Options): Promise<Paired>;
  /** Make a code that works once, within five minutes. */
  beginPairing(body: NewPairing, options?: Options): Promise<Pairing>;
  /** List the folders of sessions. */
  listProjects(options?: Options): Promise<Projects>;
  /** Search the messages of sessions. */
  searchSessions(query?: {
      /** what to look for; case does not matter */ text?: string;
      /** only in this one */ session?: string;
      /** only in sessions of this folder */ dir?: string;
      /** 50 */ limit?: number;
    }, options?: Options): Promise<FoundPage>;
  /** List sessions, the newest first. */
  listSessions(query?: {
      /** only those of this folder */ dir?: string;
      /** only those with these words in title, first prompt, folder or id */ text?: string;
      /** only those in one of these states */ state?: string[];
      /** next of the page before */ cursor?: string;
      /** of a page; 50 */ limit?: number;
    }, options?: Options): Promise<SessionPage>;
  /** Begin a session. */
  createSession(body: NewSession, options?: Options): Promise<Session>;
  /** Delete a session for good. */
  deleteSession(id: string, options?: Options): Promise<undefined>;
  /** Show a session. */
  getSession(id: string, options?: Options): Promise<Session>;
  /** Give a session another title. */
  renameSession(id: string, body: Renaming, options?: Options): Promise<Session>;
  /** Show the kinds of agents, as /agents does. */
  getAgents(id: string, options?: Options): Promise<Output>;
  /** Answer a question; the first valid answer counts. */
  answer(id: string, body: NewAnswer, options?: Options): Promise<undefined>;
  /** Take a session off the lists, for 30 days. */
  archiveSession(id: string, options?: Options): Promise<undefined>;
  /** Run a slash command, if the device may. */
  runCommand(id: string, body: NewCommand, options?: Options): Promise<Output>;
  /** Complete what is typed. */
  complete(id: string, query?: {
      /** command, argument, file, attach or history */ kind?: string;
      /** typed so far, without @ or / */ text?: string;
      /** for an argument: the command */ name?: string;
      /** 20 */ limit?: number;
    }, options?: Options): Promise<Candidates>;
  /** Show the context window, as /context does. */
  getContext(id: string, options?: Options): Promise<Output>;
  /** Show what a session or one of its turns changed. */
  getDiff(id: string, query?: {
      /** the id of a prompt: what its turn changed; without, what the session changed */ turn?: string;
      /** theirs: what others changed between the steps */ of?: string;
    }, options?: Options): Promise<Diffs>;
  /** Send a session as a file. */
  exportSession(id: string, query?: {
      /** md, html or jsonl */ format?: string;
    }, options?: Options): Promise<Response>;
  /** Read a text file. */
  readFile(id: string, query?: {
      /** below the session's folder; empty: the folder */ path?: string;
    }, options?: Options): Promise<FileText>;
  /** List a folder. */
  listFiles(id: string, query?: {
      /** below the session's folder; empty: the folder */ path?: string;
    }, options?: Options): Promise<Files>;
  /** Copy a conversation up to an entry. */
  forkSession(id: string, body: Forking, options?: Options): Promise<Session>;
  /** Read a conversation by pages, from its end. */
  readHistory(id: string, query?: {
      /** more of the page before, or of the opened event */ before?: string;
      /** events of a page; 50 */ limit?: number;
    }, options?: Options): Promise<Opened>;
  /** Show the hooks, as /hooks does. */
  getHooks(id: string, options?: Options): Promise<Output>;
  /** End the running turn. */
  interrupt(id: string, body: Interruption, options?: Options): Promise<undefined>;
  /** Show the MCP servers, as /mcp does. */
  getMCP(id: string, options?: Options): Promise<Output>;
  /** Send a message to the model. */
  sendPrompt(id: string, body: NewPrompt, options?: Options): Promise<Receipt>;
  /** List the open questions. */
  openQuestions(id: string, options?: Options): Promise<Questions>;
  /** List the messages that wait. */
  readQueue(id: string, options?: Options): Promise<Queue>;
  /** Change the messages that wait. */
  changeQueue(id: string, body: QueueEdit, options?: Options): Promise<Queue>;
  /** Read a file as it is. */
  rawFile(id: string, query?: {
      /** below the session's folder; empty: the folder */ path?: string;
    }, options?: Options): Promise<Response>;
  /** Bring back what undo took back. */
  redo(id: string, body: Undoing, options?: Options): Promise<Output>;
  /** Bring an archived session back. */
  restoreSession(id: string, options?: Options): Promise<Session>;
  /** Search names or content of files. */
  searchFiles(id: string, query?: {
      /** letters of a path, or with in=content a text */ text?: string;
      /** name, or content; name */ in?: string;
      /** 50 */ limit?: number;
    }, options?: Options): Promise<FileMatches>;
  /** Read the settings of its folder. */
  getSessionSettings(id: string, options?: Options): Promise<Settings>;
  /** Say what a session does; wakes it. */
  getStatus(id: string, options?: Options): Promise<Now>;
  /** End the process of a session; a prompt wakes it. */
  stopSession(id: string, options?: Options): Promise<Session>;
  /** Take changes of files back. */
  undo(id: string, body: Undoing, options?: Options): Promise<Output>;
  /** Say what a session used. */
  getUsage(id: string, options?: Options): Promise<Used>;
  /** Read settings with their origins. */
  readSettings(query?: {
      /** the folder; without, only the user's own settings count */ dir?: string;
    }, options?: Options): Promise<Settings>;
  /** Change a setting that did not change since it was read. */
  writeSettings(body: SettingsWrite, query?: {
      /** the folder; without, only the user's own settings count */ dir?: string;
    }, options?: Options): Promise<Settings>;
}

export interface Bodies {
  hello: Hello;
  "session.changed": Session;
  "session.removed": undefined;
  resync: undefined;
  heartbeat: undefined;
  "answered": Event_answered;
  "api.request": Event_api_request;
  "api.response": Event_api_response;
  "api.retry": Event_api_retry;
  "api.side": Event_api_side;
  "asked": Event_asked;
  "background": Event_background;
  "beside.request": Event_beside_request;
  "beside.response": Event_beside_response;
  "branch.changed": Event_branch_changed;
  "compacted": Event_compacted;
  "compacting": Event_compacting;
  "deferred": Event_deferred;
  "delta": Event_delta;
  "eval_complete": Event_eval_complete;
  "eval_judge_verdict": Event_eval_judge_verdict;
  "eval_start": Event_eval_start;
  "file.changed": Event_file_changed;
  "goal": Event_goal;
  "hook.run": Event_hook_run;
  "hook.start": Event_hook_start;
  "message.returned": Event_message_returned;
  "message.user": Event_message_user;
  "mode.changed": Event_mode_changed;
  "model.fallback": Event_model_fallback;
  "notice": Event_notice;
  "opened": Event_opened;
  "part.done": Event_part_done;
  "part.ready": Event_part_ready;
  "server.changed": Event_server_changed;
  "session.archived": Event_session_archived;
  "session.created": Event_session_created;
  "session.deleted": Event_session_deleted;
  "session.renamed": Event_session_renamed;
  "state": Event_state;
  "status": Event_status;
  "step.end": Event_step_end;
  "step.start": Event_step_start;
  "terminal": Event_terminal;
  "tool.denied": Event_tool_denied;
  "tool.end": Event_tool_end;
  "tool.output": Event_tool_output;
  "tool.start": Event_tool_start;
  "turn.end": Event_turn_end;
  "turn.start": Event_turn_start;
}

export interface Access {
  asks?: boolean;
  below?: boolean;
  command?: Command;
  kind: string;
  links?: number;
  named?: string;
  node?: string;
  redirect?: boolean;
  safe?: boolean;
  target: string;
}

export interface Answer {
  canceled?: boolean;
  choice?: string;
  choices?: string[];
  from?: string;
  /** any JSON */ input?: unknown;
  interrupt?: boolean;
  parts?: Answer[];
  rules?: string[];
  text?: string;
}

export interface BackgroundTask {
  agent?: string;
  call_id?: string;
  command: string;
  exit_code?: number;
  id: string;
  output?: string;
  status: string;
}

export interface Body {
  /** any JSON */ body: unknown;
  kind: string;
}

export interface CacheCost {
  cold_usd: number;
  expires: string;
  lifetime_ns: number;
  warm_usd: number;
}

export interface Candidate {
  group?: string;
  help?: string;
  hint?: string;
  keys?: string;
  label?: string;
  marks?: number[];
  text: string;
}

export interface Candidates {
  candidates: Candidate[];
}

export interface ChangedFile {
  added: number;
  path: string;
  removed: number;
}

export interface Command {
  class: string;
  exact: boolean;
  findings?: Finding[];
  held?: boolean;
  kept?: boolean;
  outside?: boolean;
  parts: PermissionPart[];
  unseen?: string;
  unseen_files?: string;
  unseen_hosts?: string;
}

export interface Decision {
  by?: string;
  confirm?: boolean;
  effect: string;
  guidance?: string;
  /** any JSON */ input?: unknown;
  interrupt?: boolean;
  layer?: string;
  reach?: string;
  reason: string;
  rule?: string;
  source?: string;
}

export interface Delta {
  type: string;
  [field: string]: unknown;
}

export interface Device {
  /** which questions it may answer: all (empty), author or none */ answers?: string;
  expires?: string;
  /** the address that it was last seen at */ from?: string;
  id: string;
  made: string;
  /** the principal: sessions see it beside prompts and answers */ name: string;
  scopes: string[];
  seen?: string;
}

export interface DeviceList {
  devices: Device[];
}

export interface Diffs {
  files: FileDiff[];
}

export interface Edit {
  path: string;
  then?: string;
}

export interface Elicitation {
  id?: string;
  mode: string;
  server: string;
  url?: string;
}

export interface EvalCheck {
  command: string;
  failed: boolean;
  not_run?: string;
  output?: string;
}

export interface Event {
  agent?: string[];
  /** any JSON */ body: unknown;
  cursor?: string;
  kind: string;
  seq: number;
  session: string;
  time: string;
}

export interface Event_answered {
  answer: Answer;
  id: string;
}

export interface Event_api_request {
  attempt: number;
  url: string;
}

export interface Event_api_response {
  message: Message;
}

export interface Event_api_retry {
  attempt: number;
  delay_ns: number;
  error: string;
  max: number;
  status?: number;
}

export interface Event_api_side {
  cost_usd: number;
  model: string;
  purpose: string;
  usage: Usage;
}

export interface Event_asked {
  id: string;
  of?: string;
  question: Question;
}

export interface Event_background {
  running: BackgroundTask[];
  task: BackgroundTask;
}

export interface Event_beside_request {
  attempt: number;
  call: string;
  purpose: string;
  url: string;
}

export interface Event_beside_response {
  call: string;
  message: Message;
  purpose: string;
}

export interface Event_branch_changed {
  branch?: string;
  head?: string;
}

export interface Event_compacted {
  after: number;
  before: number;
  error?: string;
  failed?: string;
  level: number;
  summary?: string;
  trigger: string;
}

export interface Event_compacting {
  trigger: string;
}

export interface Event_deferred {
  call: ToolCall;
}

export interface Event_delta {
  delta: Delta;
  message_id: string;
  shown?: string;
}

export interface Event_eval_complete {
  check?: EvalCheck;
  last?: boolean;
  passed: boolean;
  refinementPrompt?: string;
  round: number;
  unverified?: string;
  verdicts?: Verdict[];
}

export interface Event_eval_judge_verdict {
  round: number;
  verdict: Verdict;
}

export interface Event_eval_start {
  command?: string;
  judge_count: number;
  round: number;
}

export interface Event_file_changed {
  op: string;
  path: string;
}

export type Event_goal = Goal;

export interface Event_hook_run {
  duration_ns: number;
  err?: string;
  event: string;
  exit?: number;
  hook: string;
  id: string;
  stderr?: string;
  stdout?: string;
}

export interface Event_hook_start {
  event: string;
  hook: string;
  id: string;
  status?: string;
}

export interface Event_message_returned {
  message: Message;
}

export interface Event_message_user {
  attached?: string[];
  message: Message;
  steered?: boolean;
  synthetic?: boolean;
  told?: string[];
}

export interface Event_mode_changed {
  mode: string;
}

export interface Event_model_fallback {
  from: string;
  reason: string;
  to: string;
}

export interface Event_notice {
  level: string;
  text: string;
}

export interface Event_opened {
  dir: string;
  history?: Body[];
  more?: string;
  path?: string;
  session: string;
  title?: string;
}

export interface Event_part_done {
  index: number;
  message_id: string;
  model: string;
  part: Part;
  shown?: string;
  usage: Usage;
}

export interface Event_part_ready {
  index: number;
  message_id: string;
  model: string;
  part: Part;
  shown?: string;
  usage: Usage;
}

export interface Event_server_changed {
  server: LanguageServer;
}

export interface Event_session_archived {
  back?: boolean;
  id: string;
}

export interface Event_session_created {
  dir: string;
  id: string;
  of?: string;
}

export interface Event_session_deleted {
  id: string;
}

export interface Event_session_renamed {
  id: string;
  title: string;
}

export interface Event_state {
  doing: string;
  for?: string;
  turn?: string;
}

export interface Event_status {
  background?: number;
  branch?: string;
  cache?: CacheCost;
  cache_hit: number;
  changed?: ChangedFile[];
  context_used: number;
  context_window: number;
  cost_usd: number;
  dir: string;
  effort?: string;
  goal?: Goal;
  line?: string;
  mode: string;
  model: string;
  sandbox?: string;
  servers?: LanguageServer[];
  session: string;
  title?: string;
  todos?: TodoItem[];
  usage: Usage;
  waiting?: Waiting[];
}

export interface Event_step_end {
  api_time_ns: number;
  cost_usd: number;
  step: number;
  stop: string;
  usage: Usage;
}

export interface Event_step_start {
  model: string;
  step: number;
}

export interface Event_terminal {
  sequence: string;
}

export interface Event_tool_denied {
  call: ToolCall;
  decision: Decision;
}

export interface Event_tool_end {
  call: ToolCall;
  denied?: boolean;
  duration_ns: number;
  meta?: Record<string, unknown>;
  parent?: string;
  result: ToolResult;
  title: string;
  view?: View;
}

export interface Event_tool_output {
  call_id: string;
  text: string;
}

export interface Event_tool_start {
  call: ToolCall;
  parent?: string;
  preview?: View;
  title: string;
}

export interface Event_turn_end {
  api_time_ns: number;
  cost_usd: number;
  duration_ns: number;
  error?: string;
  reason: string;
  steps: number;
  usage: Usage;
}

export interface Event_turn_start {
  prompt: Message;
}

export interface File {
  changed?: string;
  dir?: boolean;
  link?: boolean;
  /** below the session's folder, with slashes */ path: string;
  size?: number;
}

export interface FileDiff {
  added: number;
  path: string;
  removed: number;
  /** a unified diff, or a line on what cannot be shown as one */ unified: string;
}

export interface FileMatch {
  dir?: boolean;
  /** from 1 */ line?: number;
  path: string;
  /** of the line */ text?: string;
}

export interface FileMatches {
  matches: FileMatch[];
  more?: boolean;
}

export interface FileText {
  /** it is no text: read it raw */ binary?: boolean;
  path: string;
  size: number;
  text: string;
  truncated?: boolean;
}

export interface Files {
  entries: File[];
  /** there are more than are listed */ more?: boolean;
  path: string;
}

export interface Finding {
  check: string;
  effect: string;
  text: string;
}

export interface Forking {
  /** the entry that it ends with: of a cursor, what follows the colon; empty: the end */ at?: string;
  /** a UUID that the client chose: the same again is the same copy */ id?: string;
}

export interface Found {
  /** of the message; before of a page of the history that ends with it */ cursor: string;
  dir: string;
  excerpt: string;
  /** user or assistant */ role: string;
  session: string;
  time: string;
  title?: string;
}

export interface FoundPage {
  found: Found[];
  /** there may be more */ more?: boolean;
}

export interface Goal {
  bounds?: GoalBounds;
  by_agent?: boolean;
  check?: string;
  condition: string;
  last_check?: EvalCheck;
  reason?: string;
  rounds: number;
  since: string;
  state: string;
  tokens: number;
  usd: number;
}

export interface GoalBounds {
  rounds?: number;
  time?: number;
  tokens?: number;
  usd?: number;
}

export interface Hello {
  /** seconds between heartbeats: a stream that is silent for twice as long is dead */ heartbeat: number;
  lathe: string;
}

export interface Image {
  /** base64 */ data: string;
  /** image/png, image/jpeg, image/gif or image/webp */ mime: string;
  name?: string;
}

export interface Interruption {
  /** empty: whichever runs */ turn?: string;
}

export interface LanguageServer {
  errors?: number;
  memory?: number;
  name: string;
  state: string;
  warnings?: number;
}

export interface LongPrice {
  above: number;
  cache_read?: number;
  cache_write?: number;
  input: number;
  output: number;
}

export interface Me {
  device: Device;
  /** the version of the server */ lathe: string;
  /** the user at the Unix socket */ local?: boolean;
  remote?: boolean;
  scopes: string[];
}

export interface Message {
  id?: string;
  model?: string;
  parts: {
    type: string;
    [field: string]: unknown;
  }[];
  role: string;
  stop?: string;
  /** any JSON */ usage?: unknown;
}

export interface ModeScope {
  name: string;
  scope: string;
}

export interface Model {
  /** tokens */ contextWindow?: number;
  id: string;
  images: boolean;
  maxOutputTokens?: number;
  name?: string;
  /** US dollars per million tokens */ price?: Price;
  thinking?: string;
}

export interface Models {
  models: Model[];
}

export interface Modes {
  modes: ModeScope[];
}

export interface NewAnswer {
  answer: Answer;
  /** the id of the asked event */ question: string;
  /** of the asked event, where it is another one */ session?: string;
}

export interface NewCommand {
  args?: string;
  /** without the slash; ! runs a command line of the user's own */ name: string;
}

export interface NewDevice {
  answers?: string;
  days?: number;
  name: string;
  scopes: string[];
}

export interface NewPairing {
  /** which questions it may answer: all (empty), author or none */ answers?: string;
  /** how long its token lives; 0: until it is revoked */ days?: number;
  /** read, prompt and approve if there are none */ scopes?: string[];
}

export interface NewPrompt {
  /** chosen by the client, unique in the session: the same again is the same prompt */ id?: string;
  images?: Image[];
  /** @path attaches a file of the session */ text: string;
  /** the turn that it is for; refused when that is over */ turn?: string;
  /** while a turn runs: step (or empty) before its next step, after as a turn of its own, now at once */ when?: string;
}

export interface NewSession {
  /** the folder that it works in */ dir: string;
  effort?: string;
  /** a UUID that the client chose: the same again is the same session */ id?: string;
  /** the permission mode */ mode?: string;
  model?: string;
  name?: string;
  /** the first one */ prompt?: string;
  /** work in a git worktree of its own */ worktree?: boolean;
}

export interface Now {
  state?: State;
  status?: Status;
}

export interface Opaque {
  /** any JSON */ json: unknown;
  provider: string;
}

export interface Opened {
  dir: string;
  history?: Body[];
  more?: string;
  path?: string;
  session: string;
  title?: string;
}

export interface Option {
  help?: string;
  id: string;
  label: string;
  preview?: string;
}

export interface Output {
  copy?: string;
  edit?: Edit;
  insert?: string;
  open?: string;
  page?: Page;
  pick?: Pick;
  prompt?: Message;
  quit?: boolean;
  stay?: boolean;
  text?: string;
  theme?: string;
  view?: View;
}

export interface Page {
  back?: string;
  live?: string;
  tell?: string;
  text: string;
  title: string;
}

export interface Pair {
  code: string;
  /** a browser: the token is set as a cookie that scripts cannot read */ cookie?: boolean;
  /** of the device, for people */ name: string;
}

export interface Paired {
  device: Device;
  /** for Authorization: Bearer; it is shown once */ token?: string;
}

export interface Pairing {
  code: string;
  expires: string;
  scopes: string[];
  /** pages of this server that take the code, which is in the fragment */ urls?: string[];
}

export interface Part {
  type: string;
  [field: string]: unknown;
}

export interface PermissionPart {
  asks?: boolean;
  beyond?: boolean;
  changes?: boolean;
  class: string;
  covered?: boolean;
  exact: boolean;
  literal?: boolean;
  path?: string;
  program?: string;
  raw: string;
  reason?: string;
  text: string;
  whole?: boolean;
  within?: string;
}

export interface Pick {
  actions?: PickAction[];
  command: string;
  empty?: string;
  items: PickItem[];
  live?: string;
  search?: string;
  title: string;
}

export interface PickAction {
  ask?: string;
  command: string;
  key: string;
  label: string;
  refresh?: string;
  undo?: string;
}

export interface PickItem {
  current?: boolean;
  depth?: number;
  detail?: string;
  id: string;
  label: string;
  preview?: string;
  starts?: boolean;
  time?: string;
}

export interface Place {
  Dir: string;
  Others: string[];
  Project: string;
  Shared: string;
  Work: string;
}

export interface Price {
  cache_read?: number;
  cache_write?: number;
  input: number;
  long?: LongPrice;
  output: number;
}

export interface Project {
  /** sessions that wait for you */ blocked: number;
  changed: string;
  dir: string;
  /** sessions with a process */ live: number;
  sessions: number;
}

export interface Projects {
  projects: Project[];
}

export interface Question {
  agent?: string[];
  call?: ToolCall;
  consult?: boolean;
  elicitation?: Elicitation;
  free?: boolean;
  multi?: boolean;
  options?: Option[];
  outside?: string;
  own?: string;
  parts?: Question[];
  permission?: Request;
  preview?: View;
  reason?: string;
  reason_type?: string;
  /** any JSON */ schema?: unknown;
  text?: string;
  title: string;
  trust?: boolean;
  undo?: string;
}

export interface Questions {
  questions: Event[];
  state?: State;
}

export interface Queue {
  dropped?: Message;
  waiting: Waiting[];
}

export interface QueueEdit {
  /** edit, drop, move or send */ do: string;
  /** for edit */ images?: Image[];
  /** its id; empty: the newest */ prompt?: string;
  /** for edit */ text?: string;
  /** for move: its place, from 0 */ to?: number;
}

export interface Receipt {
  id: string;
  state: string;
}

export interface Renaming {
  title: string;
}

export interface Request {
  accesses: Access[];
  agent?: string[];
  call_id: string;
  dir: string;
  /** any JSON */ input?: unknown;
  mode: string;
  tool: string;
}

export interface Session {
  activity?: string;
  changed: string;
  costUSD?: number;
  created?: string;
  damaged?: boolean;
  dir: string;
  firstPrompt?: string;
  id: string;
  /** by which lathe ps lists its process */ job?: string;
  /** it has a process */ live: boolean;
  mode?: string;
  model?: string;
  /** the session that it was forked from */ parent?: string;
  /** asleep, working, blocked, done, failed or stopped */ state: string;
  title?: string;
  turns?: number;
  /** what a blocked one waits for: permission, answer, login */ waitingFor?: string;
}

export interface SessionPage {
  /** the cursor of the next page */ next?: string;
  sessions: Session[];
}

export interface Setting {
  key: string;
  /** default, organization, user, project, local, environment, flag or managed */ layer: string;
  /** the file with its line, the variable or the flag */ origin: string;
  /** the value is masked */ secret?: boolean;
  /** any JSON */ value: unknown;
}

export interface Settings {
  values: Setting[];
  /** changes with every change */ version: string;
}

export interface SettingsWrite {
  /** dotted; with + at its end a list gets one value more */ key: string;
  /** the file: user (or empty), project or local */ scope?: string;
  /** none: the key is removed */ value?: unknown;
  /** as it was read: the write is refused if the settings changed since */ version: string;
}

export interface State {
  doing: string;
  for?: string;
  turn?: string;
}

export interface Status {
  background?: number;
  branch?: string;
  cache?: CacheCost;
  cache_hit: number;
  changed?: ChangedFile[];
  context_used: number;
  context_window: number;
  cost_usd: number;
  dir: string;
  effort?: string;
  goal?: Goal;
  line?: string;
  mode: string;
  model: string;
  sandbox?: string;
  servers?: LanguageServer[];
  session: string;
  title?: string;
  todos?: TodoItem[];
  usage: Usage;
  waiting?: Waiting[];
}

export interface TodoItem {
  activeForm?: string;
  content: string;
  status: string;
}

export interface ToolCall {
  id: string;
  /** any JSON */ input: unknown;
  name: string;
  opaque?: Opaque;
  raw?: string;
}

export interface ToolResult {
  type: string;
  [field: string]: unknown;
}

export interface Undoing {
  /** steps; 1 */ count?: number;
  /** for files that others changed since: show, keep, take or merge */ do?: string;
}

export interface Usage {
  cache_read?: number;
  cache_write?: number;
  cache_write_1h?: number;
  cost_usd?: number;
  estimated?: boolean;
  input: number;
  output: number;
  reasoning?: number;
}

export interface Used {
  /** of its subagents */ agentsUSD: number;
  costUSD: number;
  turns: number;
  /** tokens, as of the last turn that ended */ usage: Usage;
}

export interface Verdict {
  absent?: string;
  isComplete: boolean;
  judgeName: string;
  reasoning: string;
  refinementSuggestions?: string[];
  weight?: number;
}

export interface View {
  shape: string;
  [field: string]: unknown;
}

export interface Waiting {
  after?: boolean;
  id: string;
  text: string;
}

export interface EventsQuery {
  /** follow these sessions as long as they have a process; without: all that work */ session?: string[];
  /** events in opened, with which a session begins; 50 */ history?: number;
  /** leave out pieces of text and output: their whole follows */ nodeltas?: boolean;
  /** leave out session.changed and session.removed */ nolist?: boolean;
  /** only events of these kinds */ kind?: string[];
  /** as Last-Event-ID, where a header cannot be sent */ after?: string;
}
