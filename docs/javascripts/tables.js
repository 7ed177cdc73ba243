// Tables that scroll can be reached, and scrolled, by the keyboard. The theme wraps them when the page is there.
const reachable = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) each.tabIndex = 0;
};
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
reachable();
