// The map of topics: points that can be moved over, zoomed and chosen. Where they lie is told by the server.

import { tellAway } from "/static/frame.js";

const canvas = document.getElementById("map");
const help = document.getElementById("map-help");
const chosen = document.getElementById("chosen");
const pen = canvas.getContext("2d");
const HUES = ["--k-memory", "--k-observation", "--k-message", "--k-summary", "--k-checkpoint", "--link", "--warn", "--good"];
const CELL = 24;
let atlas = null;
let view = { x: 0, y: 0, zoom: 1 };
let over = -1;
let picked = -1;
let grid = new Map();
let near = [];
let colours = {};
let asked = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  colours = { line: get("--soft"), ink: get("--ink"), paper: get("--paper"), ring: get("--line"), hues: HUES.map(get) };
}

function fit() {
  const ends = (at) => [
    Math.min(...atlas.topics.map((topic) => topic[at] - topic[5])), Math.max(...atlas.topics.map((topic) => topic[at] + topic[5])),
  ];
  const [[left, right], [top, bottom]] = [ends(3), ends(4)];
  // Names stand above their topics, and need some room.
  const zoom = Math.min((canvas.clientWidth - 40) / (right - left), (canvas.clientHeight - 50) / (bottom - top), 4);
  view = { x: (left + right) / 2, y: (top + bottom) / 2 - 12 / zoom, zoom };
}

function toScreen(x, y) {
  return [canvas.clientWidth / 2 + (x - view.x) * view.zoom, canvas.clientHeight / 2 + (y - view.y) * view.zoom];
}

function toMap(x, y) {
  return [(x - canvas.clientWidth / 2) / view.zoom + view.x, (y - canvas.clientHeight / 2) / view.zoom + view.y];
}

function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function lines(edges, alpha, width) {
  pen.globalAlpha = alpha;
  pen.lineWidth = width;
  pen.beginPath();
  for (const [from, to] of edges) {
    pen.moveTo(...toScreen(atlas.nodes[from][2], atlas.nodes[from][3]));
    pen.lineTo(...toScreen(atlas.nodes[to][2], atlas.nodes[to][3]));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function draw() {
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.strokeStyle = colours.line;
  lines(atlas.edges, 0.16, 0.6);
  const size = Math.max(1.4, Math.min(7, 2.4 * view.zoom));
  atlas.topics.forEach((_topic, group) => {
    pen.fillStyle = colours.hues[group % colours.hues.length];
    pen.beginPath();
    for (const node of atlas.groups[group]) {
      const [x, y] = toScreen(node[2], node[3]);
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      pen.moveTo(x + size, y);
      pen.arc(x, y, size, 0, 7);
    }
    pen.fill();
  });
  const shown = over >= 0 ? over : picked;
  if (shown >= 0) {
    pen.strokeStyle = colours.ink;
    lines(near[shown], 0.9, 1.4);
    pen.lineWidth = 2;
    pen.beginPath();
    const [x, y] = toScreen(atlas.nodes[shown][2], atlas.nodes[shown][3]);
    pen.arc(x, y, size + 3, 0, 7);
    pen.stroke();
  }
  pen.textAlign = "center";
  pen.font = "600 12px system-ui, sans-serif";
  pen.lineWidth = 3;
  pen.strokeStyle = colours.paper;
  pen.fillStyle = colours.ink;
  for (const [, name, , x, y, radius] of atlas.topics) {
    if (radius * view.zoom < 16) continue;
    const [left, top] = toScreen(x, y - radius);
    pen.strokeText(name, left, top - 3);
    pen.fillText(name, left, top - 3);
  }
}

function nodeAt(x, y) {
  const [mapX, mapY] = toMap(x, y);
  const reach = Math.max(6, 10 / view.zoom);
  let best = -1;
  let least = reach * reach;
  const [column, row] = [Math.floor(mapX / CELL), Math.floor(mapY / CELL)];
  const cells = Math.min(6, Math.ceil(reach / CELL));
  for (let i = column - cells; i <= column + cells; i += 1) {
    for (let j = row - cells; j <= row + cells; j += 1) {
      for (const number of grid.get(`${i},${j}`) ?? []) {
        const [, , nodeX, nodeY] = atlas.nodes[number];
        const away = (nodeX - mapX) ** 2 + (nodeY - mapY) ** 2;
        if (away < least) [best, least] = [number, away];
      }
    }
  }
  return best;
}

function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const [mapX, mapY] = toMap(x, y);
  view.zoom = Math.min(20, Math.max(0.02, view.zoom * by));
  const [nowX, nowY] = toMap(x, y);
  view.x += mapX - nowX;
  view.y += mapY - nowY;
  redraw();
}

async function pick(number) {
  picked = number;
  redraw();
  if (number < 0) return;
  try {
    const reply = await fetch(`/topics/passages/${atlas.nodes[number][0]}`, { headers: { "X-Part": "chosen" } });
    if (picked === number) chosen.innerHTML = await reply.text();
  } catch {
    tellAway();
  }
}

function arrange() {
  atlas.groups = atlas.topics.map(() => []);
  near = atlas.nodes.map(() => []);
  grid = new Map();
  atlas.nodes.forEach((node, number) => {
    atlas.groups[node[1]].push(node);
    const place = `${Math.floor(node[2] / CELL)},${Math.floor(node[3] / CELL)}`;
    if (!grid.has(place)) grid.set(place, []);
    grid.get(place).push(number);
  });
  for (const edge of atlas.edges) {
    near[edge[0]].push(edge);
    near[edge[1]].push(edge);
  }
}

let held = null;
canvas.addEventListener("pointerdown", (event) => {
  held = { x: event.offsetX, y: event.offsetY, moved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!atlas) return;
  if (held) {
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    held.moved ||= Math.hypot(dx, dy) > 4;
    if (!held.moved) return;
    canvas.classList.add("dragging");
    view.x -= dx / view.zoom;
    view.y -= dy / view.zoom;
    [held.x, held.y] = [event.offsetX, event.offsetY];
    return redraw();
  }
  const found = nodeAt(event.offsetX, event.offsetY);
  if (found === over) return;
  over = found;
  canvas.classList.toggle("over", over >= 0);
  redraw();
});
canvas.addEventListener("pointerup", (event) => {
  canvas.classList.remove("dragging");
  if (held && !held.moved && atlas) pick(nodeAt(event.offsetX, event.offsetY));
  held = null;
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (atlas) zoom(event.deltaY < 0 ? 1.15 : 0.87, event.offsetX, event.offsetY);
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const step = 60 / view.zoom;
  const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
  if (!atlas) return;
  if (moves[event.key]) {
    view.x += moves[event.key][0];
    view.y += moves[event.key][1];
    redraw();
  } else if (event.key === "+" || event.key === "=") zoom(1.3);
  else if (event.key === "-") zoom(0.77);
  else if (event.key === "0") { fit(); redraw(); }
  else if (event.key === "Enter") pick(nodeAt(canvas.clientWidth / 2, canvas.clientHeight / 2));
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => {
    const by = Number(button.dataset.zoom);
    if (by) return zoom(by);
    fit();
    redraw();
  });
}
addEventListener("resize", () => atlas && redraw());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); if (atlas) redraw(); });

try {
  const reply = await fetch(canvas.dataset.source);
  if (!reply.ok) throw new Error(reply.status);
  atlas = await reply.json();
  arrange();
  readColours();
  fit();
  draw();
  canvas.dataset.nodes = atlas.nodes.length;
  document.getElementById("map-buttons").hidden = false;
  if (atlas.left_out) help.textContent += ` ${help.dataset.leftOut.replace("{n}", atlas.left_out.toLocaleString())}`;
} catch {
  help.textContent = help.dataset.failed;
}
