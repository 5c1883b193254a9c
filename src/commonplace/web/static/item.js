// Where people write: e edits an item, Ctrl + Enter saves, and nobody leaves what was written by mistake.

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
  document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
});
