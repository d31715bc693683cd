// The service worker: it shows notifications, answers from them, and keeps the page's files for a bad network.
const files = ["/", "/app.js", "/signals.js", "/dom.js", "/server.js", "/sessions.js", "/transcript.js",
  "/prompt.js", "/question.js", "/panel.js", "/dialogs.js", "/push.js", "/icon.svg", "/manifest.webmanifest"];
const store = "lathe";

self.addEventListener("install", (e) => {
  self.skipWaiting();
  // Where the browser can, the network is asked while this worker still starts.
  e.addRoutes?.({ condition: { requestMethod: "GET" }, source: "race-network-and-fetch-handler" }).catch(() => {});
  e.waitUntil(caches.open(store).then((c) => c.addAll(files)));
});
self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim()));

// The network first, so that a new version of lathe shows its own page; what is kept when there is none.
self.addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== location.origin || !files.includes(url.pathname)) return;
  e.respondWith(fetch(e.request).then((answer) => {
    if (answer.ok) {
      const copy = answer.clone();
      e.waitUntil(caches.open(store).then((c) => c.put(url.pathname, copy)));
    }
    return answer;
  }, () => caches.match(url.pathname)));
});

self.addEventListener("push", (e) => {
  const n = e.data?.json() ?? {};
  if (n.close) return e.waitUntil(done(n));
  e.waitUntil(self.registration.showNotification(n.title ?? "lathe", {
    body: n.body, tag: n.tag, icon: "/icon-192.png", data: n, requireInteraction: Boolean(n.question),
    actions: (n.actions ?? []).map((a) => ({ action: a.choice, title: a.label })),
  }));
});

// done takes away the notification of a question that was answered elsewhere.
async function done(n) {
  for (const old of await self.registration.getNotifications({ tag: n.tag })) old.close();
}

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  const n = e.notification.data;
  e.waitUntil(e.action ? answer(n, e.action) : focus(n));
});

async function answer(n, choice) {
  const sent = await fetch(`/v1/sessions/${encodeURIComponent(n.session)}/answers`, {
    method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ question: n.question, session: n.session, answer: { choice } }),
  }).catch(() => null);
  if (!sent?.ok) await self.registration.showNotification("Not answered",
    { body: "Open lathe and answer there: " + (n.body ?? ""), tag: n.tag, icon: "/icon-192.png", data: n });
}

async function focus(n) {
  const open = (await self.clients.matchAll({ type: "window" }))[0];
  if (!open) return self.clients.openWindow("/#/" + n.session);
  open.postMessage({ open: n.session });
  return open.focus();
}
