// A day of the calendar leads to what happened on it.

document.querySelector(".calendar")?.addEventListener("click", (event) => {
  const day = event.target.closest("[data-day]")?.dataset.day;
  if (day) location.assign(`/timeline?day=${day}`);
});
