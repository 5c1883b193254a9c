// The inbox by keys: each decision is sent in the background, its card makes room for the next, and u brings it back.

import { isTyping, move, showWaiting, tellAway } from "/static/frame.js";

const inbox = document.querySelector(".inbox");
const nothing = document.querySelector(".inbox-empty");
const told = document.getElementById("told");
const decided = [];
let toast = null;
let sending = 0;

function busy(by) {
  sending += by;
  inbox.setAttribute("aria-busy", String(sending > 0));
}

const cards = () => [...inbox.querySelectorAll("[data-line]")];
const chosen = () => inbox.querySelector("[data-line].at");

function choose(card) {
  cards().forEach((one) => one.classList.toggle("at", one === card));
  card?.querySelector("a")?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: "nearest" });
}

function count(kind, by) {
  for (const name of [kind, "all"]) {
    const place = document.querySelector(`[data-count="${name}"]`);
    const now = Number.parseInt(place.textContent.replace(/\D/g, ""), 10) + by;
    place.textContent = now.toLocaleString("en");
    if (name === "all" && !new URLSearchParams(location.search).get("project")) showWaiting(now);
  }
}

function tidy() {
  for (const part of inbox.querySelectorAll("section")) part.hidden = !part.querySelector("[data-line]");
  if (cards().length) {
    nothing.hidden = true;
    return;
  }
  // More of them wait: fetch the next.
  if (inbox.querySelector("[data-more]")) location.reload();
  nothing.hidden = false;
}

function say(text, undo = null) {
  toast?.remove();
  document.querySelector(".toast")?.remove();
  toast = Object.assign(document.createElement("div"), { className: "done toast" });
  toast.append(Object.assign(document.createElement("span"), { textContent: text }));
  if (undo) toast.append(undo);
  document.getElementById("content").prepend(toast);
  told.textContent = "";
  requestAnimationFrame(() => { told.textContent = text; });
}

// Sends a form; what comes back is the form that undoes it, or why it was refused.
async function send(form) {
  const body = new URLSearchParams(new FormData(form));
  try {
    const reply = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { "X-Part": "undo" } });
    const made = Object.assign(document.createElement("template"), { innerHTML: await reply.text() });
    if (reply.ok) return { undo: made.content.querySelector("form") };
    return { why: made.content.textContent.trim().replace(/\s+/g, " ") };
  } catch {
    tellAway();
    return { why: "" };
  }
}

// Takes cards off the list; what is returned puts them back.
function take(gone) {
  const places = gone.map((card) => {
    const place = document.createComment("");
    card.replaceWith(place);
    card.classList.remove("at");
    count(card.dataset.kind, -1);
    return [place, card];
  });
  return () => {
    for (const [place, card] of places) {
      place.replaceWith(card);
      count(card.dataset.kind, 1);
    }
    tidy();
    choose(gone[0]);
  };
}

// Other pairs with the statement that does not hold any more: they are settled too.
function settledWith(form, card) {
  const fields = new FormData(form);
  const lost = { new: fields.get("one"), old: fields.get("other") }[fields.get("keep")];
  return lost ? cards().filter((other) => other !== card && other.id.slice(1).split("-").includes(lost)) : [];
}

async function decide(form) {
  busy(1);
  const card = form.closest("[data-line]");
  const gone = [card, ...settledWith(form, card)];
  const all = cards();
  const left = all.filter((other) => !gone.includes(other));
  const next = left.find((other) => all.indexOf(other) > all.indexOf(card)) ?? left.at(-1);
  form.dispatchEvent(new Event("sending"));
  const back = take(gone);
  choose(next);
  const { undo, why } = await send(form);
  busy(-1);
  if (why !== undefined) {
    back();
    if (why) say(inbox.dataset.failed.replace("{why}", why));
    return;
  }
  decided.push({ undo, back });
  say(form.dataset.done, undo);
  tidy();
}

async function undoLast(form) {
  const last = decided.findIndex((one) => one.undo === form);
  const [taken] = last < 0 ? decided.splice(-1) : decided.splice(last, 1);
  if (!taken?.undo) return;
  busy(1);
  const { why } = await send(taken.undo);
  busy(-1);
  if (why !== undefined) {
    if (why) say(inbox.dataset.failed.replace("{why}", why));
    return;
  }
  taken.back();
  say(taken.undo.dataset.done, decided.at(-1)?.undo);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-decide]")) {
    event.preventDefault();
    decide(form);
  } else if (form.matches("[data-undo]") && decided.length) {
    event.preventDefault();
    undoLast(form);
  }
}, { capture: true });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
    const form = event.target.closest?.("form[data-writing]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    return;
  }
  if (document.querySelector("dialog[open]") || !/^[a-z]$/.test(event.key)) return;
  const wanted = `[data-key~="${event.key}"]`;
  const found = event.key === "u" ? document.querySelector(`.toast ${wanted}`) : chosen()?.querySelector(wanted);
  if (!found) return;
  event.preventDefault();
  found.click();
  if (found.localName === "summary") found.parentElement.querySelector("textarea")?.focus();
});

for (const form of document.querySelectorAll("form[data-writing]")) {
  let written = false;
  form.addEventListener("input", () => (written = true));
  form.addEventListener("sending", () => (written = false));
  addEventListener("beforeunload", (event) => {
    if (written) event.preventDefault();
  });
}

inbox.addEventListener("click", (event) => {
  const card = event.target.closest("[data-line]");
  if (card && !event.target.closest("a, button, summary, textarea, input")) choose(card);
});

// A link to one of them leads there; otherwise the first is chosen.
const meant = location.hash ? document.getElementById(location.hash.slice(1)) : null;
if (meant?.matches("[data-line]")) choose(meant);
else move(1);
