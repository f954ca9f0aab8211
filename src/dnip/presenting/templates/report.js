"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { classes, support, choices } = data;
const raw = choices[0];
const order = classes.map((_, c) => c).filter((c) => raw.rates[c])
  .sort((a, b) => raw.rates[a][0] - raw.rates[b][0]);
let { chosen } = data;
let focus = null; // the class whose confusions are shown

const at = (id) => document.getElementById(id);
const short = (name) => (name.length > 60 ? `${name.slice(0, 30)}…${name.slice(-29)}` : name);
const percent = (rate) => // of a number with three digits, so nothing is rounded here
  `${(100 * rate).toFixed(1)}\u00a0%`;

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "circle", "rect", "text", "title", "path"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A name that loses its middle where there is no room for it: many names differ at the end.
function named(name) {
  const letters = [...name];
  if (letters.length < 20) return name;
  const space = letters.lastIndexOf(" ", letters.length - 6);
  const cut = space > letters.length - 16 ? space : letters.length - 10;
  return make("span", { class: "name", dir: "auto" },
    make("span", {}, letters.slice(0, cut).join("")), make("span", {}, letters.slice(cut).join("")));
}

// The counts of a row of a confusion matrix, which holds places and counts without zeros.
function counts(choice, truth) {
  const row = new Array(classes.length).fill(0);
  const sparse = choice.confusion[truth];
  for (let i = 0; i < sparse.length; i += 2) row[sparse[i]] = sparse[i + 1];
  return row;
}

// Pictures are as wide as their place, so that their texts have the size of the page's. To ask for
// the width makes the browser lay out the page, so it is kept.
let widths = {};
function widthOf(id) {
  widths[id] ??= Math.max(240, at(id).clientWidth);
  return widths[id];
}

// Round values between two ends, five or so.
function ticks(low, high) {
  const rough = Math.max(high - low, 1e-3) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return Array.from({ length: count }, (_, i) => [(first + i) * step, ((first + i) * step).toFixed(digits)]);
}

// Axes with round values, and where a value is on them.
function chart(id, label, xs, xName, ys, yName) {
  const width = widthOf(id);
  const [height, left, bottom] = [Math.min(340, 0.75 * width), 64, 40];
  const scale = (values, from, to) => {
    const low = Math.min(...values), high = Math.max(...values);
    const room = (high - low) * 0.05 || 0.01;
    return [(v) => from + (to - from) * (v - low + room) / (high - low + 2 * room),
      ticks(low - room, high + room)];
  };
  const [x, xTicks] = scale(xs, left, width - 12);
  const [y, yTicks] = scale(ys, height - bottom, 12);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const axis = { stroke: "var(--faint)" };
  svg.append(
    make("line", { x1: left, y1: height - bottom, x2: width, y2: height - bottom, ...axis }),
    make("line", { x1: left, y1: 0, x2: left, y2: height - bottom, ...axis }),
    make("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, xName),
    make("text", { x: 14, y: (height - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 14 ${(height - bottom) / 2})` }, yName));
  for (const [v, text] of xTicks) {
    svg.append(make("line", { x1: x(v), x2: x(v), y1: 0, y2: height - bottom, stroke: "var(--line)" }),
      make("text", { x: x(v), y: height - bottom + 16, "text-anchor": "middle" }, text));
  }
  for (const [v, text] of yTicks) {
    svg.append(make("line", { x1: left, x2: width, y1: y(v), y2: y(v), stroke: "var(--line)" }),
      make("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, text));
  }
  at(id).replaceChildren(svg);
  return [svg, x, y, [left, 0, width, height - bottom]];
}

// Values of an axis, and another one or, where it lies far off, room for the text about it.
function withRoom(values, other) {
  const low = Math.min(...values), high = Math.max(...values);
  const far = (high - low) / 2 || 0.01;
  if (other < low - far) return [...values, low - 0.3 * far];
  return [...values, other > high + far ? high + 0.3 * far : other];
}

// Where a point is drawn that lies beyond the axes, and a text and an arrow that lead to it.
function farOff(svg, [x, y], [left, top, right, bottom], text) {
  const end = [Math.min(Math.max(x, left + 4), right - 4), Math.min(Math.max(y, top + 4), bottom - 4)];
  const [dx, dy] = [Math.sign(x - end[0]), Math.sign(y - end[1])];
  if (!dx && !dy) return [x, y];
  const [across, down] = [end[0] - 26 * dx, end[1] - (dx ? 12 : 26) * dy];
  const turn = Math.atan2(end[1] - down, end[0] - across);
  const wing = (angle) => `${end[0] - 8 * Math.cos(turn + angle)},${end[1] - 8 * Math.sin(turn + angle)}`;
  svg.append(make("path", { d: `M${across},${down}L${end}M${wing(0.5)}L${end}L${wing(-0.5)}`,
    stroke: "var(--before)", "stroke-width": 1.5, fill: "none" }),
  make("text", { x: across - 11 * (dx || 1), y: down + 4, "text-anchor": dx < 0 ? "start" : "end" }, text));
  return [across, down];
}

function drawFront() {
  const near = choices.length > 2 ? choices.slice(1) : choices;
  const [svg, x, y, box] = chart("front", "Accuracy and COBias of every choice of weights",
    withRoom(near.map((c) => c.cobias), raw.cobias), "COBias",
    withRoom(near.map((c) => c.accuracy), raw.accuracy), "accuracy");
  const before = farOff(svg, [x(raw.cobias), y(raw.accuracy)], box,
    `before: ${raw.totals.accuracy}, ${raw.totals.COBias}`);
  choices.forEach((choice, number) => {
    const [cx, cy] = number ? [x(choice.cobias), y(choice.accuracy)] : before;
    const dot = make("circle", { cx, cy,
      r: number === chosen ? 8 : number === 0 || number === data.chosen ? 6 : 4.5, style: "cursor:pointer",
      fill: number === 0 ? "var(--before)" : number === chosen ? "var(--after)" : "var(--page)",
      stroke: number === 0 ? "var(--before)" : "var(--after)", "stroke-width": 2,
      "data-choice": number },
      make("title", {}, `${choice.name}: accuracy ${choice.totals.accuracy}, COBias ${choice.totals.COBias}`));
    dot.addEventListener("click", () => choose(number));
    svg.append(dot);
  });
}

function drawTotals() {
  const now = choices[chosen];
  const rows = [["choice", now.name], ...Object.entries(now.totals)
    .map(([name, value]) => [name, `${raw.totals[name]} → ${value}`.replaceAll(" %", "\u00a0%")])
    .filter(([, both]) => both !== "0 → 0")];
  at("totals").replaceChildren(...rows.flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, value)]));
}

function rangePlot(before, after) {
  const svg = make("svg", { viewBox: "0 0 200 20", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(make("line", { x1: 0, x2: 200, y1: 10, y2: 10, stroke: "var(--line)" }));
  [[before, "var(--before)", 7], [after, "var(--after)", 13]].forEach(([rate, colour, y]) => {
    svg.append(make("line", { x1: 200 * rate[1], x2: 200 * rate[2], y1: y, y2: y, stroke: colour,
      "stroke-width": 2 }));
    svg.append(make("rect", { x: Math.min(200 * rate[0], 197), y: y - 3, width: 3, height: 6, fill: colour }));
  });
  return svg;
}

// Rows are made once, so that a pressed button keeps the focus; a choice fills in the rest.
const rows = order.map((c) => {
  const button = make("button", { type: "button", title: classes[c] }, named(classes[c]));
  button.addEventListener("click", () => { focus = focus === c ? null : c; draw(); });
  const [rate, bar, weight] = ["number", "bar", "number"].map((name) => make("td", { class: name }));
  const details = Object.keys(raw.details).map((title) => [title, make("td", { class: "number extra" })]);
  at("classes").tBodies[0].append(make("tr", {}, make("th", { scope: "row" }, button),
    make("td", { class: "number" }, support[c].toLocaleString("en")), weight,
    make("td", { class: "number" }, percent(raw.rates[c][0])), rate, ...details.map(([, cell]) => cell), bar));
  return { c, button, rate, bar, weight, details };
});

function drawClasses() {
  const now = choices[chosen];
  for (const { c, button, rate, bar, weight, details } of rows) {
    button.setAttribute("aria-pressed", String(focus === c));
    rate.textContent = percent(now.rates[c][0]);
    bar.replaceChildren(rangePlot(raw.rates[c], now.rates[c]));
    weight.textContent = now.weights ? now.weights[c].toFixed(3) : "–";
    details.forEach(([title, cell]) => { const value = now.details[title][c]; cell.textContent = value === null ? "–" : percent(value); });
  }
}

function flowTable(title, pairs) {
  const body = make("tbody", {}, ...pairs.map(([name, before, after]) => make("tr", {},
    make("th", { scope: "row", title: name }, named(name)), make("td", { class: "number" }, before.toLocaleString("en")),
    make("td", { class: "number" }, after.toLocaleString("en")))));
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, title),
    make("th", { scope: "col", class: "number" }, "before"),
    make("th", { scope: "col", class: "number" }, "after")));
  return make("div", { class: "wide", tabindex: 0, role: "group", "aria-label": title }, make("table", {}, head, body));
}

function drawClass() {
  if (focus === null) return at("class").replaceChildren();
  const now = choices[chosen];
  const largest = (before, after) => classes.map((name, c) => [name, before[c], after[c]])
    .filter(([, b, a]) => b || a).sort((a, b) => b[1] + b[2] - a[1] - a[2]).slice(0, 10);
  const column = (choice) => classes.map((_, truth) => counts(choice, truth)[focus]);
  at("class").replaceChildren(make("h3", { title: classes[focus] }, short(classes[focus])), make("div", { class: "two" },
    flowTable("its rows are taken for", largest(counts(raw, focus), counts(now, focus))),
    flowTable("rows taken for this class", largest(column(raw), column(now)))));
}

const flows = classes.flatMap((_, truth) => counts(raw, truth)
  .map((count, taken) => [truth, taken, count]).filter(([t, c, count]) => t !== c && count))
  .sort((a, b) => b[2] - a[2]).slice(0, 10);

function drawFlows() {
  const now = choices[chosen];
  at("flows").tBodies[0].replaceChildren(...flows.map(([truth, taken, count]) => make("tr", {},
    make("th", { scope: "row", title: classes[truth] }, named(classes[truth])),
    make("td", { title: classes[taken] }, named(classes[taken])),
    make("td", { class: "number" }, count.toLocaleString("en")),
    make("td", { class: "number" }, counts(now, truth)[taken].toLocaleString("en")))));
}

function drawCoefficients() {
  const now = choices[chosen];
  at("json").textContent = now.coefficients ?? (chosen ? `dnip fit TABLE --beta ${now.name.slice(4)}`
    : "The most probable class needs no coefficients.");
  at("copy").disabled = chosen === 0 && !now.coefficients;
  at("copied").textContent = "";
}

function draw() {
  drawFront(); drawTotals(); drawClasses(); drawClass(); drawFlows(); drawCoefficients();
  at("raw").setAttribute("aria-pressed", String(chosen === 0));
  at("own").setAttribute("aria-pressed", String(chosen === data.chosen));
  if (chosen) at("slider").value = chosen;
  at("beta").textContent = chosen && choices.length > 2 ? choices[chosen].name : "β";
}

function choose(number) {
  chosen = number;
  draw();
}

addEventListener("resize", () => { widths = {}; drawFront(); });
at("raw").addEventListener("click", () => choose(0));
at("own").addEventListener("click", () => choose(data.chosen));
const slider = at("slider");
slider.max = choices.length - 1;
slider.parentElement.hidden = choices.length < 3;
slider.addEventListener("input", () => choose(Number(slider.value)));
at("copy").addEventListener("click", async () => {
  const text = at("json").textContent;
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(at("json"));
    at("copied").textContent = "Press Ctrl+C: the text is selected.";
  }
});
draw();
