
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
  const found = [];
  let done = 0;
  for (const { quote, at } of places) {
    if (at < done) continue;
    const words = el("mark", "", text.slice(at, at + quote.length), el("sup", "", String(cited.quotes.get(quote))));
    words.dataset.number = String(cited.quotes.get(quote));
    words.tabIndex = -1;
    found.push(text.slice(done, at), words);
    done = at + quote.length;
  }
  return [...found, text.slice(done)];
};
const show = (cite, number) => {
  const panel = cite.closest(".detail");
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
  const cite = button("cite", () => show(cite, number), String(number));
  cite.setAttribute("aria-label", `evidence ${number}: ${quote}`);
  return cite;
});
