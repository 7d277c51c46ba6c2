"use strict";
// One key for each answer; the buttons and links do the same without this.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, dialog[open]");
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // What another key began (`g`, then a letter) is not ours; and single keys can be switched off.
  if (event.defaultPrevented || localStorage.getItem("howsure-keys") === "false") return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const found = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
  if (found) { event.preventDefault(); found.click(); }
});
