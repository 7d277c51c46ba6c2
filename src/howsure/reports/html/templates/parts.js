/* Lists, filters and opens the cases. Everything foreign becomes a text node: no markup is ever parsed from data. */
const PAGE = 100;
const ORDER = { failed: 0, errored: 1, skipped: 2, passed: 3 };
const VERDICTS = ["failed", "errored", "skipped", "passed"];
const FILTERS = ["verdict", "change", "candidate", "grader", "tag", "search", "what"];
const $ = (id) => document.getElementById(id);
const list = document.querySelector(".cases");
const showing = document.querySelector(".showing");
const state = { verdict: "", change: "", candidate: "", grader: "", tag: "", search: "", what: "", raw: "", order: "worst", shown: PAGE, open: "", repeat: 0 };

const el = (tag, classes, ...children) => {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
};
// Names of tools and fields stand in backquotes.
const ticked = (text) => text.split(/`([^`\n]+)`/).map((part, place) => (place % 2 ? el("code", "", part) : part));
const button = (classes, action, ...children) => {
  const made = el("button", classes, ...children);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
};
const slug = (word) => word.replaceAll(" ", "-");
const mark = (word) => {
  const shape = el("span", `mark ${slug(word)}`);
  shape.setAttribute("aria-hidden", "true");
  return shape;
};
const hidden = (text) => el("span", "visually-hidden", text);
const counted = (count) => count.toLocaleString("en");
