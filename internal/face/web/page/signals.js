// Signals: values that tell who reads them when they change.

let reading = null; // the effect that runs
const waiting = new Set();

// signal returns a function that reads the value, with a set that changes it.
export function signal(value) {
  const readers = new Set();
  const read = () => {
    if (reading) {
      readers.add(reading);
      reading.sources.add(readers);
    }
    return value;
  };
  read.peek = () => value;
  read.set = (next) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const r of [...readers]) schedule(r);
  };
  read.update = (f) => read.set(f(value));
  return read;
}

function schedule(r) {
  if (!waiting.size) queueMicrotask(flush);
  waiting.add(r);
}

function flush() {
  for (const r of waiting) {
    waiting.delete(r);
    r.run();
  }
}

// effect runs f now, and again after what it read has changed. It returns a function that ends it.
export function effect(f) {
  const me = {
    sources: new Set(),
    run() {
      me.end();
      const before = reading;
      reading = me;
      try {
        f();
      } finally {
        reading = before;
      }
    },
    end() {
      for (const s of me.sources) s.delete(me);
      me.sources.clear();
      waiting.delete(me);
    },
  };
  me.run();
  return me.end;
}
