// Charts: the specifications of the report, drawn by Vega without evaluating text (`ast`), fitted to the room there is.
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

const MARGIN = 110; // axis labels and padding beside a plot
const BESIDE = 60; // what a panel needs beside its width: axis, title, space
const NORMAL = 520, WIDEST = 740; // the width of a figure in print, and the most that a page gives it
let loading = null;

function vega() {
  loading ||= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.type = "module";
    script.src = "/static/vendor/charts.js";
    script.onload = () => done(window.vegaEmbed);
    script.onerror = () => failed(new Error("charts need four more packages: pip install altair vl-convert-python jinja2 latex2mathml."));
    document.head.append(script);
  });
  return loading;
}

function fit(part, room) {
  if (Array.isArray(part)) return part.map((one) => fit(one, room));
  if (part === null || typeof part !== "object") return part;
  const out = {};
  for (const [key, value] of Object.entries(part)) {
    out[key] = ["layer", "concat", "vconcat", "hconcat"].includes(key) ? fit(value, room) : value;
  }
  if (typeof out.width === "number") out.width = Math.round(Math.min(room, out.width * Math.max(1, Math.min(room, WIDEST) / NORMAL)));
  return out;
}

const isMap = (spec) => Boolean(spec?.usermeta?.fixed); // colours that stand for numbers: they stay as they are

// The words of a map on a dark ground; other charts are inverted as a whole by the style sheet.
function darkWords(config) {
  if (!matchMedia("(prefers-color-scheme: dark)").matches) return config;
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const words = { labelColor: ink, titleColor: ink };
  return { ...config, axis: { ...config.axis, ...words }, legend: { ...config.legend, ...words }, title: { ...config.title, color: ink, subtitleColor: ink } };
}

function fitted(given, room, rows, wrapped = false) {
  const { title, ...spec } = given; // the page shows the title as text
  if (spec.hconcat && room < spec.hconcat.reduce((sum, panel) => sum + (panel.width || 200) + BESIDE, MARGIN)) {
    // panels that do not fit beside each other stand in as many columns as do
    const { hconcat, ...rest } = spec;
    const wide = Math.max(...hconcat.map((panel) => panel.width || 200)) + BESIDE;
    const most = Math.max(1, Math.floor((room - MARGIN) / wide));
    const columns = Math.ceil(hconcat.length / Math.ceil(hconcat.length / most)); // rows of equal length where they can be
    return fitted({ ...rest, concat: hconcat, columns, usermeta: { ...rest.usermeta, fixed: true } }, room, rows, true);
  }
  if (!wrapped && spec.concat && room < (spec.columns || 1) * 300 + MARGIN) spec.columns = 1;
  if (!wrapped && (!spec.usermeta?.fixed || spec.concat)) Object.assign(spec, fit(spec, Math.max(180, room - MARGIN)));
  const config = isMap(given) ? darkWords(spec.config || {}) : spec.config || {};
  if (rows) spec.datasets = { ...spec.datasets, ...rows };
  spec.config = { ...config, background: null, padding: 4, legend: { ...config.legend, columns: room < 480 ? 1 : 3 } };
  // numbers of positions run into each other on a telephone
  if (room < 480) spec.config.axisX = { ...config.axisX, labelOverlap: "greedy", labelSeparation: 3 };
  return spec;
}

const words = (text) => (Array.isArray(text) ? text.join(" ") : text || "");

/** A chart with its title as text. `rows` replaces the data of one named set without drawing anew; `onPick` is told the
 * row behind a mark that was clicked. */
export function Chart({ spec, rows, name = "chart", onPick }) {
  const box = useRef();
  const view = useRef(null);
  const pick = useRef(null);
  pick.current = onPick;
  const [room, setRoom] = useState(0);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      const now = Math.floor(entry.contentRect.width);
      setRoom((old) => (Math.abs(old - now) < 24 ? old : now));
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!spec || !room) return undefined;
    let gone = false;
    (async () => {
      try {
        const embed = await vega();
        const holder = document.createElement("div");
        const made = await embed(holder, fitted(spec, room, rows), {
          mode: "vega-lite", actions: false, renderer: "svg", ast: true, defaultStyle: false,
          tooltip: { disableDefaultStyle: true },
        });
        if (gone) { made.finalize(); return; }
        view.current?.finalize();
        view.current = made;
        made.view.addEventListener("click", (event, item) => { if (item?.datum) pick.current?.(item.datum); });
        box.current.replaceChildren(holder);
        hush(box.current);
        box.current.dataset.drawn = "yes";
        setProblem("");
      } catch (error) {
        if (!gone) setProblem(error.message);
      }
    })();
    return () => { gone = true; };
  }, [spec, room]);
  useEffect(() => { if (view.current && rows) update(view.current.view, rows).then(() => { if (box.current) hush(box.current); }); }, [rows]);
  const title = spec?.title || {};
  return html`<figure class="chart" aria-label=${words(title.text) || name}>
    ${spec && html`<figcaption><strong>${words(title.text)}</strong> <span class="soft">${words(title.subtitle)}</span></figcaption>`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class=${`plot ${onPick ? "picks" : ""} ${isMap(spec) ? "map" : ""}`} ref=${box} data-chart=${name}></div>
  </figure>`;
}

function update(view, rows) {
  for (const [name, values] of Object.entries(rows)) view.data(name, values);
  return view.resize().runAsync();
}

// Vega announces a layer without marks as an image without a name; what has no name is no image for a screen reader.
function hush(box) {
  for (const group of box.querySelectorAll("g[role^=graphics]")) {
    if (group.getAttribute("role") === "graphics-symbol" && !group.hasAttribute("aria-label")) group.setAttribute("aria-hidden", "true");
    else group.removeAttribute("aria-hidden");
  }
}
