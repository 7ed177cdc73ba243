"use strict";
// Boxes are drawn a page of tokens at a time, when the page comes near the window: a megabyte of text stays quick.
const PAGE = 400;
let idsAreOpen = false;

function tipOf(column, number) {
  const [id, text, hex, flags] = column.kinds[column.order[number]];
  const lines = [`id ${id}` + (flags & 1 ? ", special" : ""), text, `bytes ${hex}`];
  if (column.spans) lines.push(`bytes ${column.spans[2 * number]} to ${column.spans[2 * number + 1]} of the text`);
  if (flags & 2) lines.push("a part of a character");
  return lines.join("\n");
}

function boxOf(column, number) {
  const [, text, , flags] = column.kinds[column.order[number]];
  const box = document.createElement("span");
  box.className = `token t${number % 6}` + (flags & 1 ? " special" : "") + (flags & 2 ? " part" : "");
  for (const piece of text.split(/([␣↵␍⇥]+)/)) {
    if (!piece) continue;
    const part = document.createElement("span");
    if (/^[␣↵␍⇥]/.test(piece)) part.className = "blank";
    part.textContent = piece;
    box.append(part);
  }
  box.dataset.number = number;
  box.tabIndex = -1;
  return box;
}

function fill(column, page, start) {
  const end = Math.min(start + PAGE, column.order.length);
  for (let number = start; number < end; number++) {
    page.append(boxOf(column, number));
    if (column.kinds[column.order[number]][3] & 4) page.append(document.createElement("br"));
  }
}

function columnOf(column) {
  const root = document.createElement("section");
  root.className = "column";
  const head = document.createElement("h2");
  head.textContent = column.name;
  const sum = document.createElement("p");
  sum.className = "sum";
  sum.textContent = column.summary;
  const text = document.createElement("div");
  text.className = "text" + (column.order.length <= PAGE ? " small" : "");
  text.tabIndex = 0;
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", `tokens of ${column.name}`);
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const page = entry.target;
      if (entry.isIntersecting && !page.firstChild) {
        page.style.minHeight = "";
        fill(column, page, Number(page.dataset.start));
      } else if (!entry.isIntersecting && page.firstChild && !page.contains(document.activeElement)) {
        page.style.minHeight = `${page.offsetHeight}px`;
        page.replaceChildren();
      }
    }
  }, { root: text, rootMargin: "600px" });
  for (let start = 0; start < column.order.length; start += PAGE) {
    const page = document.createElement("div");
    page.className = "page";
    page.dataset.start = start;
    if (start) page.style.minHeight = "12rem";
    else fill(column, page, 0);
    text.append(page);
    watch.observe(page);
  }
  text.column = column;
  root.append(head, sum, text, idsOf(column));
  return root;
}

// The ids as a text to copy, which is made when somebody asks for it.
function idsOf(column) {
  const root = document.createElement("details"), head = document.createElement("summary");
  head.textContent = "ids";
  root.append(head);
  root.open = idsAreOpen;
  const list = () => {
    if (!root.open || root.children.length > 1) return;
    const ids = document.createElement("textarea");
    ids.readOnly = true;
    ids.value = column.order.map((kind) => column.kinds[kind][0]).join(" ");
    ids.setAttribute("aria-label", `ids of ${column.name}`);
    ids.addEventListener("focus", () => ids.select());
    root.append(ids);
  };
  root.addEventListener("toggle", () => { idsAreOpen = root.open; list(); });
  list();
  return root;
}

// Where each box begins and ends: the tokens themselves tell it if their bytes are the text.
function spansOf(column) {
  if (column.spans !== true) return column.spans;
  const spans = [];
  let end = 0;
  for (const kind of column.order) {
    spans.push(end);
    end += (column.kinds[kind][2].length + 1) / 3;
    spans.push(end);
  }
  return spans;
}

function show(root, columns) {
  for (const column of columns) column.spans = spansOf(column);
  const grid = document.createElement("div");
  grid.className = "columns";
  grid.append(...columns.map(columnOf));
  root.replaceChildren(grid);
  hide();
}

function hide() {
  document.getElementById("tip").classList.remove("on");
}

function point(box) {
  const tip = document.getElementById("tip");
  const column = box.closest(".text").column;
  tip.textContent = tipOf(column, Number(box.dataset.number));
  tip.classList.add("on");
  const at = box.getBoundingClientRect(), size = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(at.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${at.bottom + size.height + 10 > innerHeight ? Math.max(4, at.top - size.height - 6) : at.bottom + 6}px`;
}

document.addEventListener("mouseover", (event) => {
  const box = event.target.closest(".token");
  if (box) point(box); else hide();
});
document.addEventListener("focusin", (event) => {
  const box = event.target.closest(".token");
  if (box) point(box);
});
document.addEventListener("keydown", (event) => {
  const text = event.target.closest(".text");
  if (event.key === "Escape") hide();
  if (!text || !["ArrowLeft", "ArrowRight", "Home"].includes(event.key)) return;
  const box = event.target.closest(".token");
  const number = !box || event.key === "Home" ? 0 : Number(box.dataset.number) + (event.key === "ArrowRight" ? 1 : -1);
  const next = text.querySelector(`[data-number="${number}"]`);
  if (next) {
    next.focus();
    event.preventDefault();
  }
});
