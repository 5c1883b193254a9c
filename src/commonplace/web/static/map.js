// The map of topics: a click zooms into a project, then into a topic, whose passages come up; one of these is read beside it.

import { tellAway } from "/static/frame.js";

const map = document.getElementById("map");
const inside = document.getElementById("inside");
const chosen = document.getElementById("chosen");
const tools = document.querySelector(".map-tools");
const whole = map.viewBox.baseVal;
const start = [whole.x, whole.y, whole.width, whole.height];
const first = chosen.innerHTML;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let view = start;
let open = null;
let turn = 0;

function show(box) {
  view = box;
  map.setAttribute("viewBox", box.map((number) => number.toFixed(2)).join(" "));
}

function glide(target) {
  const mine = ++turn;
  const from = view;
  const began = performance.now();
  function step(now) {
    if (mine !== turn) return;
    const share = calm.matches ? 1 : Math.min(1, (now - began) / 420);
    const eased = 1 - (1 - share) ** 3;
    show(from.map((number, place) => number + (target[place] - number) * eased));
    if (share < 1) requestAnimationFrame(step);
  }
  requestAnimationFrame(step);
}

// The part of the plane around a circle, in the shape of the whole map.
function around([x, y, radius]) {
  const height = 2.25 * radius;
  const width = Math.max(height, (height * start[2]) / start[3]);
  return [x - width / 2, y - height / 2, width, height];
}

async function part(address, name) {
  const reply = await fetch(address, { headers: { "X-Part": name } });
  return reply.text();
}

function close() {
  inside.replaceChildren();
  open?.classList.remove("open");
  open = null;
}

async function enter(bubble) {
  close();
  const [x, y, radius] = bubble.dataset.zoom.split(" ").map(Number);
  glide(around([x, y, radius]));
  tools.hidden = false;
  if (!bubble.dataset.topic) return;
  open = bubble;
  bubble.classList.add("open");
  const address = `/topics/${bubble.dataset.topic}`;
  try {
    const [circles, told] = await Promise.all([part(address, "inside"), part(address, "chosen")]);
    if (open !== bubble) return;
    inside.setAttribute("transform", `translate(${x} ${y}) scale(${(0.96 * radius) / 100})`);
    inside.innerHTML = circles;
    chosen.innerHTML = told;
    map.dataset.open = bubble.dataset.topic;
  } catch {
    tellAway();
  }
}

function leave() {
  close();
  delete map.dataset.open;
  glide(start);
  chosen.innerHTML = first;
  tools.hidden = true;
}

map.addEventListener("click", async (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a");
  if (!link) return open && !event.target.closest(".group") ? leave() : undefined;
  event.preventDefault();
  if (link.dataset.zoom) return enter(link);
  map.querySelector(".passage.picked")?.classList.remove("picked");
  link.classList.add("picked");
  try {
    chosen.innerHTML = await part(link.getAttribute("href"), "chosen");
  } catch {
    tellAway();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && view !== start && !event.target.closest("input, select, dialog")) {
    const back = open;
    leave();
    back?.focus();
  }
});
tools.addEventListener("click", leave);

// The wheel zooms where it points to, and what is held can be moved.
map.addEventListener("wheel", (event) => {
  event.preventDefault();
  turn += 1;
  const box = map.getBoundingClientRect();
  const by = event.deltaY < 0 ? 0.85 : 1 / 0.85;
  const width = Math.min(start[2] * 1.2, Math.max(12, view[2] * by));
  const height = (width * view[3]) / view[2];
  const [across, down] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  show([view[0] + (view[2] - width) * across, view[1] + (view[3] - height) * down, width, height]);
  tools.hidden = false;
}, { passive: false });
let held = null;
map.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY, false]; });
map.addEventListener("pointermove", (event) => {
  if (!held || !event.buttons) return;
  const [dx, dy] = [event.clientX - held[0], event.clientY - held[1]];
  if (!held[2] && Math.hypot(dx, dy) < 5) return;
  turn += 1;
  const scale = view[2] / map.getBoundingClientRect().width;
  show([view[0] - dx * scale, view[1] - dy * scale, view[2], view[3]]);
  held = [event.clientX, event.clientY, true];
  tools.hidden = false;
});
addEventListener("click", (event) => {
  if (held?.[2] && map.contains(event.target)) { event.preventDefault(); event.stopPropagation(); }
  held = null;
}, true);
map.dataset.ready = "";
