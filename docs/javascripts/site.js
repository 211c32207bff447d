// Names for screen readers, and the keyboard, that the theme does not provide.

document.querySelectorAll(".md-search[role=dialog]").forEach(search => search.setAttribute("aria-label", "Search"));

function makeScrollable() {
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code").forEach(box => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  });
}

addEventListener("load", makeScrollable);
addEventListener("resize", makeScrollable);
