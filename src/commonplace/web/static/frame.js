// What every page does: keys, and telling when the server is gone, so that nothing written is lost.

const GO = { h: "/", s: "/search", t: "/timeline", c: "/conversations", r: "/rules", v: "/review", a: "/about", p: "/projects", e: "/settings" };
// What is folded away is not gone through.
const lines = () => [...document.querySelectorAll("[data-line]")].filter((line) => line.checkVisibility?.() ?? true);
let going = false;

export function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

export function move(step) {
  const all = lines();
  if (!all.length) return;
  const at = all.findIndex((line) => line.classList.contains("at"));
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
  all.forEach((line) => line.classList.toggle("at", line === next));
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("a")?.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
  if (isTyping(event.target)) return;
  if (going) {
    going = false;
    if (GO[event.key]) location.assign(GO[event.key]);
    return;
  }
  if (event.key === "g") going = true;
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "u" && !document.querySelector(`[data-key="u"]`)) toast?.querySelector("form button")?.click();
  else if (event.key === "?") document.querySelector(".keys-help")?.showModal();
});

// What was done is told once: it is read aloud, it can be closed, and reloading the page does not tell it again.
const told = document.getElementById("told");
const toast = document.querySelector(".toast");
if (toast) {
  const parts = [...toast.childNodes];
  const close = document.createElement("button");
  Object.assign(close, { type: "button", className: "close", textContent: "✕" });
  close.setAttribute("aria-label", told.dataset.close);
  close.addEventListener("click", () => toast.remove());
  toast.replaceChildren();
  requestAnimationFrame(() => toast.append(...parts, close));
  const address = new URL(location.href);
  ["did", "about"].forEach((name) => address.searchParams.delete(name));
  history.replaceState(history.state, "", address);
}

// Buttons that copy a text.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Over plain HTTP on another machine there is no clipboard; a selection can be copied all the same.
    const area = Object.assign(document.createElement("textarea"), { value: text, className: "unseen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await copy(button.dataset.copy || document.getElementById(button.dataset.copyFrom)?.textContent || "");
  told.textContent = "";
  requestAnimationFrame(() => { told.textContent = told.dataset.copied; });
  const use = button.querySelector("use");
  const icon = use?.getAttribute("href");
  use?.setAttribute("href", icon.replace(/#.*/, "#done"));
  button.classList.add("copied");
  setTimeout(() => { use?.setAttribute("href", icon); button.classList.remove("copied"); }, 1500);
});

// Filters apply as they are chosen.
for (const form of document.querySelectorAll("form[data-apply]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// How much waits for review, beside its name in the menu. What was known last is shown at once.
const WAITING = "commonplace-waiting";

let shownWaiting = 0;

export function showWaiting(total) {
  shownWaiting += 1;
  try {
    sessionStorage.setItem(WAITING, total);
  } catch {
    // Without storage it is asked for on each page.
  }
  for (const place of document.querySelectorAll("[data-waiting]")) {
    const inWords = place.dataset.waiting.replace("{n}", total);
    if ("waitingInWords" in place.dataset) {
      // It keeps its room, so that nothing moves when the number comes.
      place.classList.toggle("unseen-yet", !(total > 0));
      place.textContent = inWords;
    } else {
      place.hidden = !(total > 0);
      place.textContent = total > 99 ? "99+" : total;
      place.setAttribute("aria-label", inWords);
    }
  }
}

async function askWaiting() {
  const before = shownWaiting;
  const reply = await fetch("/review/count").catch(() => null);
  // Whoever was signed out gets the login page.
  const total = reply?.headers.get("Content-Type")?.includes("json") && reply.ok ? (await reply.json()).total : null;
  // What was decided meanwhile is not in it.
  if (total !== null && shownWaiting === before) showWaiting(total);
}

if (document.querySelector("[data-waiting]")) {
  try {
    showWaiting(Number(sessionStorage.getItem(WAITING) ?? 0));
  } catch {
    // As above.
  }
  (window.requestIdleCallback ?? setTimeout)(askWaiting);
}

// A form is sent only to a server that answers: the browser's own error page would take the text away.
const banner = document.querySelector(".away");
let waiting = 0;

async function answers() {
  try {
    return (await fetch("/live", { cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}

export function tellAway() {
  if (!banner || waiting) return;
  banner.textContent = banner.dataset.away;
  banner.hidden = false;
  waiting = setInterval(async () => {
    if (!(await answers())) return;
    clearInterval(waiting);
    waiting = 0;
    banner.textContent = banner.dataset.back;
    setTimeout(() => { banner.hidden ||= !waiting; }, 10000);
  }, 2000);
}

const sending = new WeakSet();

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  event.preventDefault();
  // A second click while the first one is on its way would do it twice.
  if (sending.has(form)) return;
  sending.add(form);
  if (!(await answers())) {
    sending.delete(form);
    return tellAway();
  }
  form.dispatchEvent(new Event("sending"));
  if (event.submitter?.name) {
    const chosen = document.createElement("input");
    Object.assign(chosen, { type: "hidden", name: event.submitter.name, value: event.submitter.value });
    form.append(chosen);
  }
  if (event.submitter?.formAction && event.submitter.hasAttribute("formaction")) form.action = event.submitter.formAction;
  form.submit();
});
