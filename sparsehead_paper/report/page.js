"use strict";
// The page works without this script but for the charts, the filter and the downloads.
const specs = JSON.parse(document.getElementById("specs").textContent);

// ---- the claims: rows that match the words, the verdict and the kind stay, and chapters that have any
function filterClaims() {
  const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = document.getElementById("verdict").value;
  const kind = document.getElementById("kind").value;
  let shown = 0, total = 0;
  for (const chapter of document.querySelectorAll(".of-claims")) {
    let here = 0;
    for (const row of chapter.querySelectorAll("tbody tr")) {
      const fits = (!verdict || row.dataset.verdict === verdict) && (!kind || row.dataset.kind === kind)
        && words.every((word) => row.dataset.text.includes(word));
      row.hidden = !fits;
      here += fits ? 1 : 0;
      total += 1;
    }
    chapter.hidden = here === 0;
    shown += here;
  }
  document.getElementById("shown").textContent = `${shown} of ${total} shown`;
}
for (const id of ["words", "verdict", "kind"]) {
  const field = document.getElementById(id);
  if (field) field.addEventListener("input", filterClaims);
}
if (document.getElementById("words")) filterClaims();

// ---- charts, fitted to the room they have: text keeps its size, plots get narrower, panels go below each other
const MARGIN = 110; // axis labels and padding beside a plot
const GROWTH = 1.45; // a plot wider than this for its height shows slopes as flat
function natural(part) { // the width that a chart takes as it is defined
  const sum = (parts) => parts.reduce((all, p) => all + natural(p), 0);
  if (part.hconcat) return sum(part.hconcat);
  if (part.vconcat) return Math.max(...part.vconcat.map(natural));
  if (part.concat) return sum(part.concat.slice(0, part.columns || part.concat.length));
  return (part.width || Math.max(0, ...(part.layer || []).map((p) => p.width || 0)) || 520) + MARGIN;
}
function fit(part, room, grow) {
  if (Array.isArray(part)) return part.map((p) => fit(p, room, grow));
  if (part === null || typeof part !== "object") return part;
  const out = {};
  for (const [key, value] of Object.entries(part)) {
    out[key] = ["layer", "concat", "vconcat", "hconcat"].includes(key) ? fit(value, room, grow) : value;
  }
  if (typeof out.width === "number") out.width = Math.min(out.width * grow, room);
  if (Array.isArray(out.hconcat) && room < 420) { // side by side does not fit: below each other
    out.vconcat = out.hconcat;
    delete out.hconcat;
  }
  return out;
}
function specFor(name, room) {
  const { title, ...spec } = specs[name]; // the page shows the title as text
  const fixed = spec.usermeta && spec.usermeta.fixed;
  const beside = fixed ? 0 : MARGIN;
  if (spec.concat && room < (spec.columns || 1) * 300 + beside) spec.columns = 1;
  const grow = fixed ? 1 : Math.max(1, Math.min(GROWTH, room / natural(spec)));
  if (!fixed || spec.concat) Object.assign(spec, fit(spec, Math.max(180, room - MARGIN), grow));
  if (fixed && !spec.concat) spec.width = specs[name].width;
  const columns = room < 480 ? 1 : 3;
  const config = spec.config || {};
  spec.config = { ...config, padding: 4, legend: { ...config.legend, columns } };
  return spec;
}
const drawn = new Map();
async function drawChart(box) {
  const name = box.dataset.chart;
  const room = box.clientWidth;
  const last = drawn.get(name);
  if (last && Math.abs(last.room - room) < 24) return;
  drawn.set(name, { room });
  const result = await vegaEmbed(box.firstElementChild, specFor(name, room), { mode: "vega-lite", actions: false, renderer: "svg" });
  drawn.set(name, { room, view: result.view });
  // Vega announces a layer without marks as an image without a name.
  for (const group of box.querySelectorAll("g[role=graphics-symbol]:not([aria-label])")) group.setAttribute("aria-hidden", "true");
  box.dataset.drawn = "yes";
}
// ---- a formula wider than its room is scrolled, with the keyboard too
function reachFormulas() {
  for (const formula of document.querySelectorAll(".long-formula")) {
    const given = { tabindex: "0", role: "group", "aria-label": "formula" };
    const wide = formula.scrollWidth > formula.clientWidth;
    for (const [name, value] of Object.entries(given)) wide ? formula.setAttribute(name, value) : formula.removeAttribute(name);
  }
}
async function drawAll() {
  reachFormulas();
  for (const box of document.querySelectorAll("[data-chart]")) {
    try {
      await drawChart(box);
    } catch (error) {
      box.dataset.drawn = "failed";
      console.error(box.dataset.chart, error);
    }
  }
  document.body.dataset.ready = "yes";
}
let waiting;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 200);
});

// ---- downloads: the data behind a chart as CSV, the chart as SVG or PNG, made here from what the page holds
function csv(rows) {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [fields.join(","), ...rows.map((row) => fields.map((f) => cell(row[f])).join(","))].join("\r\n") + "\r\n";
}
function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-save]");
  if (!button) return;
  const { save: what, of: name, set } = button.dataset;
  if (what === "csv") {
    save(`${name}-${set}.csv`, new Blob([csv(specs[name].datasets[set])], { type: "text/csv" }));
  } else if (drawn.get(name)?.view) {
    const svg = await drawn.get(name).view.toSVG();
    save(`${name}.svg`, new Blob([svg], { type: "image/svg+xml" }));
  }
});

drawAll();
