// A box that chooses all boxes of a name.

for (const all of document.querySelectorAll("[data-choose-all]")) {
  const boxes = () => document.querySelectorAll(`input[type="checkbox"][name="${all.dataset.chooseAll}"]`);
  all.addEventListener("change", () => boxes().forEach((box) => { box.checked = all.checked; }));
}
