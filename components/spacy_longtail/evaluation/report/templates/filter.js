"use strict";
const PAGE = 10; // sentences
const form = document.getElementById("filter");
const box = document.getElementById("sentences-box");
const items = [...document.querySelectorAll("#sentences > li")];
let first = 0; // of those shown
const matches = (mark, type, kind, rare) => {
  const kinds = mark.dataset.k.split(" ");
  return (
    (!type || mark.dataset.t.split(" ").includes(type)) &&
    (!kind || (kind === "error" ? !kinds.includes("correct") : kinds.includes(kind))) &&
    (!rare || mark.classList.contains("rare"))
  );
};
const filter = () => {
  const { type, kind, rare, back, on } = form.elements;
  // one and the same entity has to meet all of it
  const meets = (item) => [...item.querySelectorAll(".m")].some((m) => matches(m, type.value, kind.value, rare.checked));
  const found = items.filter(meets);
  first = Math.max(0, Math.min(first, Math.floor((found.length - 1) / PAGE) * PAGE));
  const shown = new Set(found.slice(first, first + PAGE));
  for (const item of items) item.hidden = !shown.has(item);
  back.disabled = !first;
  on.disabled = first + PAGE >= found.length;
  const range = found.length ? `${first + 1} to ${first + shown.size} of ${found.length}` : "None";
  form.querySelector("output").textContent = `${range}${found.length < items.length ? `, ${items.length} in all` : ""}`;
};
const turn = (pages) => {
  first += pages * PAGE;
  filter();
  box.scrollTop = 0;
  if (form.getBoundingClientRect().top < 0 || box.getBoundingClientRect().top < 0) form.scrollIntoView();
};
form.addEventListener("input", () => {
  first = 0;
  filter();
  box.scrollTop = 0;
});
form.addEventListener("submit", (event) => event.preventDefault());
form.elements.back.addEventListener("click", () => turn(-1));
form.elements.on.addEventListener("click", () => turn(1));
form.hidden = false; // without scripts every sentence is in the box, and no dead filter
filter();
