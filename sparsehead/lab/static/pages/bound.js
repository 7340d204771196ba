// Bound: sliders for norms, T, m and delta; the terms of the capacity bound, and the samples that it asks for.
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { get, post, send, useAnswer, useSettings } from "../api.js";
import { Chart } from "../chart.js";
import { Busy, Button, Card, Choice, Copy, DropFile, Intro, LogSlider, Problem, Stat, num, percent } from "../parts.js";

const DEFAULTS = { V21: 1, V: 1, QK: 9.4, BX: 1.42, T: 100, m: 1000, delta: 0.05, margin: 1, accuracy: 0.05, form: "ours", s: 3 };
const FORMS = { ours: "ours, closed form", paper: "the paper's", parametric: "by counting parameters", minimum: "the smallest proven (slower)" };

export default function Bound() {
  const [state, set] = useAddress(DEFAULTS);
  const [file, setFile] = useState(null);
  const offered = useSettings();
  const { s, ...asked } = state;
  const norms = useAnswer("/api/bound", file ? null : asked, 60);
  const upload = useUpload(file, state);
  const { data, error, busy } = file ? upload : norms;
  const floor = useFloor(s, file && data ? data.T : state.T);
  const slide = (name, label, min, max, more = {}) => html`<${LogSlider} key=${name} label=${label} value=${state[name]} min=${min} max=${max}
    onChange=${(value) => set({ [name]: value })} ...${more} />`;
  return html`
    <${Intro} title="Bound the capacity" claim="single-layer-capacity">
      The bar shows which weights make a class of attention heads large: each term's share of the log-covering number, and the
      samples with which training accuracy must generalise. The context length T enters through a logarithm only, so move that slider first.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        ${data && html`<p class="pinned" aria-hidden="true"><b class=${data.vacuous ? "mild" : "good"}>${data.vacuous ? "Vacuous" : "Not vacuous"}</b>, ${num(data.samples_needed)} samples needed</p>`}
        ${!file && html`
          ${slide("T", "T, context length", 2, 1e6, { whole: true })}
          ${slide("m", "m, training samples", 1, 1e9, { whole: true })}
          ${slide("QK", "‖W_QK‖ Frobenius", 0.01, 1000)}
          ${slide("V21", "‖W_V‖ (2,1)", 0.01, 1000)}
          ${slide("V", "‖W_V‖ spectral", 0.01, 1000)}
          ${slide("BX", "longest token", 0.1, 100)}`}
        ${file && slide("m", "m, training samples", 1, 1e9, { whole: true })}
        ${slide("delta", "δ, chance to be wrong", 1e-6, 0.5)}
        ${!file && html`${slide("margin", "margin", 0.01, 10)}${slide("accuracy", "gap asked for", 0.001, 0.5)}`}
        <${Choice} label="Form of the bound" value=${state.form} options=${(offered?.forms || [state.form]).map((form) => [form, FORMS[form] || form])} onChange=${(form) => set({ form })} />
        ${file ? html`<p>Bound of <b>${file.name}</b>.</p><${Button} onClick=${() => setFile(null)}>Back to the sliders<//>`
          : html`<${DropFile} label="Or drop a model (.safetensors)" accept=".safetensors" onFile=${setFile} />`}
        <div class="row end"><${Copy} /></div>
      <//></div>
      <div class="stack">
        <${Problem}>${error}<//>
        ${data && html`<${Result} data=${data} busy=${busy} floor=${floor} s=${s} onS=${(x) => set({ s: x })} chart=${file ? null : asked} />`}
        ${!data && busy && html`<${Card}><${Busy} busy=${true} /><p>Reading the file and computing its norms.</p><//>`}
      </div>
    </div>`;
}

function useUpload(file, { m, delta, form }) {
  const [answer, setAnswer] = useState({ data: null, error: "", busy: false });
  useEffect(() => {
    if (!file) return undefined;
    let gone = false;
    setAnswer({ data: null, error: "", busy: true });
    const timer = setTimeout(() => send(`/api/bound/model?${new URLSearchParams({ m, delta, form })}`, file).then(
      (data) => { if (!gone) setAnswer({ data, error: "", busy: false }); },
      (error) => { if (!gone) setAnswer({ data: null, error: error.message, busy: false }); },
    ), 300);
    return () => { gone = true; clearTimeout(timer); };
  }, [file, m, delta, form]);
  return answer;
}

/** A gap, in words where it says nothing. */
const gap = (x) => (x < 1 ? num(x) : "vacuous");

/** How many times m samples bring the gap of a form below 1. */
const factor = (data, name) => (data.factors[name] === null ? ">1e300" : num(data.factors[name], 3));

const NO_FLOOR = { row: null, error: "" };

/** { row, error }: the information floor, or why there is none; both empty while it is computed. */
function useFloor(s, T) {
  const [floor, setFloor] = useState(NO_FLOOR);
  useEffect(() => {
    let gone = false;
    const found = (news) => { if (!gone) setFloor({ ...NO_FLOOR, ...news }); };
    found({});
    if (s >= T) return undefined;
    const timer = setTimeout(() => get(`/api/floor?s=${s}&T=${T}`).then((row) => found({ row }), (e) => found({ error: e.message })), 400);
    return () => { gone = true; clearTimeout(timer); };
  }, [s, T]);
  return floor;
}

function Result({ data, busy, floor, s, onS, chart }) {
  const items = [...data.items].sort((a, b) => b.share - a.share).slice(0, 8);
  return html`
    <${Card} title="The bound">
      <${Busy} busy=${busy} />
      <p class="verdict" aria-live="polite"><b class=${data.vacuous ? "mild" : "good"}>${data.vacuous ? "Vacuous" : "Not vacuous"}</b>${data.proven ? "" : ", not proven"}${data.verdict.replace(/^(not proven, )?(non-)?vacuous/, "")}.</p>
      <div class="stats">
        <${Stat} label="samples needed" value=${num(data.samples_needed)} note=${`for a gap of ${num(data.accuracy)}`} />
        <${Stat} label="if training errs nowhere" value=${num(data.realizable_samples)} note="samples, realisable case" />
        <${Stat} label=${`gap at m = ${num(data.m)}`} value=${gap(data.gap)} note=${data.vacuous ? `below 1 at ${factor(data, data.form)} times m` : ""} tone=${data.vacuous ? "" : "good"} />
        <${Stat} label="ln N" value=${num(data.log_covering)} note=${`at ε = ${num(data.eps)}`} />
      </div>
      <h3>Where the capacity comes from</h3>
      <div class="shares" role="img" aria-label=${items.map((i) => `${i.name} ${percent(i.share)}`).join(", ")}>
        ${items.map((item, i) => html`<span key=${item.name} class=${`c${i}`} style=${{ width: `${100 * item.share}%` }} title=${`${item.name}: ${percent(item.share)}`}></span>`)}
      </div>
      <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">term</th><th scope="col">share</th><th scope="col">price c</th><th scope="col">weight p</th><th scope="col">copies</th></tr></thead>
        <tbody>${items.map((item, i) => html`<tr key=${item.name}><td><i class=${`swatch c${i}`}></i>${item.name}</td><td>${percent(item.share)}</td><td>${num(item.c)}</td><td>${num(item.p)}</td><td>${num(item.copies)}</td></tr>`)}</tbody></table></div>
      ${data.items.length > 8 && html`<p class="hint">and ${data.items.length - 8} smaller terms</p>`}
    <//>
    <div class="halves">
      <${Card} title="No learner does with less" actions=${html`<label class="soft">s = <select aria-label="s, relevant bits" value=${s} onChange=${(e) => onS(Number(e.target.value))}>${[1, 2, 3, 4, 5].map((n) => html`<option value=${n} selected=${n === s}>${n}</option>`)}</select></label>`}>
        <${Floor} floor=${floor} s=${s} T=${data.T} />
        <p class="hint">With fewer samples no learner names the ${s} positions of an AND among ${num(data.T)} in 80 % of cases.</p>
      <//>
      <${Card} title="Every form">
        <table><thead><tr><th scope="col">form</th><th scope="col">ln N</th><th scope="col">gap</th><th scope="col">below 1 at</th></tr></thead>
          <tbody>${Object.keys(data.forms).map((name) => html`<tr key=${name}><td>${name === data.form ? html`<b>${name}</b>` : name}</td><td>${num(data.forms[name])}</td><td>${gap(data.gaps[name])}</td><td>${name in data.factors ? `${factor(data, name)} × m` : ""}</td></tr>`)}</tbody></table>
        <p class="hint">A gap of 1 or more says nothing about the error: the bound is vacuous, and the last column says how many times more samples it needs.</p>
      <//>
    </div>
    <${Card} title="It assumes"><ul class="plain">${[...data.assumptions, ...data.notes].map((text) => html`<li key=${text}>${text}</li>`)}</ul><//>
    ${chart && html`<${Figure} asked=${chart} />`}`;
}

function Floor({ floor: { row, error }, s, T }) {
  if (error) return html`<${Problem}>${error}<//>`;
  if (!row) return html`<p class="soft">${s >= T ? `needs s < T = ${T}.` : "computing ..."}</p>`;
  const note = row.status === "exact" ? "samples, exact" : `samples; ${num(row.enough)} are enough`;
  return html`<div class="stats"><${Stat} label="information floor" value=${num(row.m)} note=${note} /></div>`;
}

function Figure({ asked }) {
  const [open, setOpen] = useState(false);
  const [spec, setSpec] = useState(null);
  const [problem, setProblem] = useState("");
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (!open) return undefined;
    let gone = false;
    const show = (found, error) => { if (!gone) { setSpec(found); setProblem(error); } };
    const timer = setTimeout(() => post("/api/bound/chart", JSON.parse(key)).then((found) => show(found, ""), (e) => show(null, e.message)), 200);
    return () => { gone = true; clearTimeout(timer); };
  }, [open, key]);
  return html`<${Card}><details open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary>The report's figure of this bound</summary>
    <${Problem}>${problem}<//>
    ${open && !problem && html`<${Chart} spec=${spec} name="bound-terms" />`}</details><//>`;
}
