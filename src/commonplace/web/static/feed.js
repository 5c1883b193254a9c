// Follows what is remembered, and puts each new thing on top. Everything is put in as text, never as HTML.

const MOST = 300;
const list = document.querySelector(".feed");
const pulse = document.querySelector(".pulse");
const button = document.querySelector("[data-pause]");
const template = document.querySelector("template[data-new]");
const named = (list) => new Map(
  [...document.querySelector(list).content.children].map((word) => [word.dataset.name, word.textContent]),
);
const words = named("template[data-words]");
const projects = named("template[data-projects]");
const held = [];
let paused = false;

function line(event) {
  const made = template.content.cloneNode(true).firstElementChild;
  const link = made.querySelector("a");
  link.textContent = event.title || event.short_id;
  const place = event.kind === "conversation" ? "conversations" : "items";
  link.href = `/${place}/${encodeURIComponent(event.short_id)}`;
  const badge = made.querySelector(".badge");
  badge.textContent = event.type || event.kind;
  badge.classList.add(event.kind);
  made.querySelector("[data-what]").textContent = words.get(event.event.split(".").pop()) ?? event.event;
  made.querySelector("[data-where]").textContent = event.project ? projects.get(event.project) ?? event.project : list.dataset.global;
  const time = made.querySelector("time");
  time.dateTime = event.at;
  time.textContent = new Date(event.at).toLocaleTimeString();
  return made;
}

function show(event) {
  document.querySelector("[data-empty]")?.remove();
  list.prepend(line(event));
  while (list.children.length > MOST) list.lastElementChild.remove();
}

function arrived(message) {
  const event = JSON.parse(message.data);
  if (list.dataset.project && event.project !== list.dataset.project) return;
  if (!paused) return show(event);
  held.push(event);
  button.textContent = `${button.dataset.goOn} (${button.dataset.held.replace("{n}", held.length)})`;
}

button.disabled = false;
button.addEventListener("click", () => {
  paused = !paused;
  held.splice(0).forEach(show);
  button.textContent = paused ? button.dataset.goOn : button.dataset.pause;
});

const source = new EventSource("/api/v1/events");
source.onopen = () => { pulse.textContent = pulse.dataset.following; pulse.className = "pulse on"; };
source.onerror = () => { pulse.textContent = pulse.dataset.lost; pulse.className = "pulse off"; };
for (const name of words.keys()) {
  source.addEventListener(`item.${name}`, arrived);
  source.addEventListener(`conversation.${name}`, arrived);
}
addEventListener("pagehide", () => source.close());
