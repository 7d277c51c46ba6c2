
// ---- which cases: repeats of one case by one candidate are one line

const key = (entry) => `${entry.id}\u001f${entry.candidate}`;
const all = [...index.reduce((found, entry) => {
  const name = key(entry);
  if (!found.has(name)) found.set(name, []);
  found.get(name).push(entry);
  return found;
}, new Map()).entries()].map(([name, entries]) => ({ name, entries: entries.sort((a, b) => a.repeat - b.repeat) }));
let groups = [];
let deep = null;

const matches = (entry) =>
  (!state.verdict || entry.verdict === state.verdict) &&
  (!state.change || entry.change === state.change) &&
  (!state.candidate || entry.candidate === state.candidate) &&
  (!state.grader || entry.failing.includes(state.grader)) &&
  (!state.tag || entry.tags.includes(state.tag)) &&
  (state.what === "" || entry.wrong.includes(Number(state.what))) &&
  (!state.search || found(entry));
const found = (entry) => {
  const said = `${entry.id} ${entry.candidate} ${entry.asked} ${entry.why}`.toLowerCase();
  return said.includes(state.search) || (deep !== null && deep.has(entry.rank));
};
const least = (group, value) => Math.min(...group.matching.map(value));
const ORDERS = {
  worst: (a, b) => least(a, (one) => ORDER[one.verdict]) - least(b, (one) => ORDER[one.verdict]) || ORDERS.file(a, b),
  file: (a, b) => a.entries[0].place - b.entries[0].place,
  id: (a, b) => a.entries[0].id.localeCompare(b.entries[0].id, "en", { numeric: true }) || ORDERS.file(a, b),
  slow: (a, b) => least(a, (one) => -(one.seconds ?? 0)) - least(b, (one) => -(one.seconds ?? 0)) || ORDERS.file(a, b),
};
const choose = () => {
  groups = all.map((group) => ({ ...group, matching: group.entries.filter(matches) })).filter((group) => group.matching.length);
  groups.sort(ORDERS[state.order] ?? ORDERS.worst);
};

// ---- searching the conversations themselves: chunk by chunk, in slices, so that the page stays alive

let searching = 0;
const strings = (value) => {
  if (typeof value === "string") return value;
  return value && typeof value === "object" ? Object.entries(value).map(([name, each]) => (name === "tree" ? "" : strings(each))).join("\n") : "";
};
const searchDeep = async () => {
  const ticket = ++searching;
  const wanted = state.search;
  deep = null;
  if (wanted.length < 2) return;
  await whole;
  await new Promise((done) => setTimeout(done, 150));
  const hits = new Set();
  for (const chunk of chunks()) {
    if (ticket !== searching) return;
    const blocks = await unpacked(chunk);
    blocks.forEach((block, place) => { if (strings(block).toLowerCase().includes(wanted)) hits.add(Number(chunk.dataset.first) + place); });
    await new Promise((done) => setTimeout(done));
  }
  if (ticket !== searching) return;
  deep = hits;
  draw();
};

// ---- the list

const summaryOf = () => {
  const results = groups.reduce((sum, group) => sum + group.matching.length, 0);
  if (!index.length) return "There are no results in this run.";
  if (!groups.length) return `No case matches: ${active().join(", ")}.`;
  const some = counted(Math.min(state.shown, groups.length));
  const every = index.length < about.total ? `the worst ${counted(all.length)} of a larger run` : all.length === 1 ? "1 case" : `${counted(all.length)} cases`;
  const shown = `showing ${some} of ${active().length ? `${counted(groups.length)} that match (${active().join(", ")}), of ${every}` : every}`;
  return index.length !== all.length ? `${shown}, ${counted(results)} results` : shown;
};
const active = () => [
  state.verdict, state.change && `got ${state.change}`, state.candidate && `candidate ${state.candidate}`, state.grader && `failed by ${graderName(state.grader)}`,
  state.tag, state.what !== "" && "failed by what was chosen above", state.search && `“${state.search}”`,
].filter(Boolean);

const leading = (group) => group.matching.reduce((a, b) => (ORDER[b.verdict] < ORDER[a.verdict] ? b : a));
const line = (group) => {
  const lead = leading(group);
  const row = el("li", "case");
  const who = el("span", "who", lead.candidate);
  if (group.entries.length > 1) who.append(" ", again(group.entries));
  if (lead.change) who.append(el("span", `change word ${lead.change === "worse" ? "failed" : "passed"}`, lead.change));
  who.append(el("span", `word ${lead.verdict}`, lead.verdict));
  const head = button("", () => toggle(row, group, row.classList.contains("open") ? row.entry : lead),
    mark(lead.verdict), el("span", "id", shortId(lead.id)), el("span", "asked", lead.asked), who,
    el("span", "why", ...ticked(lead.verdict === "passed" ? "" : lead.why)));
  head.setAttribute("aria-expanded", "false");
  row.append(head);
  row.group = group;
  return row;
};
const again = (entries) => {
  const passed = entries.filter((entry) => entry.verdict === "passed").length;
  const marks = el("span", "again", ...entries.slice(0, 10).map((entry) => mark(entry.verdict)));
  marks.append(` ${passed}/${entries.length}`, hidden(" repeats passed"));
  return marks;
};

const draw = () => {
  choose();
  const first = groups.slice(0, state.shown);
  // What a link asks for may lie beyond what is listed: it is listed first then.
  const asked = groups.find((group) => group.name === state.open);
  const rows = (asked && !first.includes(asked) ? [asked, ...first.slice(0, -1)] : first).map(line);
  list.replaceChildren(...rows);
  showing.textContent = summaryOf();
  if (active().length) showing.append(" ", button("unfold", clear, "clear the filters"));
  const left = groups.length - rows.length;
  $("more").hidden = left <= 0;
  $("more").textContent = `show ${Math.min(PAGE, left)} more of ${counted(left)}`;
  for (const chip of document.querySelectorAll(".chips button")) chip.setAttribute("aria-pressed", String(chip.value === state.verdict));
  const open = rows.find((row) => row.group.name === state.open);
  if (open) toggle(open, open.group, open.group.entries.find((entry) => entry.repeat === state.repeat) ?? leading(open.group));
};
