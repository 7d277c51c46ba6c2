"use strict";
// Keys over real links and buttons; nothing here is needed to read a page.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const kept = {
    get: (name, otherwise) => { try { return JSON.parse(localStorage.getItem(name)) ?? otherwise; } catch { return otherwise; } },
    set: (name, value) => { try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* private: nothing is kept */ } },
  };

  // ---- keys
  let at = -1;
  let going = false;
  const lines = () => all("[data-line]");
  const choose = (step) => {
    const found = lines();
    if (!found.length) return;
    for (const line of found) line.classList.remove("chosen");
    at = Math.max(0, Math.min(found.length - 1, at + step));
    found[at].classList.add("chosen");
    found[at].scrollIntoView({ block: "nearest" });
    (found[at].querySelector("a") ?? found[at]).focus({ preventScroll: true });
  };
  const follow = (selector) => $(selector)?.click();
  const cite = () => {
    const cites = all("[data-cite]");
    const shown = cites.findIndex((each) => each.classList.contains("shown"));
    cites[(shown + 1) % cites.length]?.click();
  };
  const repeat = (step) => {
    const found = all("[data-repeat]");
    found[found.findIndex((each) => each.hasAttribute("aria-current")) + step]?.click();
  };
  const help = () => $("#help").showModal();
  const keys = {
    j: () => choose(1), k: () => choose(-1),
    Enter: () => { const line = lines()[at]; const to = line?.dataset.open ?? line?.querySelector("a")?.href; if (to) { line.querySelector("a") ? line.querySelector("a").click() : location.assign(to); } },
    n: () => follow("[data-next]"), p: () => follow("[data-previous]"), u: () => follow("[data-up]"),
    e: cite, "[": () => repeat(-1), "]": () => repeat(1),
    l: () => follow("[data-label]"),
    x: () => lines()[at]?.querySelector("[data-pick]")?.click(), c: () => follow("[data-compare]"),
    "/": () => $("[data-search]")?.focus(), f: () => $(".filters select, .filters input")?.focus(),
    g: () => { going = true; setTimeout(() => { going = false; }, 1500); }, "?": help,
  };
  const off = () => kept.get("howsure-keys", true) === false;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], dialog[open]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || (off() && event.key !== "?")) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (going) {
      going = false;
      const to = all("[data-go]").find((each) => each.dataset.go === event.key);
      if (to) { event.preventDefault(); to.click(); return; }
    }
    const does = keys[event.key];
    if (does) { event.preventDefault(); does(); }
  });

  // ---- pointing
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target.closest("[data-help]")) help();
    const pointed = target.closest("[data-cite]");
    if (pointed) point(pointed.dataset.cite);
    const copied = target.closest("[data-copy]");
    if (copied) copy(copied);
  });
  const point = (number) => {
    for (const each of all("mark.shown, [data-cite].shown")) each.classList.remove("shown");
    for (const each of all(`[data-cite="${number}"]`)) each.classList.add("shown");
    const anchor = document.getElementById(`quote-${number}`);
    const words = anchor?.nextElementSibling;
    for (let fold = words?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    words?.classList.add("shown");
  };
  const copy = async (button) => {
    const reply = await fetch(button.dataset.copy);
    await navigator.clipboard.writeText(await reply.text());
    button.textContent = "Copied";
  };
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) {
      place.leave(`.filters [name="${event.target.name}"]`);
      event.target.form.requestSubmit();
    }
    if (event.target.matches("[data-pick]")) picked();
    if (event.target.matches("[data-keys]")) kept.set("howsure-keys", event.target.checked);
  });

  // ---- one's place: the list that a line was opened from, the line, and what was chosen; for as long as the window lasts
  const place = {
    here: () => location.pathname + location.search,
    read: (name) => { try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; } },
    write: (name, value) => { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* private: nothing is kept */ } },
    leave: (selector) => place.write("howsure-focus", { path: location.pathname, selector }),
    focus: (target) => {
      if (!target) return;
      const line = target.closest("[data-line]");
      if (line) { at = lines().indexOf(line) - 1; choose(1); } else target.focus({ preventScroll: true });
    },
    restore: () => {
      const left = place.read("howsure-focus");
      sessionStorage.removeItem("howsure-focus");
      const returned = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
      const opened = place.read(`howsure-opened ${location.pathname}`);
      if (left?.path === location.pathname) place.focus($(left.selector));
      else if (/^#case-/.test(location.hash)) place.focus(document.getElementById(location.hash.slice(1))?.querySelector("a"));
      else if (opened?.address === place.here() && (returned || opened.returns)) place.focus(all("[data-line] a").find((each) => each.getAttribute("href") === opened.link));
    },
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.matches("#cases .chip")) place.leave("#cases .chip[aria-current]");
    if (link.closest("[data-line]")) place.write(`howsure-opened ${location.pathname}`, { address: place.here(), link: link.getAttribute("href") });
    const list = link.matches("[data-up]") && link.pathname !== location.pathname && !link.search ? place.read(`howsure-opened ${link.pathname}`) : null;
    if (list) {
      // Up is where one came from: the same page of the list, with the same filters.
      place.write(`howsure-opened ${link.pathname}`, { ...list, returns: true });
      link.href = list.address + link.hash;
    }
  });

  // ---- picking two runs; what was picked stays picked when lines come anew
  const picks = new Set();
  const picked = () => {
    for (const box of all("[data-pick]")) (box.checked ? picks.add(box.value) : picks.delete(box.value));
    const button = $("[data-compare]");
    if (!button) return;
    button.disabled = picks.size < 2 || picks.size > 5;
    $("[data-picked]").textContent = picks.size ? `${picks.size} picked` : "pick two or more with x";
  };

  // ---- what comes when its fold is opened; until then, and where that fails, there is a link to it
  const fetched = async (part, address) => {
    const reply = await fetch(address, { headers: { "HX-Request": "true", "HX-Target": part.id } });
    // A reply that is not read to its end keeps its connection.
    const text = await reply.text();
    if (reply.ok) part.outerHTML = text;
    ready();
  };
  document.addEventListener("toggle", ({ target }) => {
    const part = target.open && target.querySelector("[data-part]");
    if (!part) return;
    const address = part.dataset.part;
    delete part.dataset.part;
    fetched(part, address).catch(() => { part.dataset.part = address; });
  }, true);

  // ---- what comes anew: not while somebody is in it, and what was picked stays so
  const held = (own) => {
    if (!own?.matches?.("[data-frozen]") || !own.contains(document.activeElement)) return false;
    own.dataset.held = "yes";
    return true;
  };
  document.addEventListener("htmx:beforeRequest", (event) => { if (held(event.target)) event.preventDefault(); });
  // Somebody may have come into it while it was on its way.
  document.addEventListener("htmx:beforeSwap", (event) => { if (held(event.detail.requestConfig?.elt)) event.detail.shouldSwap = false; });
  document.addEventListener("focusout", () => setTimeout(() => {
    for (const own of all("[data-held]")) {
      if (own.contains(document.activeElement)) continue;
      delete own.dataset.held;
      htmx.trigger(own, "poll");
    }
  }));
  // Folds that were open stay open: those that have a name, and the place among those of the same name.
  let unfolded = new Set();
  const folds = (place) => [...place.querySelectorAll("details")].map((fold) => [fold, fold.querySelector("summary")?.textContent.replace(/[\d,.]+/g, "")]);
  document.addEventListener("htmx:beforeSwap", (event) => {
    unfolded = new Set(folds(event.detail.target).filter(([fold]) => fold.open).map(([, name]) => name));
  });
  document.addEventListener("htmx:afterSettle", () => {
    for (const [fold, name] of all("#live").flatMap(folds)) if (unfolded.has(name)) fold.open = true;
    for (const box of all("[data-pick]")) if (picks.has(box.value)) box.checked = true;
    ready();
  });

  // ---- what goes on: the server says when something is new; where that does not work, it is asked for
  let asking = 0;
  const ask = () => { for (const each of all("[data-live]")) htmx.trigger(each, "poll"); };
  const rest = () => { clearInterval(asking); asking = 0; };
  const listening = new Set();
  if (window.htmx) htmx.createEventSource = (address) => {
    const made = new EventSource(address);
    listening.add(made);
    return made;
  };
  document.addEventListener("htmx:sseError", () => { asking ||= setInterval(ask, 2000); });
  document.addEventListener("htmx:sseOpen", rest);
  document.addEventListener("htmx:sseClose", (event) => {
    rest();
    if (event.detail.type !== "message" || !event.target.matches("[data-ends]")) return;
    // All of a run is new when it has ended; whoever is reading in it says when.
    const reading = $("#main").contains(document.activeElement) || scrollY > 0;
    if (reading) $("[data-ended]").hidden = false; else location.reload();
  });
  // A browser keeps few lines to one host: pages that nobody looks at hang up, and call again.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      for (const each of listening) each.close();
      listening.clear();
      rest();
      return;
    }
    for (const each of all("[sse-connect]")) {
      const fresh = each.cloneNode(true);
      each.replaceWith(fresh);
      htmx.process(fresh);
    }
  });

  // ---- views: filters under a name, kept in this browser
  const views = () => {
    const place = $("[data-views]");
    if (!place) return;
    const known = kept.get("howsure-views", []);
    const link = (view) => {
      const made = document.createElement("a");
      made.className = "chip"; made.href = view.address; made.textContent = view.name;
      if (view.address === location.pathname + location.search) made.setAttribute("aria-current", "true");
      return made;
    };
    const button = (text, does) => {
      const made = document.createElement("button");
      made.type = "button"; made.className = "plain"; made.textContent = text; made.addEventListener("click", does);
      return made;
    };
    const here = location.pathname + location.search;
    const saved = known.some((view) => view.address === here);
    const keep = () => {
      const name = prompt("Name of this view");
      if (name) { kept.set("howsure-views", [...known, { name: name.slice(0, 60), address: here }]); views(); }
    };
    const drop = () => { kept.set("howsure-views", known.filter((view) => view.address !== here)); views(); };
    const act = saved ? [button("forget this view", drop)] : location.search ? [button("save this view", keep)] : [];
    place.replaceChildren(...(known.length ? ["views:"] : []), ...known.map(link), ...act);
    place.hidden = !place.childNodes.length;
  };

  const ready = () => {
    for (const button of all("[data-copy]")) button.hidden = !navigator.clipboard;
    picked();
  };
  const toggle = $("[data-keys]");
  if (toggle) toggle.checked = !off();
  views();
  ready();
  // After the browser has gone to the place that the address names, which takes the focus away.
  addEventListener("load", () => setTimeout(() => { try { place.restore(); } catch { /* private: nothing was kept */ } }));
})();
