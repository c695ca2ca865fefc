"use strict";
// tables sort by a click on a column's head; averages stay where they are
const number = (text) => {
  const found = text.replace(/,/g, "").replace(/−/g, "-").match(/-?\d+(\.\d+)?/);
  return found ? parseFloat(found[0]) : null;
};
const compare = (a, b) => {
  if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
  return typeof a.key === "number" ? a.way * (a.key - b.key) : a.way * a.key.localeCompare(b.key);
};
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const now = head.getAttribute("aria-sort");
      // numbers: the largest first, names: from A
      const next = now === "descending" ? "ascending" : now === "ascending" ? "descending" : numeric ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", next);
      const way = next === "ascending" ? 1 : -1;
      const rows = [...body.rows].map((row) => {
        const text = row.cells[i].textContent.trim();
        return { row, way, key: numeric ? number(text) : text };
      });
      rows.sort(compare);
      body.append(...rows.map((entry) => entry.row));
    });
  });
}
