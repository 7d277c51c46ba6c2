"use strict";
// Brings a file in: its bytes are the body of the request, so nothing is guessed about them on the way.
(() => {
  const told = (place, answer) => {
    const lines = [answer.answer, ...(answer.faults || []).map((each) =>
      [each.line ? `line ${each.line}` : "", each.field, each.message, each.hint].filter(Boolean).join(" · "))];
    place.replaceChildren(...lines.map((line) => {
      const shown = document.createElement("p");
      shown.textContent = line;
      return shown;
    }));
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("[data-bring]");
    if (!form) return;
    event.preventDefault();
    const place = form.querySelector("[role=status]");
    const file = form.querySelector("input[type=file]").files[0];
    if (!file) return;
    const agent = form.querySelector("[name=agent_id]")?.value.trim() || "";
    const query = new URLSearchParams({ name: file.name, agent_id: agent });
    told(place, { answer: `Bringing in ${file.name} …` });
    try {
      const response = await fetch(`${form.dataset.bring}?${query}`, {
        method: "POST",
        body: file,
        headers: { "Content-Type": "application/octet-stream", "X-CSRF-Token": form.dataset.token, Accept: "application/json" },
      });
      const answer = await response.json();
      if (response.ok) location.assign(form.dataset.then ? form.dataset.then + answer.cases.split(":").map(encodeURIComponent).join(":") : answer.address);
      else told(place, { answer: answer.detail || answer.answer, faults: answer.faults });
    } catch {
      told(place, { answer: "The service could not be reached, or gave no answer." });
    }
  });
})();
