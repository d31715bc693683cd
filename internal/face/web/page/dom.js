// What every part of the page uses to make elements.

// The one way from a string to HTML: only strings that the server's renderer made go through it.
const policy = self.trustedTypes?.createPolicy("lathe", {
  createHTML: (s) => s,
  createScriptURL: (s) => {
    if (s !== "/sw.js") throw new TypeError("no script of this page");
    return s;
  },
}) ?? { createHTML: (s) => s, createScriptURL: (s) => s };

// rendered marks what came from the renderer. Only server.js and transcript.js call it.
export const rendered = (html) => policy.createHTML(html);
export const worker = () => policy.createScriptURL("/sw.js");

// h makes an element. Text is text: nothing here reads HTML.
export function h(name, attributes = {}, ...children) {
  const el = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key === "html") el.innerHTML = rendered(value);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "hidden") el[key] = value;
    else el.setAttribute(key, value === true ? "" : value);
  }
  el.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return el;
}

export const $ = (selector, within = document) => within.querySelector(selector);

// icon draws a path of a 20 by 20 grid.
export function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const p = document.createElementNS("http://www.w3.org/2000/svg", "path");
  p.setAttribute("d", path);
  svg.append(p);
  return svg;
}

export const icons = {
  plus: "M10 4v12M4 10h12", up: "M10 16V4.5M5 9l5-5 5 5", stop: "M6 6h8v8H6z", close: "M5 5l10 10M15 5 5 15",
  clip: "m15 9-5.5 5.5a3.2 3.2 0 0 1-4.5-4.5L11 4a2.1 2.1 0 0 1 3 3l-6 6a1 1 0 0 1-1.500-1.500L12 6.500",
    gear: "M4 6h7M15 6h1M4 14h1M9 14h7M13 4v4M7 12v4",
};

// say tells screen readers.
export const say = (text) => { $("#say").textContent = text; };

// toast shows a line for a while.
export function toast(text, kind = "info") {
  const el = h("p", { class: kind }, text);
  $("#toasts").append(el);
  setTimeout(() => el.remove(), kind === "error" ? 8000 : 4000);
}

const units = [["year", 31536e3], ["month", 2592e3], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });

// ago is how long a time is past.
export function ago(time) {
  const seconds = (Date.now() - new Date(time)) / 1000;
  for (const [unit, length] of units) if (seconds >= length) return relative.format(-Math.floor(seconds / length),
    unit);
  return "now";
}

// base is the last part of a path.
export const base = (path = "") => path.replace(/[\\/]+$/, "").split(/[\\/]/).pop() || path;
