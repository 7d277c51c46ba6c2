"use strict";
/* Lists, filters and opens the cases. Everything foreign becomes a text node: no markup is ever parsed from data. */
(() => {
  const PAGE = 100;
  const ORDER = { failed: 0, errored: 1, skipped: 2, passed: 3 };
  const VERDICTS = ["failed", "errored", "skipped", "passed"];
  const $ = (id) => document.getElementById(id);
  const read = (element) => JSON.parse(element.textContent);
  const blocks = document.querySelectorAll("script.case");
  const index = read($("index"));
  const list = document.querySelector(".cases");
  const showing = document.querySelector(".showing");
  const state = { verdict: "", candidate: "", grader: "", order: "worst", search: "", shown: PAGE, open: "", repeat: 0 };
  let groups = [];
  let deep = null;

  const el = (tag, classes, ...children) => {
    const made = document.createElement(tag);
    if (classes) made.className = classes;
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  };
  const slug = (word) => word.replaceAll(" ", "-");
  const mark = (word) => {
    const shape = el("span", `mark ${slug(word)}`);
    shape.setAttribute("aria-hidden", "true");
    return shape;
  };
  const hidden = (text) => el("span", "visually-hidden", text);
  const key = (entry) => `${entry.id}\u001f${entry.candidate}`;

  // ---- which cases: repeats of one case by one candidate are one line

  index.forEach((entry, place) => { entry.place = place; });
  const all = [...index.reduce((found, entry) => {
    const name = key(entry);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(entry);
    return found;
  }, new Map()).entries()].map(([name, entries]) => ({ name, entries }));

  const matches = (entry) =>
    (!state.verdict || entry.verdict === state.verdict) &&
    (!state.candidate || entry.candidate === state.candidate) &&
    (!state.grader || entry.failing.includes(state.grader)) &&
    (!state.search || found(entry));
  const found = (entry) => {
    const said = `${entry.id} ${entry.candidate} ${entry.asked} ${entry.why}`.toLowerCase();
    return said.includes(state.search) || (deep !== null && deep.has(entry.place));
  };
  const worst = (group) => Math.min(...group.matching.map((entry) => ORDER[entry.verdict]));

  const choose = () => {
    groups = all.map((group) => ({ ...group, matching: group.entries.filter(matches) })).filter((group) => group.matching.length);
    if (state.order === "worst") groups.sort((a, b) => worst(a) - worst(b) || a.entries[0].place - b.entries[0].place);
  };

  // ---- searching the conversations themselves: block by block, in slices, so that the page stays alive

  let searching = 0;
  const strings = (value) => {
    if (typeof value === "string") return value;
    return value && typeof value === "object" ? Object.values(value).map(strings).join("\n") : "";
  };
  const searchDeep = () => {
    const ticket = ++searching;
    const wanted = state.search;
    deep = null;
    if (wanted.length < 2) return;
    const hits = new Set();
    let next = 0;
    const slice = () => {
      if (ticket !== searching) return;
      const until = performance.now() + 30;
      while (next < blocks.length && performance.now() < until) {
        if (strings(read(blocks[next])).toLowerCase().includes(wanted)) hits.add(next);
        next += 1;
      }
      if (next < blocks.length) { setTimeout(slice); return; }
      deep = hits;
      draw();
    };
    setTimeout(slice, 150);
  };

  // ---- the list

  const summaryOf = () => {
    const results = groups.reduce((sum, group) => sum + group.matching.length, 0);
    const repeated = index.length !== all.length;
    if (!index.length) return "There are no results in this run.";
    if (!groups.length) return `No case matches: ${active().join(", ")}.`;
    const some = Math.min(state.shown, groups.length).toLocaleString("en");
    const whole = `${all.length.toLocaleString("en")} cases`;
    const shown = `showing ${some} of ${active().length ? `${groups.length.toLocaleString("en")} that match, of ${whole}` : whole}`;
    return repeated ? `${shown} (${results.toLocaleString("en")} results)` : shown;
  };
  const clearing = () => {
    const button = el("button", "unfold", "clear the filters");
    button.type = "button";
    button.addEventListener("click", clear);
    return button;
  };
  const active = () => [
    state.verdict, state.candidate && `candidate ${state.candidate}`, state.grader && `failed by ${state.grader}`,
    state.search && `“${state.search}”`,
  ].filter(Boolean);

  const leading = (group) => group.matching.reduce((a, b) => (ORDER[b.verdict] < ORDER[a.verdict] ? b : a));
  const line = (group) => {
    const lead = leading(group);
    const row = el("li", "case");
    const button = el("button", "");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const who = el("span", "who", lead.candidate);
    if (group.entries.length > 1) who.append(" ", again(group.entries));
    who.append(el("span", `word ${lead.verdict}`, lead.verdict));
    button.append(mark(lead.verdict), el("span", "id", lead.id), el("span", "asked", lead.asked), who,
      el("span", "why", lead.verdict === "passed" ? "" : lead.why));
    button.addEventListener("click", () => toggle(row, group, row.classList.contains("open") ? row.entry : lead));
    row.append(button);
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
    const rows = groups.slice(0, state.shown).map(line);
    list.replaceChildren(...rows);
    showing.textContent = summaryOf();
    if (index.length && !groups.length) showing.append(" ", clearing());
    const left = groups.length - rows.length;
    $("more").hidden = left <= 0;
    $("more").textContent = `show ${Math.min(PAGE, left)} more of ${left.toLocaleString("en")}`;
    for (const button of document.querySelectorAll(".chips button")) button.setAttribute("aria-pressed", String(button.value === state.verdict));
    const open = rows.find((row) => row.group.name === state.open);
    if (open) toggle(open, open.group);
  };

  const remember = () => {
    const kept = new URLSearchParams();
    for (const name of ["verdict", "candidate", "grader", "search"]) if (state[name]) kept.set(name, state[name]);
    if (state.order !== "worst") kept.set("order", state.order);
    if (state.open) {
      const [id, candidate] = state.open.split("\u001f");
      kept.set("case", id);
      if (candidate) kept.set("by", candidate);
    }
    try { history.replaceState(null, "", `#${kept}`); } catch { /* a page without an address keeps its state to itself */ }
  };
  const recall = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const name of ["verdict", "candidate", "grader", "search", "order"]) if (kept.get(name)) state[name] = kept.get(name);
    if (kept.get("case")) {
      const wanted = all.find((group) => group.entries[0].id === kept.get("case") && group.entries[0].candidate === (kept.get("by") ?? group.entries[0].candidate));
      if (wanted) state.open = wanted.name;
    }
  };

  // ---- one case

  const toggle = (row, group, entry = leading(group)) => {
    const closing = row.classList.contains("open") && row.entry === entry;
    for (const other of list.querySelectorAll(".case.open")) shut(other);
    state.open = closing ? "" : group.name;
    if (!closing) unfurl(row, group, entry);
    remember();
  };
  const shut = (row) => {
    row.classList.remove("open");
    row.querySelector(".detail")?.remove();
    row.firstChild.setAttribute("aria-expanded", "false");
  };
  const unfurl = (row, group, entry) => {
    row.classList.add("open");
    row.entry = entry;
    row.firstChild.setAttribute("aria-expanded", "true");
    row.append(detail(read(blocks[entry.place]), entry, group, row));
  };

  const detail = (data, entry, group, row) => {
    const cited = evidenceOf(data);
    const talk = el("section", "talk-side", el("h3", "", "Conversation"), talkOf(data, cited));
    const grades = el("section", "grade-side", el("h3", "", "Grades"), ...gradesOf(data, cited));
    const asides = [
      ...data.given.map((given) => aside(given.title, given.text)),
      ...data.expected.map((wanted) => aside(`expected: ${wanted.title}`, wanted.text)),
      data.state ? aside("final state", data.state) : null,
    ].filter(Boolean);
    const panel = el("div", "detail");
    if (group.entries.length > 1) panel.append(repeatsOf(group, entry, row));
    panel.append(verdictOf(data, entry), el("div", "columns", talk, el("div", "", grades, ...asides)));
    return panel;
  };
  const aside = (title, text) => el("section", "aside", el("h3", "", title), el("pre", "", text));
  const repeatsOf = (group, entry, row) => el("div", "repeats", ...group.entries.map((one) => {
    const button = el("button", "", mark(one.verdict), `repeat ${one.repeat}`, hidden(` ${one.verdict}`));
    button.type = "button";
    button.setAttribute("aria-pressed", String(one === entry));
    button.addEventListener("click", () => { if (one !== row.entry) toggle(row, group, one); });
    return button;
  }));
  const verdictOf = (data, entry) => {
    const told = new Set(data.reasons);
    const broke = data.failures.map((failure) => `${failure.kind}: ${failure.message}`).filter((_, place) => !told.has(data.failures[place].message));
    const [first = "", ...rest] = [...data.reasons, ...broke];
    const box = el("div", "verdict", el("p", "", el("span", `word ${entry.verdict}`, entry.verdict), first));
    box.append(...rest.map((reason) => el("p", "", reason)));
    const tags = [...data.tags, `${data.seconds} s`].join(" · ");
    box.append(el("p", "quiet", tags));
    return box;
  };

  // ---- evidence: words a grader quoted, numbered, marked where they were said

  const evidenceOf = (data) => {
    const quotes = new Map();
    for (const grade of data.grades) for (const one of [grade, ...grade.parts])
      for (const quote of one.evidence) if (quote && !quotes.has(quote)) quotes.set(quote, quotes.size + 1);
    const texts = data.talk.flatMap((turn) => [turn.text, ...turn.calls.flatMap((call) => [call.arguments, call.result])]);
    const known = new Set([...quotes.keys()].filter((quote) => texts.some((text) => text.toLowerCase().includes(quote.toLowerCase()))));
    return { quotes, known };
  };
  const inked = (text, cited) => {
    const places = [...cited.known].map((quote) => ({ quote, at: text.toLowerCase().indexOf(quote.toLowerCase()) }))
      .filter((place) => place.at >= 0).sort((a, b) => a.at - b.at);
    const pieces = [];
    let done = 0;
    for (const { quote, at } of places) {
      if (at < done) continue;
      const inkedWords = el("mark", "", text.slice(at, at + quote.length), el("sup", "", String(cited.quotes.get(quote))));
      inkedWords.dataset.number = String(cited.quotes.get(quote));
      inkedWords.tabIndex = -1;
      pieces.push(text.slice(done, at), inkedWords);
      done = at + quote.length;
    }
    return [...pieces, text.slice(done)];
  };
  const show = (button, number) => {
    const panel = button.closest(".detail");
    for (const other of panel.querySelectorAll("mark.shown")) other.classList.remove("shown");
    const words = panel.querySelector(`mark[data-number="${number}"]`);
    if (!words) return;
    words.closest("details")?.setAttribute("open", "");
    words.closest(".folded")?.classList.remove("folded");
    words.classList.add("shown");
    words.scrollIntoView({ block: "center" });
    words.focus({ preventScroll: true });
  };
  const citesOf = (evidence, cited) => evidence.filter(Boolean).map((quote) => {
    if (!cited.known.has(quote)) return el("p", "lost", mark("errored"), `quoted words not found: “${quote}”`);
    const number = cited.quotes.get(quote);
    const button = el("button", "cite", String(number));
    button.type = "button";
    button.setAttribute("aria-label", `evidence ${number}: ${quote}`);
    button.addEventListener("click", () => show(button, number));
    return button;
  });

  // ---- the conversation, as a script

  const talkOf = (data, cited) => {
    if (data.silent && !data.talk.length) return el("p", "quiet", "Nothing was said.");
    const talk = el("div", "talk", ...data.talk.map((turn) => turnOf(turn, cited)));
    if (data.silent) talk.append(el("p", "quiet", "No answer: the agent broke before there was one."));
    return talk;
  };
  const turnOf = (turn, cited) => {
    const said = el("div", "");
    if (turn.text) said.append(el("div", "said", ...inked(turn.text, cited)));
    said.append(...turn.calls.map((call) => callOf(call, cited)));
    if (turn.text.length > 1400 || turn.text.split("\n").length > 14) fold(said);
    return el("div", `turn ${turn.role}`, el("div", "role", turn.agent || turn.role), said);
  };
  const fold = (said) => {
    if (said.querySelector("mark")) return;
    said.classList.add("folded");
    const button = el("button", "unfold", "show all of it");
    button.type = "button";
    button.addEventListener("click", () => { said.classList.toggle("folded"); button.textContent = said.classList.contains("folded") ? "show all of it" : "show less"; });
    said.children[0].after(button);
  };
  const callOf = (call, cited) => {
    const arguments_ = inked(call.arguments, cited);
    const result = inked(call.result, cited);
    const box = el("details", call.failed ? "call broken" : "call",
      el("summary", "", el("span", "mono", `→ ${call.name}(${call.brief}) `), el("span", "mono result", `← ${call.failed ? "failed: " : ""}${call.said}`)),
      el("div", "label", "arguments"), el("pre", "", ...arguments_),
      call.result ? el("div", "label", "result") : null, call.result ? el("pre", "", ...result) : null);
    box.open = call.failed || arguments_.length > 1 || result.length > 1;
    return box;
  };

  // ---- the grades

  const GRADE_ORDER = { failed: 0, errored: 1, "no judge": 2, "": 3, passed: 4, measured: 5, "not applicable": 6 };
  const gradesOf = (data, cited) => {
    if (!data.grades.length) return [el("p", "quiet", "Nothing was graded.")];
    const sorted = [...data.grades].sort((a, b) => rank(a) - rank(b));
    return sorted.map((grade) => gradeOf(grade, cited));
  };
  const rank = (grade) => Math.min(GRADE_ORDER[grade.mark], ...grade.parts.map((part) => (part.mark === "failed" ? 0.5 : 9)));
  const gradeOf = (grade, cited) => {
    const word = grade.mark === "passed" || grade.mark === "measured" || !grade.mark ? "" : grade.mark;
    const value = [grade.value, grade.needed && `needed ${grade.needed}`].filter(Boolean).join(", ");
    const head = el("div", "head", grade.mark ? mark(grade.mark) : null, el("span", "name", grade.name),
      word ? el("span", `word ${slug(grade.mark)}`, word) : hidden(grade.mark), el("span", "value", value));
    const reason = grade.reason || grade.evidence.length ? el("div", "reason", grade.reason, ...citesOf(grade.evidence, cited)) : null;
    const box = el("div", "grade", head, reason, grade.parts.length ? partsOf(grade.parts, cited) : null);
    if (grade.judge) box.append(el("p", "label", `judged by ${grade.judge}`));
    if (grade.details) box.append(el("details", "", el("summary", "", "details"), el("pre", "", grade.details)));
    return box;
  };
  const partsOf = (parts, cited) => el("table", "parts", el("tbody", "", ...parts.map((part) => {
    const facts = [part.mark === "failed" || part.mark === "passed" ? "" : part.mark, part.weight && `weight ${part.weight}`, part.scope.replaceAll("_", " ")].filter(Boolean).join(" · ");
    const severity = part.severity ? el("span", `severity ${part.severity}`, part.severity) : null;
    return el("tr", "",
      el("td", "", mark(part.mark), hidden(part.mark)),
      el("td", "", el("div", "", part.text, ...(severity ? [" ", severity] : [])), facts ? el("div", "label", facts) : null,
        part.reason || part.evidence.length ? el("div", "reason", part.reason, ...citesOf(part.evidence, cited)) : null));
  })));

  // ---- what goes wrong most often

  const common = read($("wrong"));
  if (common.length) {
    $("common").hidden = false;
    document.querySelector(".common").append(...common.map((one) => {
      const button = el("button", "", mark(one.mark), el("span", "", hidden(`${one.mark}: `), one.text ? `${one.text} ` : "", el("span", one.text ? "quiet" : "", one.grader)),
        el("span", `severity ${one.severity}`, one.severity), el("span", "figure", `${one.count.toLocaleString("en")} of ${index.length.toLocaleString("en")}`));
      button.type = "button";
      button.title = "show these cases";
      button.addEventListener("click", () => { clear(); set("grader", one.grader); $("cases").scrollIntoView(); });
      return el("li", "", button);
    }));
  }

  // ---- the filters

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
  const clear = () => { for (const name of ["verdict", "candidate", "grader", "search"]) set(name, ""); };
  const options = (name, values) => {
    if (!values.length || (name === "candidate" && values.length < 2)) return;
    $(`${name}-field`).hidden = false;
    $(name).append(...values.map((value) => { const option = el("option", "", value || "unnamed"); option.value = value; return option; }));
  };
  const chip = (verdict, count) => {
    const button = el("button", "", verdict ? mark(verdict) : null, `${verdict || "all"} ${count.toLocaleString("en")}`);
    button.type = "button";
    button.value = verdict;
    button.addEventListener("click", () => set("verdict", state.verdict === verdict ? "" : verdict));
    return button;
  };
  const counts = Object.fromEntries(VERDICTS.map((verdict) => [verdict, index.filter((entry) => entry.verdict === verdict).length]));
  document.querySelector(".chips").append(chip("", index.length), ...VERDICTS.map((verdict) => chip(verdict, counts[verdict])));
  options("candidate", [...new Set(index.map((entry) => entry.candidate))]);
  options("grader", [...new Set(index.flatMap((entry) => entry.failing))].sort());
  for (const name of ["candidate", "grader", "order"]) $(name).addEventListener("change", (event) => set(name, event.target.value));
  $("search").addEventListener("input", (event) => set("search", event.target.value.trim().toLowerCase()));
  $("more").addEventListener("click", () => {
    const next = list.children.length;
    state.shown += PAGE;
    draw();
    list.children[next]?.firstChild.focus();
  });

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

  recall();
  for (const name of ["candidate", "grader", "order", "search"]) $(name).value = state[name];
  if (state.search) searchDeep();
  draw();
  opened()?.scrollIntoView({ block: "start" });
})();
