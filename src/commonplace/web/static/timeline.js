// Bars that do not all fit begin with what is looked at, else with the newest. What is remembered while the page is open
// is counted, and shown on demand: nothing moves under somebody who reads.

function showNewestBars() {
  const bars = document.querySelector(".bars");
  const shown = bars && (bars.querySelector("[aria-current]") ?? [...bars.querySelectorAll("a")].at(-1));
  if (shown) bars.scrollLeft += shown.getBoundingClientRect().right - bars.getBoundingClientRect().right + 40;
}

const PAUSE = 400;
const place = document.querySelector(".following");
const arrived = new Set();
let timer = 0;

function tell() {
  const button = place.querySelector("button") ?? place.appendChild(document.createElement("button"));
  button.type = "button";
  button.textContent = arrived.size === 1 ? place.dataset.one : place.dataset.many.replace("{n}", arrived.size);
}

function note(message) {
  const event = JSON.parse(message.data);
  if (place.dataset.project && event.project !== place.dataset.project) return;
  arrived.add(`${event.kind} ${event.short_id}`);
  clearTimeout(timer);
  timer = setTimeout(tell, PAUSE);
}

async function show() {
  const reply = await fetch(location.href).catch(() => null);
  const page = reply?.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
  const happened = page?.getElementById("happened");
  if (!happened) return location.reload();
  arrived.clear();
  place.replaceChildren();
  document.getElementById("happened").replaceWith(document.adoptNode(happened));
  showNewestBars();
  document.getElementById("content").focus({ preventScroll: true });
}

showNewestBars();
if (place) {
  place.addEventListener("click", (event) => { if (event.target.matches("button")) show(); });
  const source = new EventSource("/api/v1/events");
  for (const name of ["created", "edited", "forgotten", "restored", "superseded"]) source.addEventListener(`item.${name}`, note);
  source.onopen = () => { place.dataset.following = ""; };
  addEventListener("pagehide", () => source.close());
}
