"use strict";
// Line numbers beside the text, marked where something is wrong. The text can be written and kept without this.
(() => {
  const text = document.getElementById("text");
  const gutter = document.querySelector(".gutter");
  if (!text || !gutter) return;
  const wrong = () => new Map([...document.querySelectorAll("#problems [data-at]")].map((each) => [Number(each.dataset.at), each]));
  const draw = () => {
    const marked = wrong();
    const count = text.value.split("\n").length;
    const parts = [""];
    for (let place = 1; place <= count; place += 1) {
      const found = marked.get(place);
      if (!found) { parts[parts.length - 1] += `${place}\n`; continue; }
      const line = document.createElement("span");
      line.textContent = String(place);
      line.className = `at ${found.className}`;
      parts.push(line, "\n");
    }
    gutter.replaceChildren(...parts);
    gutter.scrollTop = text.scrollTop;
  };
  const go = (line) => {
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1] || "").length);
    text.scrollTop = Math.max(0, (line - 4) * (text.scrollHeight / lines.length));
  };
  text.addEventListener("input", draw);
  text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
  document.addEventListener("click", (event) => {
    const at = event.target.closest?.("#problems [data-at]");
    if (at && event.target.closest("button")) go(Number(at.dataset.at));
  });
  document.addEventListener("htmx:afterSwap", draw);
  // Who leaves with something written is asked first; what was refused is not kept either.
  const written = () => JSON.stringify([...new FormData(text.form)]);
  const kept = text.form.hasAttribute("data-refused") ? "" : written();
  let sent = false;
  text.form.addEventListener("submit", () => { sent = true; });
  window.addEventListener("beforeunload", (event) => { if (!sent && written() !== kept) event.preventDefault(); });
  draw();
})();
