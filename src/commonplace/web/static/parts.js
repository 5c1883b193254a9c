// Parts of a page that follow along: a form with data-part="results" puts what it finds into #results as one types.

import { tellAway } from "/static/frame.js";

const PAUSE = 120;

for (const form of document.querySelectorAll("form[data-part]")) {
  const part = form.dataset.part;
  const place = document.getElementById(part);
  let timer = 0;
  let running = null;

  async function refresh() {
    running?.abort();
    running = new AbortController();
    const mine = running;
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const address = `${form.getAttribute("action")}?${query}`;
    place.setAttribute("aria-busy", "true");
    try {
      const reply = await fetch(address, { headers: { "X-Part": part }, signal: mine.signal });
      const text = await reply.text();
      if (mine.signal.aborted) return;
      place.innerHTML = text;
      if (reply.ok) history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") tellAway();
    } finally {
      if (running === mine) place.setAttribute("aria-busy", "false");
    }
  }

  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, event.target.type === "search" || event.target.type === "text" ? PAUSE : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    refresh();
  });
}
