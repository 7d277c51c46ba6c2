
// ---- the data: an index that is read at once, and chunks of cases that are read when one of them is opened

const about = JSON.parse($("about").textContent);
const graderName = (id) => about.names[id] ?? id;
const MADE_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*\d)[0-9a-f]{12,64}(?:-\d+)?)$/i;
const ON_A_MACHINE = /^(?:\/(?:home|Users|usr|tmp|var|opt|mnt|srv|root|private|Volumes)|[a-z]:)[/\\].*[/\\]([^/\\]+)$/i;
const shortId = (id) => (MADE_ID.test(id) ? id.slice(0, 8) : ON_A_MACHINE.exec(id)?.[1] ?? id);
const whole = document.readyState === "loading" ? new Promise((done) => document.addEventListener("DOMContentLoaded", done)) : Promise.resolve();
const unpacked = async (element) => {
  if (element.type === "application/json") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
};
const pieces = [...document.querySelectorAll("script.index")];
if (pieces.some((piece) => piece.type === "text/plain") && !("DecompressionStream" in globalThis)) {
  showing.textContent = "This browser is too old to unpack the cases; the first are listed below. A newer one lists and opens them all.";
  return;
}
const index = (await Promise.all(pieces.map(unpacked))).flat().map((values, rank) => {
  const entry = { rank };
  about.fields.forEach((field, place) => { entry[field] = values[place]; });
  return entry;
});

const CHUNKS_KEPT = 8;
const readChunks = new Map();
const contents = (chunk) => {
  if (!readChunks.has(chunk)) {
    if (readChunks.size >= CHUNKS_KEPT) readChunks.delete(readChunks.keys().next().value);
    readChunks.set(chunk, unpacked(chunk));
  }
  return readChunks.get(chunk);
};
const chunks = () => [...document.querySelectorAll("script.chunk")];
const blockOf = async (entry) => {
  await whole;
  const chunk = chunks().find((one) => entry.rank < Number(one.dataset.first) + Number(one.dataset.count));
  if (!chunk) return { left_out: true };
  return (await contents(chunk))[entry.rank - Number(chunk.dataset.first)];
};
