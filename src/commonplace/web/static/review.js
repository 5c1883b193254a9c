// The inbox by keys: each decision is sent in the background, its card makes room for the next, and u brings it back.
// Several that are selected are decided together, and come back together.

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
  for (const part of inbox.querySelectorAll("section, .session-group")) part.hidden = !part.querySelector("[data-line]");
  countSelected();
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

// Sends what a form holds; what comes back is the form that undoes it, or why it was refused.
async function send(address, body) {
  try {
    const reply = await fetch(address, { method: "POST", body, headers: { "X-Part": "undo" } });
    const made = Object.assign(document.createElement("template"), { innerHTML: await reply.text() });
    if (reply.ok) return { undo: made.content.querySelector("form") };
    return { why: made.content.textContent.trim().replace(/\s+/g, " ") };
  } catch {
    tellAway();
    return { why: "" };
  }
}

const written = (form) => new URLSearchParams(new FormData(form));

// Takes cards off the list; what is returned puts them back.
function take(gone) {
  const places = gone.map((card) => {
    const place = document.createComment("");
    card.replaceWith(place);
    card.classList.remove("at");
    if (card.querySelector(".select")) card.querySelector(".select").checked = false;
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

const decide = (form) => {
  const card = form.closest("[data-line]");
  form.dispatchEvent(new Event("sending"));
  return decideAll([card, ...settledWith(form, card)], form.getAttribute("action"), written(form), form.dataset.done);
};

async function decideAll(gone, address, body, done) {
  busy(1);
  const all = cards();
  const left = all.filter((other) => !gone.includes(other));
  const next = left.find((other) => all.indexOf(other) > all.indexOf(gone[0])) ?? left.at(-1);
  const back = take(gone);
  choose(next);
  countSelected();
  const { undo, why } = await send(address, body);
  busy(-1);
  if (why !== undefined) {
    back();
    if (why) say(inbox.dataset.failed.replace("{why}", why));
    return;
  }
  decided.push({ undo, back });
  say(done, undo);
  tidy();
}

// Selecting: a box on each card, x, and shift with j and k.
const box = (card) => card?.querySelector(".select");
const selected = (kind) => cards().filter((card) => box(card)?.checked && (!kind || card.dataset.kind === kind));

function countSelected() {
  for (const form of inbox.querySelectorAll("[data-bulk]")) {
    const kind = form.dataset.bulk;
    const number = selected(kind).length;
    const place = form.querySelector("[data-selected]");
    place.textContent = number ? place.dataset.selected.replace("{n}", number) : place.dataset.none;
    form.querySelectorAll("button").forEach((button) => { button.disabled = !number; });
    const all = form.querySelector("[data-choose-all]");
    const there = cards().filter((card) => card.dataset.kind === kind).length;
    all.checked = number > 0 && number === there;
    all.indeterminate = number > 0 && number < there;
  }
}

function select(card, checked) {
  const own = box(card);
  if (!own) return;
  own.checked = checked;
  countSelected();
  const place = inbox.querySelector(`[data-bulk="${card.dataset.kind}"] [data-selected]`);
  if (place) told.textContent = place.textContent;
}

function decideSelected(form, button) {
  const gone = selected(form.dataset.bulk);
  if (!gone.length) return;
  const done = button.dataset.done.replace("{about}", gone.length);
  decideAll(gone, button.getAttribute("formaction") ?? form.getAttribute("action"), written(form), done);
}

// All of a session that still wait: some may have been decided one by one.
function decideGroup(form) {
  const gone = [...form.closest(".session-group").querySelectorAll("[data-line]")];
  const body = written(form);
  body.delete("id");
  gone.forEach((card) => body.append("id", card.id.slice(1)));
  decideAll(gone, form.getAttribute("action"), body, form.dataset.done.replace("{about}", gone.length));
}

async function undoLast(form) {
  const last = decided.findIndex((one) => one.undo === form);
  const [taken] = last < 0 ? decided.splice(-1) : decided.splice(last, 1);
  if (!taken?.undo) return;
  busy(1);
  const { why } = await send(taken.undo.getAttribute("action"), written(taken.undo));
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
  } else if (form.matches("[data-bulk]")) {
    event.preventDefault();
    decideSelected(form, event.submitter ?? form.querySelector("button"));
  } else if (form.matches("[data-group]")) {
    event.preventDefault();
    decideGroup(form);
  } else if (form.matches("[data-undo]") && decided.length) {
    event.preventDefault();
    undoLast(form);
  }
}, { capture: true });

document.addEventListener("keydown", (event) => {
  const onBox = event.target.matches?.(".select, [data-choose-all]");
  if (event.ctrlKey || event.metaKey || event.altKey || (isTyping(event.target) && !onBox)) {
    const form = event.target.closest?.("form[data-writing]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return selected().forEach((card) => select(card, false));
  if (event.key === "J" || event.key === "K") {
    select(chosen(), true);
    move(event.key === "J" ? 1 : -1);
    return select(chosen(), true);
  }
  if (!/^[a-z]$/.test(event.key)) return;
  if (event.key === "x" && box(chosen())) return select(chosen(), !box(chosen()).checked);
  if (onBox && (event.key === "j" || event.key === "k")) return move(event.key === "j" ? 1 : -1);
  const [first] = selected();
  if (first && (event.key === "a" || event.key === "d")) {
    const bulk = inbox.querySelector(`[data-bulk="${first.dataset.kind}"]`);
    return bulk.querySelector(`[data-key="${event.key}"]`).click();
  }
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

inbox.addEventListener("change", ({ target }) => {
  if (target.matches("[data-choose-all]")) {
    const { checked } = target;
    cards().filter((card) => card.dataset.kind === target.dataset.of).forEach((card) => select(card, checked));
  } else if (target.matches(".select")) {
    choose(target.closest("[data-line]"));
    target.focus({ preventScroll: true });
    select(target.closest("[data-line]"), target.checked);
  }
});

inbox.addEventListener("click", (event) => {
  const card = event.target.closest("[data-line]");
  if (card && !event.target.closest("a, button, summary, textarea, input")) choose(card);
});

// A link to one of them leads there; otherwise the first is chosen.
const meant = location.hash ? document.getElementById(location.hash.slice(1)) : null;
if (meant?.matches("[data-line]")) choose(meant);
else move(1);
countSelected();
