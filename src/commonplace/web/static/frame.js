// What every page does: keys, and telling when the server is gone, so that nothing written is lost.

const GO = { h: "/", s: "/search", t: "/timeline", c: "/conversations", r: "/rules", v: "/review", o: "/topics", p: "/review?show=old", l: "/feed", e: "/settings" };
const lines = () => [...document.querySelectorAll("[data-line]")];
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
  else if (event.key === "?") document.querySelector(".keys-help")?.showModal();
});

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
