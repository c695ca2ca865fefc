// a link to what is folded away unfolds it; so does printing
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  const inner = target.querySelector(":scope > details");
  if (inner && target.tagName === "SECTION" && target.classList.contains("folded")) inner.open = true;
  target.scrollIntoView();
};
window.addEventListener("hashchange", unfold);
for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => setTimeout(unfold));
unfold();
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
