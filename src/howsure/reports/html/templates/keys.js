
// ---- keys

const rows = () => [...list.children];
const here = () => rows().findIndex((row) => row.contains(document.activeElement));
const go = (row) => { if (row) { row.firstChild.focus(); row.scrollIntoView({ block: "nearest" }); } };
const step = (by) => go(rows()[Math.max(0, Math.min(rows().length - 1, here() < 0 && by > 0 ? 0 : here() + by))]);
const failure = (by) => {
  const shown = rows();
  const from = Math.max(here(), shown.findIndex((row) => row.classList.contains("open")));
  for (let place = from + by; place >= 0 && place < shown.length; place += by) {
    if (!shown[place].group.matching.some((entry) => entry.verdict === "failed" || entry.verdict === "errored")) continue;
    if (!shown[place].classList.contains("open")) toggle(shown[place], shown[place].group);
    shown[place].firstChild.focus({ preventScroll: true });
    shown[place].scrollIntoView({ block: "start" });
    return;
  }
};
const opened = () => list.querySelector(".case.open");
const evidence = () => {
  const cites = [...(opened()?.querySelectorAll(".cite") ?? [])];
  const last = Number(opened()?.querySelector("mark.shown")?.dataset.number ?? 0);
  (cites.find((cite) => Number(cite.textContent) > last) ?? cites[0])?.click();
};
const repeat = (by) => {
  const row = opened();
  const next = row?.group.entries[row.group.entries.indexOf(row.entry) + by];
  if (next) toggle(row, row.group, next);
};
const close = () => { const row = opened(); if (row) { toggle(row, row.group, row.entry); row.firstChild.focus(); } };
const KEYS = {
  j: () => step(1), k: () => step(-1), n: () => failure(1), p: () => failure(-1), e: evidence, u: close,
  "[": () => repeat(-1), "]": () => repeat(1), "/": () => $("search").focus(), "?": () => $("keys").showModal(),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, select, textarea") || $("keys").open;
  if (event.key === "Escape" && event.target === $("search")) { event.target.blur(); set("search", ""); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !$("keys-on").checked || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
$("keys-button").addEventListener("click", () => $("keys").showModal());
