// The results of a search: filters apply at once and live in the address; arrows go from the box through the results.

import { isTyping, move, tellAway } from "/static/frame.js";

const PAUSE = 250;
const form = document.getElementById("find");
const box = document.getElementById("find-box");
const place = document.getElementById("results");
let timer = 0;
let running = null;

function address() {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  return `/search${query.size ? `?${query}` : ""}`;
}

async function refresh(wanted) {
  running?.abort();
  running = new AbortController();
  const mine = running;
  place.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(wanted, { headers: { "X-Part": "results" }, signal: mine.signal });
    const text = await reply.text();
    if (mine.signal.aborted) return;
    place.innerHTML = text;
    document.title = place.querySelector("[data-title]")?.dataset.title ?? document.title;
  } catch (error) {
    if (error.name !== "AbortError") tellAway();
  } finally {
    if (running === mine) place.setAttribute("aria-busy", "false");
  }
}

function apply() {
  clearTimeout(timer);
  const wanted = address();
  if (wanted === location.pathname + location.search) return;
  history.pushState(null, "", wanted);
  refresh(wanted);
}

// The filters stand outside of their form, which is the box in the header.
document.addEventListener("input", (event) => {
  if (event.target.form !== form || event.target === box) return;
  clearTimeout(timer);
  timer = setTimeout(apply, event.target.type === "text" ? PAUSE : 0);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  apply();
});
place.addEventListener("click", (event) => {
  const name = event.target.closest("[data-unset]")?.dataset.unset;
  if (!name || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  put(name, "");
  apply();
  document.getElementById("content").focus({ preventScroll: true });
});

function put(name, value) {
  const field = form.elements.namedItem(name);
  if (!field) return;
  if (field.type === "checkbox") field.checked = value !== "";
  else field.value = value;
}

addEventListener("popstate", () => {
  const query = new URLSearchParams(location.search);
  for (const field of form.elements) if (field.name) put(field.name, query.get(field.name) ?? "");
  refresh(location.pathname + location.search);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "w" && !isTyping(event.target)) {
    const why = document.querySelector("[data-line].at .why-hit");
    if (why) why.open = !why.open;
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const inBox = event.target === box;
  if (event.defaultPrevented || (!inBox && !event.target.closest?.("[data-line]"))) return;
  const first = document.querySelector("[data-line]");
  if (!inBox && event.key === "ArrowUp" && first?.classList.contains("at")) {
    first.classList.remove("at");
    event.preventDefault();
    return box.focus();
  }
  if (inBox && event.key === "ArrowUp") return;
  event.preventDefault();
  move(event.key === "ArrowDown" ? 1 : -1);
});
