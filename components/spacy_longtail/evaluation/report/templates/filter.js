"use strict";
const form = document.getElementById("filter");
const items = [...document.querySelectorAll("#sentences > li")];
const matches = (mark, type, kind, rare) =>
  (!type || mark.dataset.t.split(" ").includes(type)) &&
  (!kind || (kind === "error" ? mark.dataset.k !== "correct" : mark.dataset.k.split(" ").includes(kind))) &&
  (!rare || mark.classList.contains("rare"));
const filter = () => {
  const { type, kind, rare } = form.elements;
  let shown = 0;
  for (const item of items) {
    // one and the same entity has to meet all of it
    const keep = [...item.querySelectorAll(".m")].some((m) => matches(m, type.value, kind.value, rare.checked));
    item.hidden = !keep;
    shown += keep;
  }
  form.querySelector("output").textContent = `${shown} of ${items.length} sentences`;
};
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false; // without scripts every sentence stays, and no dead filter
filter();
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
