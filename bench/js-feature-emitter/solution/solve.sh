#!/bin/bash
set -e
cd /app
cat > task.mjs <<'END'
export class Emitter {
  #all = new Map();
  on(name, f) {
    const entry = { f };
    return this.#add(name, entry);
  }
  once(name, f) {
    return this.#add(name, { f, once: true });
  }
  #add(name, entry) {
    this.#all.set(name, [...(this.#all.get(name) ?? []), entry]);
    return () => this.#keep(name, (e) => e !== entry);
  }
  #keep(name, f) { this.#all.set(name, (this.#all.get(name) ?? []).filter(f)); }
  off(name, f) { this.#keep(name, (e) => e.f !== f); }
  emit(name, ...args) {
    const errors = [];
    for (const e of this.#all.get(name) ?? []) {
      if (e.once) this.#keep(name, (x) => x !== e);
      try { e.f(...args); } catch (err) { errors.push(err); }
    }
    if (errors.length) throw errors[0];
  }
}
END
