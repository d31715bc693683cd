// Notifications: this browser's subscription at its push service.
import { $, toast } from "./dom.js";
import { call, get } from "./server.js";

const subscription = async () => (await navigator.serviceWorker?.getRegistration())?.pushManager?.getSubscription();
const note = (text) => { const n = $("#push-note"); if (n) n.textContent = text; };

export async function label(button) {
  if (!("PushManager" in self) || !isSecureContext) {
    button.disabled = true;
    button.textContent = "Not available";
    note(isSecureContext ? "On an iPhone, add the page to the home screen first."
      : "Browsers push only over HTTPS, or on the machine itself.");
    return;
  }
  button.textContent = (await subscription()) ? "Turn off" : "Turn on";
}

export async function toggle(button) {
  button.disabled = true;
  try {
    const old = await subscription();
    if (old) {
      await call("DELETE", "/page/push", { endpoint: old.endpoint });
      await old.unsubscribe();
    } else {
      if ((await Notification.requestPermission()) !== "granted") {
        throw new Error("The browser allows no notifications of this page");
      }
      const { key } = await get("/page/push");
      const worker = await navigator.serviceWorker.ready;
      const s = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
      await call("POST", "/page/push", s.toJSON());
    }
  } catch (e) { toast(e.message, "error"); }
  button.disabled = false;
  label(button);
}
