
// ---- Markdown: the file holds a tree of known elements; nothing in it is markup, and no address is followed

const CLASSED = { heading: "p", language: "span", address: "span", picture: "span" };
const flat = (tree) => tree.map((node) => (typeof node === "string" ? node : flat(node[2]))).join("");
const SIGNS = "[\\s*_`~|#>()!:\\[\\]-]";
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&");
// Where a quote stands in the words of a tree, in which the signs of Markdown are gone.
const placeOf = (quote, words) => {
  const parts = quote.slice(0, 2000).replace(/^[ \t]*\d{1,9}[.)]\s/gm, " ").split(new RegExp(SIGNS)).filter(Boolean);
  return parts.length ? new RegExp(parts.map(escaped).join(`${SIGNS}*`), "i").exec(words) : null;
};
const treeMarks = (text, tree, cited) => {
  const words = flat(tree);
  const quoted = [...cited.known].filter((quote) => text.toLowerCase().includes(quote.toLowerCase()));
  const places = quoted.map((quote) => ({ number: cited.quotes.get(quote), place: placeOf(quote, words) }));
  if (places.some(({ place }) => !place)) return null;
  return places.map(({ number, place }) => ({ number, start: place.index, end: place.index + place[0].length })).sort((a, b) => a.start - b.start);
};
const NO_QUOTES = { quotes: new Map(), known: new Set() };
// The text as its Markdown means it; null where it is plain, where a quote would be lost, or where it is wanted as written.
const rendered = (said, cited = NO_QUOTES) => {
  const marks = said.tree && !state.raw ? treeMarks(said.text, said.tree, cited) : null;
  if (!marks) return null;
  let at = 0;
  const leaf = (text) => {
    const made = [];
    const end = at + text.length;
    for (const { number, start, end: last } of marks) {
      const from = Math.max(at, start);
      const to = Math.min(end, last);
      if (from >= to) continue;
      const words = el("mark", "", text.slice(text.length - (end - from), text.length - (end - to)), ...(from === start ? [el("sup", "", String(number))] : []));
      words.dataset.number = String(number);
      words.tabIndex = -1;
      made.push(text.slice(text.length - (end - at), text.length - (end - from)), words);
      at = to;
    }
    made.push(text.slice(text.length - (end - at)));
    at = end;
    return made.filter(Boolean);
  };
  const built = (node) => {
    if (typeof node === "string") return leaf(node);
    const [name, number, inner] = node;
    const made = el(CLASSED[name] ?? name, CLASSED[name] ? name : "");
    if (number) made.value = number;
    for (const each of inner) made.append(...built(each));
    return [made];
  };
  return el("div", "markdown", ...said.tree.flatMap(built));
};
const rawSwitch = (data, row) => {
  if (![...data.talk, ...data.expected].some((each) => each.tree)) return null;
  return button("unfold", () => {
    state.raw = state.raw ? "" : "yes";
    const { group, entry } = row;
    shut(row);
    unfurl(row, group, entry);
    remember();
  }, state.raw ? "rendered" : "as written");
};
