// Where people write: e edits an item, Ctrl + Enter saves, and nobody leaves what was written by mistake.

import { move } from "/static/frame.js";

for (const form of document.querySelectorAll("form[data-writing]")) {
  let written = false;
  form.addEventListener("input", () => (written = true));
  // Told by the frame once the server is known to answer.
  form.addEventListener("sending", () => (written = false));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  addEventListener("beforeunload", (event) => {
    if (written) event.preventDefault();
  });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const wanted = `[data-key="${CSS.escape(event.key)}"]`;
  const found = document.querySelector(`[data-line].at ${wanted}`) ?? document.querySelector(wanted);
  if (!found) return;
  event.preventDefault();
  found.click();
  if (found.localName === "summary") found.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
});

// In a list that is gone through by keys the first line is chosen.
if (document.querySelector("[data-first]")) move(1);
