"use strict";
// Keys over real links and buttons; nothing here is needed to read a page.
(() => {
  const lines = () => [...document.querySelectorAll("[data-line]")];
  let at = -1;
  const choose = (step) => {
    const all = lines();
    if (!all.length) return;
    all[at]?.classList.remove("chosen");
    at = Math.max(0, Math.min(all.length - 1, at + step));
    all[at].classList.add("chosen");
    all[at].scrollIntoView({ block: "nearest" });
  };
  const follow = (selector) => document.querySelector(selector)?.click();
  const keys = {
    j: () => choose(1),
    k: () => choose(-1),
    Enter: () => { const to = lines()[at]?.dataset.open; if (to) location.assign(to); },
    n: () => follow("[data-next]"),
    p: () => follow("[data-previous]"),
    u: () => follow("[data-up]"),
    x: () => lines()[at]?.querySelector("[data-pick]")?.click(),
    c: () => follow("[data-compare]"),
    "?": () => document.getElementById("help").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    const does = keys[event.key];
    if (does) { event.preventDefault(); does(); }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) document.getElementById("help").showModal();
  });
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
})();
