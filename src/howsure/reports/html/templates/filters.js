
// ---- the filters, and the address that remembers them

const remember = () => {
  const kept = new URLSearchParams();
  for (const name of FILTERS) if (state[name] !== "") kept.set(name, state[name]);
  if (state.order !== "worst") kept.set("order", state.order);
  if (state.raw) kept.set("raw", state.raw);
  if (state.open) {
    const [id, candidate] = state.open.split("\u001f");
    kept.set("case", id);
    if (candidate) kept.set("by", candidate);
    if (state.repeat > 1) kept.set("repeat", state.repeat);
  }
  try { history.replaceState(null, "", `#${kept}`); } catch { /* a page without an address keeps its state to itself */ }
};
const recall = () => {
  const kept = new URLSearchParams(location.hash.slice(1));
  for (const name of [...FILTERS, "order"]) state[name] = kept.get(name) ?? (name === "order" ? state.order : "");
  state.open = "";
  state.raw = kept.get("raw") ?? "";
  state.shown = PAGE;
  state.repeat = Number(kept.get("repeat") ?? 0);
  if (kept.has("case")) {
    const named = (group) => group.entries[0].id === kept.get("case");
    const wanted = all.find((group) => named(group) && group.entries[0].candidate === kept.get("by")) ?? all.find(named);
    if (wanted) state.open = wanted.name;
  }
  for (const name of ["change", "candidate", "grader", "tag", "order", "search"]) $(name).value = state[name];
  if (state.search) searchDeep();
};
const follow = () => {
  if (!location.hash.includes("=")) return;
  recall();
  draw();
  (opened() ?? $("cases")).scrollIntoView({ block: "start", behavior: "instant" });
};

const set = (name, value) => {
  state[name] = value;
  state.shown = PAGE;
  state.open = "";
  // What is being typed stays as it is typed: only the filter is trimmed.
  if ($(name) && document.activeElement !== $(name)) $(name).value = value;
  if (name === "search") searchDeep();
  draw();
  remember();
};
const clear = () => {
  for (const name of FILTERS) { state[name] = ""; if ($(name)) $(name).value = ""; }
  set("search", "");
};
const options = (name, values) => {
  if (!values.length || (name === "candidate" && values.length < 2)) return;
  $(`${name}-field`).hidden = false;
  $(name).append(...values.map((value) => { const option = el("option", "", (name === "grader" ? graderName(value) : value) || "unnamed"); option.value = value; return option; }));
};
const chip = (verdict, count) => {
  const made = button("", () => set("verdict", state.verdict === verdict ? "" : verdict), verdict ? mark(verdict) : null, `${verdict || "all"} ${counted(count)}`);
  made.value = verdict;
  return made;
};
const verdicts = index.reduce((counts, entry) => { counts[entry.verdict] += 1; return counts; }, { failed: 0, errored: 0, skipped: 0, passed: 0 });
document.querySelector(".chips").append(chip("", index.length), ...VERDICTS.map((verdict) => chip(verdict, verdicts[verdict])));
options("candidate", [...new Set(index.map((entry) => entry.candidate))]);
options("grader", [...new Set(index.flatMap((entry) => entry.failing))].sort());
options("tag", about.tags);
$("change-field").hidden = !index.some((entry) => entry.change);
for (const name of ["change", "candidate", "grader", "tag", "order"]) $(name).addEventListener("change", (event) => set(name, event.target.value));
$("search").addEventListener("input", (event) => set("search", event.target.value.trim().toLowerCase()));
$("more").addEventListener("click", () => {
  const next = list.children.length;
  state.shown += PAGE;
  draw();
  list.children[next]?.firstChild.focus();
});
