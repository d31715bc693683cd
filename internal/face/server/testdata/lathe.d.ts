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
/* operations */}

export interface Bodies {
  hello: Hello;
  "session.changed": Session;
  "session.removed": undefined;
  resync: undefined;
  heartbeat: undefined;
/* bodies */}

/* types */
