// Shows the OpenAPI document of this server and lets a person try its endpoints. No text becomes markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function make(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function slug(text) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

// The schema behind a reference.
function resolved(api, schema) {
  let found = schema;
  while (found && found.$ref) found = api.components.schemas[found.$ref.split("/").pop()];
  return found || {};
}

// A schema's type in a few words: "string", "integer, 1 to 1000", "array of Item".
function inWords(api, schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  const either = schema.oneOf || (schema.properties ? null : schema.anyOf);
  if (either) return [...new Set(either.map((one) => inWords(api, one)))].join(" | ");
  let words = [].concat(schema.type || "anything").join(" | ");
  if (schema.type === "array") words = `array of ${inWords(api, schema.items || {})}`;
  const limits = [];
  if ("minimum" in schema || "maximum" in schema) limits.push(`${schema.minimum ?? "…"} to ${schema.maximum ?? "…"}`);
  if (schema.maxLength) limits.push(`up to ${schema.maxLength} characters`);
  if (schema.maxItems) limits.push(`up to ${schema.maxItems}`);
  if ("default" in schema) limits.push(`default ${JSON.stringify(schema.default)}`);
  return [words, ...limits].join(", ");
}

// The fields of an object, as rows of a table.
function fieldsTable(api, schema) {
  const shape = resolved(api, schema);
  const alternatives = shape.oneOf;
  if (alternatives) return make("div", {}, ...alternatives.map((one) => named(api, one)));
  const properties = Object.entries(shape.properties || {});
  if (!properties.length) return make("p", { className: "what" }, inWords(api, shape));
  const rows = properties.map(([name, field]) =>
    make("tr", {},
      make("th", { scope: "row" }, make("code", {}, name), (shape.required || []).includes(name) ? " *" : ""),
      make("td", {}, inWords(api, field)),
      make("td", { className: "what" }, field.description || "")));
  return make("table", {}, make("tbody", {}, ...rows));
}

function named(api, schema) {
  return make("details", {}, make("summary", {}, inWords(api, schema)),
    make("div", { className: "inside" }, fieldsTable(api, schema)));
}

// An example body: what is required, and a text where one may stand.
function example(api, schema, depth = 0) {
  const shape = resolved(api, schema);
  if (shape.examples) return shape.examples[0];
  if ("default" in shape) return shape.default;
  if (shape.oneOf) return example(api, shape.oneOf.find((one) => JSON.stringify(one).includes("Memory")) || shape.oneOf[0]);
  if (shape.properties) {
    const wanted = shape.required || Object.keys(shape.properties).filter((name) => ["content", "title"].includes(name));
    return Object.fromEntries(wanted.map((name) => [name, example(api, shape.properties[name], depth + 1)]));
  }
  const type = shape.type || resolved(api, (shape.anyOf || [{}])[0]).type;
  if (shape.enum) return shape.enum[0];
  if (type === "array") return depth > 3 ? [] : [example(api, shape.items || {}, depth + 1)];
  if (type === "integer" || type === "number") return shape.minimum || 0;
  if (type === "boolean") return false;
  return type === "object" ? {} : "text";
}

function parameterFields(operation, id) {
  return (operation.parameters || []).map((parameter, number) => {
    const name = `${id}-p${number}`;
    const input = make("input", { id: name, required: parameter.required, spellcheck: false });
    input.dataset.name = parameter.name;
    input.dataset.in = parameter.in;
    if (parameter.schema.type === "array") input.placeholder = "several: comma separated";
    else if ("default" in parameter.schema) input.placeholder = JSON.stringify(parameter.schema.default);
    return make("div", { className: "field" },
      make("label", { htmlFor: name }, make("code", {}, parameter.name), parameter.required ? " *" : ""), input);
  });
}

function requestOf(method, path, form) {
  const query = new URLSearchParams();
  const headers = { Accept: "application/json" };
  let address = path;
  for (const input of form.querySelectorAll("input[data-name]")) {
    const value = input.value;
    if (input.dataset.in === "path") address = address.replace(`{${input.dataset.name}}`, encodeURIComponent(value));
    else if (value === "") continue;
    else if (input.dataset.in === "header") headers[input.dataset.name] = value;
    else if (input.placeholder.startsWith("several")) value.split(",").forEach((one) => query.append(input.dataset.name, one.trim()));
    else query.append(input.dataset.name, value);
  }
  const key = document.getElementById("key").value.trim();
  if (key) headers.Authorization = `Bearer ${key}`;
  const options = { method: method.toUpperCase(), headers };
  const body = form.querySelector("textarea");
  if (body && body.value.trim()) {
    options.body = body.value;
    headers["Content-Type"] = "application/json";
  }
  const search = query.toString();
  return [search ? `${address}?${search}` : address, options];
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Streams are shown as they come, until the person stops them.
async function showStream(response, output, stop) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  stop.hidden = false;
  stop.onclick = () => reader.cancel();
  for (let part = await reader.read(); !part.done; part = await reader.read()) output.textContent += part.value;
  stop.hidden = true;
}

async function send(event, method, path, output, stop) {
  event.preventDefault();
  const [address, options] = requestOf(method, path, event.target);
  output.hidden = false;
  output.textContent = `${options.method} ${address} ...`;
  try {
    const response = await fetch(address, options);
    output.classList.toggle("bad", !response.ok);
    output.textContent = `${response.status} ${response.statusText}\n`;
    for (const name of ["etag", "location", "retry-after", "idempotency-replayed"]) {
      if (response.headers.has(name)) output.textContent += `${name}: ${response.headers.get(name)}\n`;
    }
    output.textContent += "\n";
    const streaming = (response.headers.get("content-type") || "").startsWith("text/event-stream");
    if (streaming) await showStream(response, output, stop);
    else output.textContent += pretty(await response.text());
  } catch (error) {
    output.classList.add("bad");
    output.textContent += `\nThe server could not be reached: ${error.message}`;
  }
}

function tryForm(api, method, path, operation, id) {
  const output = make("pre", { hidden: true, tabIndex: 0 });
  output.setAttribute("aria-live", "polite");
  const stop = make("button", { type: "button", hidden: true }, "Stop");
  const form = make("form", { className: "try", autocomplete: "off" }, ...parameterFields(operation, id));
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  if (content) {
    const area = make("textarea", { id: `${id}-body`, rows: 7, spellcheck: false });
    area.value = JSON.stringify(example(api, content.schema), null, 2);
    form.append(make("label", { htmlFor: area.id }, "Body"), area);
  }
  form.append(make("div", {}, make("button", { type: "submit" }, "Send"), " ", stop), output);
  form.addEventListener("submit", (event) => send(event, method, path, output, stop));
  return form;
}

function parametersTable(api, operation) {
  const rows = (operation.parameters || []).map((parameter) =>
    make("tr", {},
      make("th", { scope: "row" }, make("code", {}, parameter.name), parameter.required ? " *" : ""),
      make("td", {}, parameter.in),
      make("td", {}, inWords(api, parameter.schema)),
      make("td", { className: "what" }, parameter.description || "")));
  return make("table", {}, make("tbody", {}, ...rows));
}

function answers(api, operation) {
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const [[media, content] = ["", null]] = Object.entries(response.content || {});
    const shape = content ? inWords(api, content.schema) : "";
    return make("tr", {},
      make("th", { scope: "row" }, status),
      make("td", {}, response.description),
      make("td", { className: "what" }, status < 400 && media ? `${media} ${shape}` : ""));
  });
  return make("table", {}, make("tbody", {}, ...rows));
}

// What is inside is made when it is first opened: most of it is never looked at.
function fill(inside, api, method, path, operation, id) {
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  const ok = Object.entries(operation.responses).find(([status]) => status < 300);
  const reply = ok && ok[1].content && ok[1].content["application/json"];
  inside.append(make("p", {}, operation.description || ""));
  if (operation["x-scope"]) inside.append(make("p", { className: "what" }, `For keys that may ${operation["x-scope"]}.`));
  if (operation.parameters.length) inside.append(make("h3", {}, "Parameters"), parametersTable(api, operation));
  if (content) inside.append(make("h3", {}, "Body"), fieldsTable(api, content.schema));
  inside.append(make("h3", {}, "Answers"), answers(api, operation));
  if (reply) inside.append(named(api, reply.schema));
  inside.append(make("h3", {}, "Try it"), tryForm(api, method, path, operation, id));
}

function endpoint(api, method, path, operation) {
  const id = slug(`${method} ${path}`);
  const inside = make("div", { className: "inside" });
  const box = make("details", { id },
    make("summary", {},
      make("span", { className: `method ${method}` }, method.toUpperCase()),
      make("code", {}, path), make("span", { className: "what" }, operation.summary || "")),
    inside);
  box.dataset.words = `${method} ${path} ${operation.summary} ${operation.description}`.toLowerCase();
  box.addEventListener("toggle", () => {
    if (box.open && !inside.childElementCount) fill(inside, api, method, path, operation, id);
  });
  return box;
}

function show(api) {
  document.getElementById("version").textContent = api.info.version;
  const main = document.getElementById("endpoints");
  const nav = document.getElementById("tags");
  main.replaceChildren();
  for (const tag of api.tags) {
    const section = make("section", { id: `tag-${slug(tag.name)}` }, make("h2", {}, tag.name));
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const method of METHODS.filter((one) => methods[one] && methods[one].tags.includes(tag.name))) {
        section.append(endpoint(api, method, path, methods[method]));
      }
    }
    main.append(section);
    nav.append(make("a", { href: `#${section.id}` }, tag.name));
  }
  main.setAttribute("aria-busy", "false");
}

function find(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const box of document.querySelectorAll("details[data-words]")) {
    box.hidden = !wanted.every((word) => box.dataset.words.includes(word));
  }
  for (const section of document.querySelectorAll("main section")) {
    section.hidden = !section.querySelector("details[data-words]:not([hidden])");
  }
}

document.getElementById("who").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("find").addEventListener("input", (event) => find(event.target.value));
fetch("/api/v1/openapi.json")
  .then((response) => response.json())
  .then(show)
  .catch((error) => {
    document.getElementById("endpoints").replaceChildren(
      make("p", { className: "bad" }, `The document could not be read: ${error.message}`));
  });
