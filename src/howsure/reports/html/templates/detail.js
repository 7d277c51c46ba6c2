
// ---- one case

const toggle = (row, group, entry = leading(group)) => {
  const closing = row.classList.contains("open") && row.entry === entry;
  for (const other of list.querySelectorAll(".case.open")) shut(other);
  state.open = closing ? "" : group.name;
  state.repeat = closing ? 0 : entry.repeat;
  if (!closing) unfurl(row, group, entry);
  remember();
};
const shut = (row) => {
  row.classList.remove("open");
  row.querySelector(".detail")?.remove();
  row.firstChild.setAttribute("aria-expanded", "false");
  row.entry = null;
};
const unfurl = async (row, group, entry) => {
  row.classList.add("open");
  row.entry = entry;
  row.firstChild.setAttribute("aria-expanded", "true");
  const data = await blockOf(entry);
  if (row.entry === entry && !row.querySelector(".detail")) row.append(data.left_out ? absent(entry) : detail(data, entry, group, row));
};

const absent = (entry) => el("div", "detail left-out",
  el("p", "", el("span", `word ${entry.verdict}`, entry.verdict), " ", entry.why),
  el("p", "quiet", "The rest of this case is not in the file, which is kept below 20 MB. This shows it: ",
    el("code", "", `howsure show ${about.run} '${entry.id.replaceAll("'", "'\"'\"'")}'`)));
const detail = (data, entry, group, row) => {
  const cited = evidenceOf(data);
  const talk = el("section", "talk-side", el("h3", "", "Conversation ", rawSwitch(data, row)), talkOf(data, cited));
  const grades = el("section", "grade-side", el("h3", "", "Grades"), ...gradesOf(data, cited));
  const given = [...data.given.map((one) => aside(one.title, one.text)), ...(data.state ? [aside("final state", data.state)] : [])];
  const wanted = data.expected.map((one) => aside(`expected: ${one.title}`, one.text, rendered(one)));
  const panel = el("div", "detail");
  if (group.entries.length > 1) panel.append(repeatsOf(group, entry, row));
  panel.append(verdictOf(data, entry), el("div", "columns", el("div", "", talk, ...given), el("div", "", grades, ...wanted)));
  return panel;
};
const aside = (title, text, drawn = null) => el("section", "aside", el("h3", "", title), drawn ? el("div", "framed", drawn) : el("pre", "", text));
const repeatsOf = (group, entry, row) => el("div", "repeats", ...group.entries.map((one) => {
  const choice = button("", () => { if (one !== row.entry) toggle(row, group, one); }, mark(one.verdict), `repeat ${one.repeat}`, hidden(` ${one.verdict}`));
  choice.setAttribute("aria-pressed", String(one === entry));
  return choice;
}));
const verdictOf = (data, entry) => {
  const told = new Set(data.reasons);
  const broke = data.failures.map((failure) => `${failure.kind}: ${failure.message}`).filter((_, place) => !told.has(data.failures[place].message));
  const [first = "", ...rest] = [...data.reasons, ...broke];
  const box = el("div", "verdict", el("p", "", el("span", `word ${entry.verdict}`, entry.verdict), ...ticked(first)));
  box.append(...rest.map((reason) => el("p", "", ...ticked(reason))), el("p", "quiet", [...data.tags, data.measured].filter(Boolean).join(" · ")));
  return box;
};

// ---- the conversation, as a script

const talkOf = (data, cited) => {
  if (data.silent && !data.talk.length) return el("p", "quiet", "Nothing was said.");
  const answer = data.talk.findLast((turn) => turn.role === "assistant" && turn.text);
  const talk = el("div", "talk", ...data.talk.map((turn) => turnOf(turn, cited, turn === answer)));
  if (data.silent) talk.append(el("p", "quiet", "No answer: the agent broke before there was one."));
  return talk;
};
const turnOf = (turn, cited, isAnswer) => {
  const said = el("div", "");
  if (turn.text) said.append(rendered(turn, cited) ?? el("div", "said", ...inked(turn.text, cited)));
  said.append(...turn.calls.map((call) => callOf(call, cited)));
  const long = turn.text.length > 1400 || turn.text.split("\n").length > 14 || (turn.role === "system" && turn.text.length > 120);
  if (long && !isAnswer) fold(said);
  return el("div", `turn ${slug(turn.role)}`, el("div", "role", turn.agent || turn.role), said);
};
const fold = (said) => {
  if (said.querySelector("mark")) return;
  said.classList.add("folded");
  const more = button("unfold", () => { more.textContent = said.classList.toggle("folded") ? "show all of it" : "show less"; }, "show all of it");
  said.children[0].after(more);
};
const callOf = (call, cited) => {
  const given = inked(call.arguments, cited);
  const result = inked(call.result, cited);
  const box = el("details", call.failed ? "call broken" : "call",
    el("summary", "", el("span", "mono", `→ ${call.name}(${call.brief}) `), el("span", "mono result", `← ${call.failed ? "failed: " : ""}${call.said}`)),
    el("div", "label", "arguments"), el("pre", "", ...given),
    call.result ? el("div", "label", "result") : null, call.result ? el("pre", "", ...result) : null);
  box.open = call.failed || given.length > 1 || result.length > 1;
  return box;
};

// ---- the grades

const gradesOf = (data, cited) => {
  if (!data.grades.length) return [el("p", "quiet", "Nothing was graded.")];
  const shown = data.grades.map((grade) => gradeOf(grade, cited));
  const first = data.grades.findIndex((grade) => !grade.decides);
  if (first >= 0) shown.splice(first, 0, el("h3", "only-measured", "Only measured: these do not decide the verdict"));
  return shown;
};
const gradeOf = (grade, cited) => {
  const word = grade.mark === "passed" || grade.mark === "measured" || !grade.mark ? "" : grade.mark;
  const value = [grade.value, grade.needed && `needed ${grade.needed}`].filter(Boolean).join(", ");
  const head = el("div", "head", grade.mark ? mark(grade.mark) : null, el("span", "name", grade.name),
    word ? el("span", `word ${slug(grade.mark)}`, word) : hidden(grade.mark), el("span", "value", value));
  const reason = grade.reason || grade.evidence.length ? el("div", "reason", ...ticked(grade.reason), ...citesOf(grade.evidence, cited)) : null;
  const box = el("div", "grade", head, reason, grade.parts.length ? partsOf(grade.parts, cited) : null);
  if (grade.judge) box.append(el("p", "label", `judged by ${grade.judge === "recorded" ? "a recording" : grade.judge}`));
  if (grade.details) box.append(el("details", "", el("summary", "", "details"), el("pre", "", grade.details)));
  return box;
};
const partsOf = (parts, cited) => el("table", "parts", el("tbody", "", ...parts.map((part) => {
  const facts = [part.mark === "failed" || part.mark === "passed" ? "" : part.mark, part.weight && `weight ${part.weight}`, part.scope.replaceAll("_", " ")].filter(Boolean).join(" · ");
  const severity = part.severity ? el("span", `severity ${part.severity}`, part.severity) : null;
  return el("tr", "",
    el("td", "", mark(part.mark), hidden(part.mark)),
    el("td", "", el("div", "", part.text, ...(severity ? [" ", severity] : [])), facts ? el("div", "label", facts) : null,
      part.reason || part.evidence.length ? el("div", "reason", ...ticked(part.reason), ...citesOf(part.evidence, cited)) : null));
})));
