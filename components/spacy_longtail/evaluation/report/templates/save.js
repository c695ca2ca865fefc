// each figure can be saved, with the page's colours as they are now
const style = getComputedStyle(document.documentElement);
const settled = (text) =>
  text
    .replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim())
    .replace(/currentcolor/gi, style.getPropertyValue("--ink").trim());
const drawn = (svg) => {
  const copy = svg.cloneNode(true);
  const [x, y, wide, high] = copy.getAttribute("viewBox").split(/\s+/).map(Number);
  for (const element of copy.querySelectorAll("*")) {
    for (const name of ["style", "fill", "stroke"]) {
      const value = element.getAttribute(name);
      if (value) element.setAttribute(name, settled(value));
    }
    if (element.tagName === "text") element.style.fontFamily = "system-ui, Arial, sans-serif";
  }
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ x, y, width: wide, height: high, fill: settled("var(--paper)") })) paper.setAttribute(name, value);
  copy.prepend(paper);
  copy.setAttribute("width", wide);
  copy.setAttribute("height", high);
  return { text: new XMLSerializer().serializeToString(copy), wide, high };
};
const download = (address, name) => {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
};
const address = (text) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
const saved = {
  SVG: (svg, name) => download(address(drawn(svg).text), `${name}.svg`),
  PNG: async (svg, name) => {
    const { text, wide, high } = drawn(svg);
    const image = new Image();
    image.src = address(text);
    await image.decode();
    const canvas = document.createElement("canvas");
    const scale = 3; // sharp on a slide
    canvas.width = wide * scale;
    canvas.height = high * scale;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(canvas.toDataURL("image/png"), `${name}.png`);
  },
};
document.querySelectorAll(".plot svg").forEach((svg, i) => {
  const bar = document.createElement("p");
  bar.className = "save";
  const name = svg.closest(".plot").dataset.name || `figure-${i + 1}`;
  for (const [kind, save] of Object.entries(saved)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Save ${kind}`;
    button.setAttribute("aria-label", `Save as ${kind}: ${svg.getAttribute("aria-label")}`);
    button.addEventListener("click", () => save(svg, name));
    bar.append(button);
  }
  svg.closest(".plot").after(bar);
});
