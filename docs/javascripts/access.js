// What the theme lacks for keyboards and screen readers: a name of the search, boxes of code and tables that can be
// reached and scrolled, those outside the window too, and buttons of code that are not each a landmark of the page.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const scrolling = [".md-typeset__scrollwrap", ".md-typeset pre > code", ".md-typeset p:has(> img[src*='pictures/'])"];
const boxes = scrolling.map((each) => `${each}:not([tabindex])`).join(", ");
const reachable = () => {
  for (const each of document.querySelectorAll(boxes)) each.tabIndex = 0;
  for (const each of document.querySelectorAll(".md-code__nav:not([role])")) each.setAttribute("role", "none");
};
// the theme wraps tables when the page is there, and takes the index away from code that it has not looked at
const changes = { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] };
new MutationObserver(reachable).observe(document.body, changes);
reachable();
