"use strict";
// Everything is made of text nodes: what the description or an answer says is never HTML.
(() => {
  const root = document.getElementById("api");
  const LONGEST = 200000;
  const METHODS = ["get", "post", "put", "patch", "delete"];
  let description = null;
  let number = 0;

  const make = (tag, parts = [], attributes = {}) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...[parts].flat());
    return made;
  };
  const resolve = (schema) => schema?.$ref ? description.components.schemas[schema.$ref.split("/").pop()] : schema;
  const typeWords = (schema) => {
    if (!schema) return "";
    if (schema.$ref) return schema.$ref.split("/").pop();
    if (schema.anyOf) return [...new Set(schema.anyOf.map(typeWords))].join(" or ");
    if (schema.enum || "const" in schema) return (schema.enum ?? [schema.const]).join(", ");
    if (schema.type === "array") return `list of ${typeWords(schema.items)}`;
    return schema.type ?? "anything";
  };
  const inner = (schema) => {
    const parts = [schema, ...(schema?.anyOf ?? []), schema?.items, ...(schema?.anyOf ?? []).map((each) => each.items)];
    return parts.find((each) => each?.$ref);
  };

  // The fields of a shape; those of a shape inside it are made when they are opened.
  const fields = (schema) => {
    const shape = resolve(inner(schema) ?? schema);
    if (!shape?.properties) return make("span");
    const rows = Object.entries(shape.properties).map(([name, field]) => {
      const needed = shape.required?.includes(name) ? " (always)" : "";
      const about = make("td", [field.description ?? ""]);
      if (resolve(inner(field))?.properties) about.append(opening(typeWords(inner(field)), () => fields(field)));
      return make("tr", [make("th", make("code", name), { scope: "row" }), make("td", typeWords(field) + needed), about]);
    });
    return make("table", make("tbody", rows), { class: "rates" });
  };
  const opening = (title, content) => {
    const box = make("details", make("summary", title));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(content()); });
    return box;
  };

  const example = (content) => {
    const [kind, media] = Object.entries(content)[0];
    const shown = media.example ?? resolve(media.schema)?.examples?.[0];
    return [kind, shown === undefined ? "" : typeof shown === "string" ? shown : JSON.stringify(shown, null, 2)];
  };
  const labelled = (text, field, note) => {
    field.id = `api-field-${number += 1}`;
    return make("p", [make("label", text, { for: field.id }), " ", field, " ", make("span", note, { class: "quiet" })]);
  };

  const form = (method, path, operation) => {
    const inputs = (operation.parameters ?? []).map((parameter) => {
      const field = make("input", [], { autocomplete: "off", ...(parameter.required ? { required: "" } : {}) });
      const note = [typeWords(parameter.schema), parameter.description].filter(Boolean).join("; ");
      return { parameter, field, row: labelled(`${parameter.name} (${parameter.in})`, field, note) };
    });
    const content = operation.requestBody?.content;
    const [kind, shown] = content ? example(content) : ["", ""];
    const body = make("textarea", shown, { rows: "12", cols: "90", spellcheck: "false" });
    const output = make("pre", "", { tabindex: "0", "aria-label": "answer" });
    output.hidden = true;
    const sending = make("form", [...inputs.map((each) => each.row), ...(content ? [labelled(`body (${kind})`, body, "")] : [])]);
    sending.append(make("button", `Send ${method.toUpperCase()}`), output);
    sending.addEventListener("submit", (event) => {
      event.preventDefault();
      send(method, path, inputs, content ? { kind, text: body.value } : null, output);
    });
    return sending;
  };

  const send = async (method, path, inputs, body, output) => {
    const query = new URLSearchParams();
    const key = document.getElementById("api-key")?.value;
    const headers = { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...(body ? { "Content-Type": body.kind } : {}) };
    for (const { parameter, field } of inputs.filter((each) => each.field.value)) {
      if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(field.value));
      else if (parameter.in === "query") query.append(parameter.name, field.value);
      else headers[parameter.name] = field.value;
    }
    const address = query.size ? `${path}?${query}` : path;
    output.hidden = false;
    output.textContent = `${method.toUpperCase()} ${address}\n…`;
    const began = performance.now();
    try {
      const answer = await fetch(address, { method: method.toUpperCase(), headers, body: body?.text });
      const head = ["content-type", "etag", "location", "x-next-cursor", "x-request-id"]
        .filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}`);
      const top = `${method.toUpperCase()} ${address}\n${answer.status} in ${Math.round(performance.now() - began)} ms\n${head.join("\n")}\n\n`;
      // Progress of a run is shown as it comes.
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        text = (text + part.value).slice(0, LONGEST);
        output.textContent = top + text;
      }
      const isJson = answer.headers.get("content-type") === "application/json" && text.length < LONGEST;
      output.textContent = top + (isJson && text ? JSON.stringify(JSON.parse(text), null, 2) : text);
    } catch (error) {
      output.textContent = `${method.toUpperCase()} ${address}\n${error}`;
    }
  };

  const detail = (method, path, operation) => {
    const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
    const answers = Object.entries(operation.responses).map(([status, answer]) => {
      const schema = Object.values(answer.content ?? {})[0]?.schema;
      const words = schema ? ` ${typeWords(schema)}` : "";
      const title = `${status}${words}: ${answer.description ?? ""}`;
      return make("li", schema && resolve(inner(schema))?.properties ? opening(title, () => fields(schema)) : title);
    });
    return make("div", [
      make("p", operation.description ?? ""),
      make("p", ["operation ", make("code", operation.operationId)], { class: "quiet" }),
      ...(body ? [opening(`body: ${typeWords(body)}`, () => fields(body))] : []),
      opening("answers", () => make("ul", answers)),
      form(method, path, operation),
    ]);
  };

  const show = () => {
    const tags = {};
    for (const [path, operations] of Object.entries(description.paths)) {
      for (const method of METHODS.filter((each) => each in operations)) {
        const operation = operations[method];
        const title = make("span", [make("code", `${method.toUpperCase()} ${path}`), ` ${operation.summary ?? ""}`]);
        const box = opening(title, () => detail(method, path, operation));
        box.dataset.words = `${method} ${path} ${operation.operationId} ${operation.summary} ${operation.description ?? ""}`.toLowerCase();
        (tags[operation.tags.at(-1)] ??= []).push(box);
      }
    }
    const sections = Object.keys(tags).sort().map((tag) => make("section", [make("h2", tag), ...tags[tag]]));
    root.replaceChildren(...sections);
    find(document.getElementById("api-find").value);
  };

  const find = (text) => {
    for (const section of root.querySelectorAll("section")) {
      const boxes = [...section.querySelectorAll("[data-words]")];
      for (const box of boxes) box.hidden = !box.dataset.words.includes(text.toLowerCase());
      section.hidden = boxes.every((box) => box.hidden);
    }
  };
  document.getElementById("api-form").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("api-find").addEventListener("input", (event) => find(event.target.value));
  fetch(root.dataset.description)
    .then((answer) => answer.json())
    .then((found) => { description = found; show(); })
    .catch((error) => { root.textContent = `The description cannot be read: ${error}`; });
})();
