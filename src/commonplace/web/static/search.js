// Arrows go from the box through the results and back.

import { move } from "/static/frame.js";

const box = document.getElementById("q");

document.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const inside = event.target === box || event.target.closest?.("[data-line]");
  if (!inside || event.ctrlKey || event.metaKey || event.altKey) return;
  const first = document.querySelector("[data-line]");
  if (event.target !== box && event.key === "ArrowUp" && first?.classList.contains("at")) {
    first.classList.remove("at");
    event.preventDefault();
    return box.focus();
  }
  if (event.target === box && event.key === "ArrowUp") return;
  event.preventDefault();
  move(event.key === "ArrowDown" ? 1 : -1);
});
