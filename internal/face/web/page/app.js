// The page: its views, its address, its keys.
import { effect } from "./signals.js";
import { $, base, say, toast, worker } from "./dom.js";
import { current, enter, head, interrupt, link, me, pair, questions, sessions, show, state, status,
  working } from "./server.js";
import { create, nameOf, open } from "./sessions.js";
import "./transcript.js";
import "./question.js";
import "./prompt.js";
import "./panel.js";
import { help, menu, pairing, tree } from "./dialogs.js";

const app = $("#app");

// The address: #/ID is a session, #code=X pairs this browser.
function go() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState(null, "", "/");
    pair(decodeURIComponent(code)).catch((e) => { toast(e.message, "error"); enter(); });
    return;
  }
  const id = decodeURIComponent(/^#\/(.+)$/.exec(location.hash)?.[1] ?? "");
  app.dataset.view = id ? "session" : "list";
  landmark();
  show(id);
}

// On a phone the list is a page of its own.
const narrow = matchMedia("(max-width: 759px)");
function landmark() {
  if (narrow.matches && app.dataset.view === "list") $(".side").setAttribute("role", "main");
  else $(".side").setAttribute("role", "navigation");
}
narrow.addEventListener("change", landmark);
addEventListener("hashchange", go);

effect(() => {
  $(".pairing")?.remove();
  app.hidden = me() === null;
  if (me() === null) pairing();
});

effect(() => {
  const s = sessions().get(current());
  const title = status()?.title || head().title || (s && nameOf(s)) || (current() ? "Session" : "lathe");
  const waits = [...sessions().values()].filter((x) => x.state === "blocked").length;
  $("#title").textContent = title;
  $("#place").textContent = [base(status()?.dir ?? head().dir ?? s?.dir ?? ""),
    status()?.branch].filter(Boolean).join(" · ");
  document.title = (waits ? `(${waits}) ` : "") + title;
  navigator.setAppBadge?.(waits).catch(() => {});
});

effect(() => {
  const text = { on: "", connecting: "Connecting…", off: "No connection. What you send waits here." }[link()];
  $("#link").textContent = me() ? text : "";
  document.documentElement.dataset.link = link();
});

let before = "idle";
effect(() => {
  if (before !== "idle" && state().doing === "idle" && current()) say("The turn is done");
  before = state().doing;
});

const doing = {
  list: () => { location.hash = "#/"; },
  new: create,
  files: () => current.peek() && tree(),
  menu: () => current.peek() && menu(),
  panel: () => {
    const on = app.classList.toggle("details");
    $("[data-do=panel]").setAttribute("aria-pressed", on);
  },
  search: () => {
    const find = $("#find");
    if ((find.hidden = !find.hidden)) find.firstElementChild.value = ""; else find.firstElementChild.focus();
  },
};
document.addEventListener("click", (e) => doing[e.target.closest("[data-do]")?.dataset.do]?.());
$("#find").addEventListener("submit", (e) => { e.preventDefault(); find(-1); });
$("#find").addEventListener("input", () => find(0));

function find(step) {
  const [at, all] = $("lathe-transcript").find($("#find input").value.trim(), step);
  $("#find span").textContent = all ? `${at} of ${all}` : $("#find input").value ? "nothing" : "";
}

// neighbour goes to another session of the list.
function neighbour(step) {
  const all = [...document.querySelectorAll("lathe-sessions .row")].map((a) => a.dataset.id);
  if (all.length) open(all[(all.indexOf(current.peek()) + step + all.length) % all.length]);
}

const keys = { n: create, j: () => neighbour(1), k: () => neighbour(-1), "/": () => $("#prompt").focus(), "?": help,
  d: doing.panel, f: doing.files };
document.addEventListener("keydown", (e) => {
  if ($("dialog[open]") || !me.peek()) return;
  const typing = e.target.closest?.("input, textarea, select");
  if ((e.ctrlKey || e.metaKey) && e.key === "f" && current.peek()) {
    e.preventDefault();
    $("#find").hidden = true;
    return doing.search();
  }
  if (e.key === "Escape") {
    if (!$("#find").hidden) return doing.search();
    if (typing && typing.id !== "prompt") return typing.blur();
    if (working() && state.peek().turn) return void interrupt().catch((err) => toast(err.message, "error"));
    return typing?.blur();
  }
  if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
  if ($("lathe-questions").key(e)) return e.preventDefault();
  if (keys[e.key]) {
    e.preventDefault();
    keys[e.key]();
  }
});

navigator.serviceWorker?.register(worker()).catch(() => {});
navigator.serviceWorker?.addEventListener("message", (e) => { if (e.data?.open) open(e.data.open); });
enter();
go();
