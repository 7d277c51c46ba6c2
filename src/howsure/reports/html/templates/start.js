
// ---- begin; `#print` is how a PDF is made: every case is listed, and the first failures are open

const PRINTED = 1000;
const PRINTED_OPEN = 40;
const laidOut = async () => {
  for (const rest of document.querySelectorAll("details")) rest.open = true;
  state.shown = PRINTED;
  draw();
  const bad = rows().filter((row) => ["failed", "errored"].includes(leading(row.group).verdict)).slice(0, PRINTED_OPEN);
  await Promise.all(bad.map((row) => unfurl(row, row.group, leading(row.group))));
};
document.querySelector(".tools").hidden = false;
if (location.hash === "#print") {
  await laidOut();
} else {
  recall();
  draw();
  opened()?.scrollIntoView({ block: "start", behavior: "instant" });
  window.addEventListener("hashchange", follow);
}
document.documentElement.dataset.ready = "yes";
