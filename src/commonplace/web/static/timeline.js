// Bars that do not all fit begin with what is looked at, else with the newest.

const bars = document.querySelector(".bars");
const shown = bars && (bars.querySelector("[aria-current]") ?? [...bars.querySelectorAll("a")].at(-1));
if (shown) bars.scrollLeft += shown.getBoundingClientRect().right - bars.getBoundingClientRect().right + 40;
