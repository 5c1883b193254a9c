// Find anything: the search box in the header offers what fits as one types. Ctrl + K or / goes there from anywhere.

import { isTyping, tellAway } from "/static/frame.js";

const PAUSE = 60;
const KEPT = 50;
const form = document.getElementById("find");
const box = form.querySelector("input");
const panel = form.querySelector(".find-panel");
const place = form.querySelector(".find-options");
const said = form.querySelector(".find-status");
const known = new Map();
let timer = 0;
let running = null;
let before = null;
let at = -1;

const options = () => [...place.querySelectorAll('[role="option"]')];
const isOpen = () => form.classList.contains("open");

// Without this script the box is a plain one that sends its form.
box.setAttribute("role", "combobox");
box.setAttribute("aria-autocomplete", "list");
box.setAttribute("aria-controls", "find-list");
box.setAttribute("aria-expanded", "false");
if (/Mac|iPhone|iPad/.test(navigator.platform)) form.querySelector("kbd").textContent = "⌘ K";

function choose(number) {
  const all = options();
  at = number < -1 ? all.length - 1 : number >= all.length ? -1 : number;
  all.forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
  if (at < 0) return box.removeAttribute("aria-activedescendant");
  box.setAttribute("aria-activedescendant", all[at].id);
  all[at].scrollIntoView({ block: "nearest" });
}

function show(text) {
  place.innerHTML = text;
  choose(-1);
  if (!isOpen()) return;
  panel.hidden = false;
  box.setAttribute("aria-expanded", "true");
  said.textContent = place.querySelector("[data-found]")?.dataset.found ?? "";
}

async function ask() {
  running?.abort();
  const typed = box.value;
  if (known.has(typed)) return show(known.get(typed));
  running = new AbortController();
  try {
    const reply = await fetch(`/find?${new URLSearchParams({ q: typed })}`, { headers: { "X-Part": "options" }, signal: running.signal });
    if (!reply.ok) return close();
    const text = await reply.text();
    if (known.size >= KEPT) known.delete(known.keys().next().value);
    known.set(typed, text);
    if (box.value === typed) show(text);
  } catch (error) {
    if (error.name !== "AbortError") tellAway();
  }
}

function open() {
  form.classList.add("open");
  ask();
}

function close() {
  clearTimeout(timer);
  running?.abort();
  panel.hidden = true;
  form.classList.remove("open");
  said.textContent = "";
  box.setAttribute("aria-expanded", "false");
  choose(-1);
}

function go() {
  before = document.activeElement === box ? before : document.activeElement;
  box.focus();
  box.select();
  if (!isOpen()) open();
}

// The first option of the next group, or of the one before; null if there is none.
function otherGroup(step) {
  const all = options();
  const groups = [...place.querySelectorAll('[role="group"]')];
  const here = at < 0 ? (step > 0 ? -1 : groups.length) : groups.indexOf(all[at].closest('[role="group"]'));
  const next = groups[here + step];
  return next ? all.indexOf(next.querySelector('[role="option"]')) : null;
}

function follow(event, option) {
  if (option.dataset.press) {
    event.preventDefault();
    close();
    const pressed = document.querySelector(option.dataset.press);
    return pressed?.localName === "dialog" ? pressed.showModal() : pressed?.click();
  }
  if (event.type === "click") return close();
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) return window.open(option.href, "_blank", "noopener");
  location.assign(option.href);
}

box.addEventListener("input", () => {
  clearTimeout(timer);
  if (!isOpen()) return open();
  timer = setTimeout(ask, known.has(box.value) ? 0 : PAUSE);
});
box.addEventListener("click", () => isOpen() || open());
box.addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing) return;
  if (event.key === "Enter" && !options()[at]) {
    // By itself a form with several fields and no button is not sent.
    event.preventDefault();
    close();
    return form.requestSubmit();
  }
  if (!isOpen()) {
    // On the page of results the arrows go through them (search.js).
    if (event.key === "ArrowDown" && !document.querySelector("#results [data-line]")) {
      event.preventDefault();
      open();
    }
    return;
  }
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(at + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter") {
    follow(event, options()[at]);
  } else if (event.key === "Tab") {
    const next = otherGroup(event.shiftKey ? -1 : 1);
    if (next === null) return close();
    event.preventDefault();
    choose(next);
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    close();
    before?.focus?.();
    before = null;
  }
});
form.addEventListener("focusout", (event) => {
  if (isOpen() && !form.contains(event.relatedTarget)) close();
});
// The box keeps the focus while somebody points.
panel.addEventListener("mousedown", (event) => event.preventDefault());
panel.addEventListener("click", (event) => {
  const option = event.target.closest('[role="option"]');
  if (option) follow(event, option);
});

document.addEventListener("keydown", (event) => {
  const withK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
  if ((!withK && !slash) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  go();
});
// A page that comes back from the browser's memory is as it was left, but not with an open list.
addEventListener("pageshow", (event) => event.persisted && close());
