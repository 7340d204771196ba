// Build: type a function, see the head that computes it, flip bits.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { alone, download, heads, post, useAnswer, useSettings } from "../api.js";
import { Chart } from "../chart.js";
import { forward } from "../head.js";
import { Heat, ManyBits } from "../heat.js";
import { Busy, Button, Card, Check, Choice, Copy, Intro, NumberField, Problem, Stat, TextField, num } from "../parts.js";

const DEFAULTS = {
  f: "x2 & x5 & x11", T: 16, encoding: "positional", method: "compact", heads: "one", readout: "", cls: true, ones: "",
};
const EXAMPLES = ["x2 & x5 & x11", "x2 ^ x5 ^ x11", "maj(x1,x4,x9)", "x1 & !x3 | x8"];
const CANVAS = 200; // positions beyond which bits are drawn on a canvas

// An input as text for the address: hexadecimal digits, four bits each.
export function bitsFrom(text, T) {
  const bits = new Array(T).fill(0);
  [...text].forEach((digit, i) => {
    const four = parseInt(digit, 16) || 0;
    for (let j = 0; j < 4; j += 1) if (4 * i + j < T) bits[4 * i + j] = (four >> j) & 1;
  });
  return bits;
}
export function textOf(bits) {
  let text = "";
  for (let i = 0; i < bits.length; i += 4) text += bits.slice(i, i + 4).reduce((sum, b, j) => sum + (b << j), 0).toString(16);
  return text.replace(/0+$/, "");
}

export default function Build() {
  const [state, set] = useAddress(DEFAULTS);
  const offered = useSettings();
  const asked = {
    function: state.f, T: state.T, encoding: state.encoding, method: state.method, heads: state.heads,
    readout: state.readout || null, attends_cls: state.cls,
  };
  const { data, error, busy } = useAnswer("/api/build", asked);
  return html`
    <${Intro} title="Build a head" claim="sparse-representation">
      One attention head is written down, not trained, so that it computes your function of a few of T bits, and its certificate
      covers all 2^T inputs. Flip bits and watch the attention stay on the positions that the function reads.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        ${alone && html`<${Choice} label="Function" value=${`${state.f}, T = ${state.T}`} options=${heads.map(([f, T]) => `${f}, T = ${T}`)}
          onChange=${(text) => { const [f, T] = text.split(", T = "); set({ f, T: Number(T), ones: "" }); }} hint="The heads in this file; sparsehead lab builds any." />`}
        ${!alone && html`<${TextField} label="Function" value=${state.f} onChange=${(f) => set({ f })} bad=${Boolean(error)}
          hint="& and, | or, ^ xor, ! not, maj(..); positions x0, x1, .." />
        <div class="row examples" role="group" aria-label="Examples">
          ${EXAMPLES.map((f) => html`<${Button} kind="plain code" onClick=${() => set({ f, T: Math.max(state.T, 16) })}>${f}<//>`)}
        </div>
        <${NumberField} label="T, bits of the input" value=${state.T} min=${1} max=${4096} onChange=${(T) => set({ T })} />
        <div class="grid2">
          <${Choice} label="Positions" value=${state.encoding} options=${offered?.settings.encoding.choices || [state.encoding]} onChange=${(encoding) => set({ encoding })} />
          <${Choice} label="Construction" value=${state.method} options=${(offered?.constructions || [state.method]).map((one) => [one, one === "paper" ? "the paper's" : one])} onChange=${(method) => set({ method })} />
          <${Choice} label="Heads" value=${state.heads} options=${[["one", "one"], ["s", "one per bit"], ["cancel", "two, cancelling"]]} onChange=${(heads) => set({ heads })} />
          <${Choice} label="Read-out" value=${state.readout} options=${[["", "chosen"], ["head", "in the head"], ["mlp", "MLP"]]} onChange=${(readout) => set({ readout })} />
        </div>
        <${Check} label="[CLS] attends to itself" value=${state.cls} onChange=${(cls) => set({ cls })} />`}
        <div class="row end">
          <${Button} onClick=${() => download("/api/build/model", asked, "head.safetensors")} disabled=${!data}>Save model<//>
          <${Button} onClick=${() => download("/api/build/certificate", asked, "head.cert.json")} disabled=${!data}>Save certificate<//>
          ${!alone && html`<${Button} onClick=${() => download("/api/build/picture", asked, "head.png")} disabled=${!data}>Save PNG<//>`}
          <${Copy} />
        </div>
      <//></div>
      <div class="stack">
        <${Problem}>${error}<//>
        ${data && html`<${Result} data=${data} busy=${busy} ones=${state.ones} onBits=${(bits) => set({ ones: textOf(bits) })} asked=${asked} />`}
      </div>
    </div>`;
}

function Result({ data, busy, ones, onBits, asked }) {
  // What does not depend on the input is not rendered again at a flip.
  const still = useMemo(() => html`
    <div class="halves">
      <${Certificate} data=${data} />
      <${Weights} data=${data} />
    </div>
    <${Norms} norms=${data.norms} />`, [data]);
  return html`
    <${Card}>
      <${Busy} busy=${busy} text="building" />
      <${Play} data=${data} ones=${ones} onBits=${onBits} />
    <//>
    ${still}
    ${!alone && html`<${Figure} asked=${asked} />`}`;
}

function Play({ data, ones, onBits }) {
  const [shown, setShown] = useState(-1); // which head; -1 is the mean
  const bits = useMemo(() => bitsFrom(ones, data.T), [ones, data.T]);
  const now = useMemo(() => (data.head ? forward(data.head, bits) : null), [data, bits]);
  if (!now) return html`<p>This model is too large or too deep to be evaluated on the page; the certificate below covers all inputs.</p>`;
  const which = shown < data.heads ? shown : -1;
  const weights = which < 0
    ? now.weights[0].map((_, t) => now.weights.reduce((sum, row) => sum + row[t], 0) / now.weights.length)
    : now.weights[which];
  const flip = (t) => onBits(bits.map((b, i) => (i === t ? 1 - b : b)));
  const inside = data.support.reduce((sum, t) => sum + weights[t], 0);
  const random = () => onBits(bits.map(() => (Math.random() < 0.5 ? 1 : 0)));
  const relevant = (value) => onBits(bits.map((b, t) => (data.support.includes(t) ? value : b)));
  return html`
    <div class="card-head"><h2>Input, attention, output</h2>
      ${data.heads > 1 && html`<select aria-label="Head shown" value=${which} onChange=${(e) => setShown(Number(e.target.value))}>
        <option value="-1">mean of ${data.heads} heads</option>${now.weights.map((_, h) => html`<option value=${h}>head ${h}</option>`)}</select>`}
    </div>
    <div class="output" aria-live="polite">
      <strong data-output>${num(now.output, 5)}</strong>
      <span>predicts <b data-predicts>${now.predicts}</b><br /><span class="soft">${num(100 * inside, 4)} % of the attention is on the ${data.s} bits read</span></span>
      <div class="gauge"><div class="fill" style=${{ width: `${100 * Math.min(1, Math.max(0, now.output))}%` }}></div>
        <div class="mark" style=${{ left: `${100 * Math.min(1, Math.max(0, data.head.threshold))}%` }} title="threshold"></div></div>
    </div>
    ${data.T > CANVAS
      ? html`<${ManyBits} bits=${bits} weights=${weights} support=${data.support} onFlip=${flip} />`
      : html`<${FewBits} bits=${bits} weights=${weights} support=${data.support} onFlip=${flip} />`}
    <div class="legend"><span><i class="b"></i>read by the function</span><span><i class="g"></i>irrelevant</span><span><i class="o"></i>[CLS]</span></div>
    <div class="row end" role="group" aria-label="Inputs">
      <${Button} onClick=${() => onBits(bits.map(() => 0))}>All 0<//>
      <${Button} onClick=${() => onBits(bits.map(() => 1))}>All 1<//>
      <${Button} onClick=${random}>Random<//>
      <${Button} onClick=${() => relevant(1)}>Relevant to 1<//>
      <${Button} onClick=${() => relevant(0)}>Relevant to 0<//>
    </div>`;
}

function FewBits({ bits, weights, support, onFlip }) {
  const [at, setAt] = useState(support[0] || 0);
  const row = useRef();
  const most = Math.max(...weights);
  const last = bits.length - 1;
  const keys = { ArrowRight: 1, ArrowLeft: -1 };
  const onKey = (event) => {
    let t = at;
    if (event.key in keys) t = Math.max(0, Math.min(last, at + keys[event.key]));
    else if (event.key === "Home") t = 0;
    else if (event.key === "End") t = last;
    else return;
    event.preventDefault();
    setAt(t);
    row.current.querySelectorAll("button")[t].focus();
  };
  const here = Math.min(at, last);
  return html`<div class="bits" ref=${row} role="group" aria-label="Input bits; arrow keys move, space flips" onKeyDown=${onKey}>
    ${[...weights].map((w, t) => {
      const cls = t > last;
      const read = support.includes(t);
      return html`<div key=${t} class=${`bit ${read ? "read" : ""} ${cls ? "cls" : ""}`}>
        <div class="well" title=${`attention ${num(w)}`}><div class="bar" style=${{ height: `${Math.max(w > 0 ? 1 : 0, 68 * (w / most))}px` }}></div></div>
        ${cls ? html`<span>[CLS]</span>` : html`<button type="button" aria-pressed=${bits[t] === 1} tabindex=${t === here ? 0 : -1}
          aria-label=${`x${t}${read ? ", read by the function" : ""}, attention ${num(w, 3)}`} onFocus=${() => setAt(t)} onClick=${() => onFlip(t)}>${bits[t]}</button>
        <span aria-hidden="true">x${t}</span>`}
      </div>`;
    })}
  </div>`;
}

function Certificate({ data }) {
  const tone = data.correct ? "good" : data.correct === null ? "mild" : "bad";
  const word = data.exact ? "Exact" : data.correct ? "Correct" : data.correct === null ? "Undecided" : "Wrong";
  return html`<${Card} title="Certificate">
    <p class="verdict"><b class=${tone}>${word}</b> on all 2<sup>${data.T}</sup> inputs: <span class="formula">${data.function}</span></p>
    <div class="stats">
      <${Stat} label="largest error" value=${num(data.max_error)} note=${`rounding ${num(data.rounding)}`} />
      <${Stat} label="margin" value=${num(data.margin)} />
      <${Stat} label="attention that leaks" value=${num(data.leakage)} />
      <${Stat} label="width d" value=${data.d} note=${`${data.hidden_units} ReLU units`} />
    </div>
    <p class="hint">${data.verdict}. ${data.method}: ${data.note}</p>
  <//>`;
}

function Weights({ data }) {
  if (!data.weights) return html`<${Card} title="Weights"><p class="soft">The matrices are too large to show; save the model.</p><//>`;
  const turned = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
  return html`<${Card} title="Weights">
    <p class="hint">Each strip is a matrix, its ${data.d} rows from left to right: E0, E1, [CLS], then the positions. Blue is positive, orange negative.</p>
    <div class="strips">${Object.entries(data.weights).map(([name, rows]) => {
      const most = Math.max(...rows.map((row) => Math.max(...row.map(Math.abs))));
      return html`<figure key=${name}><figcaption><code>${name}</code> <span class="soft">largest entry ${num(most)}</span></figcaption>
        <${Heat} rows=${turned(rows)} height=${Math.max(18, 14 * rows[0].length)} label=${`${name}, ${rows.length} by ${rows[0].length}, largest entry ${num(most)}`} /></figure>`;
    })}</div>
  <//>`;
}

const known = (x) => (x === null || x === undefined ? "" : num(x));

function Norms({ norms }) {
  const columns = [["frobenius", "Frobenius"], ["spectral", "spectral"], ["n21", "(2,1)"], ["n21_T", "(2,1) of Wᵀ"], ["n11", "(1,1)"]];
  return html`<${Card} title="Norms"><div class="scroll" tabindex="0" role="group" aria-label="table"><table>
    <thead><tr><th scope="col">matrix</th>${columns.map(([, name]) => html`<th scope="col">${name}</th>`)}<th scope="col">predicted F</th><th scope="col">paper F</th></tr></thead>
    <tbody>${Object.entries(norms.heads[0]).map(([name, of]) => html`<tr key=${name}><td><code>${name}</code></td>${columns.map(([key]) => html`<td>${num(of[key])}</td>`)}
      <td>${name === "W_QK" ? known(norms.predicted?.frobenius) : ""}</td><td>${known(norms.paper?.[name])}</td></tr>`)}</tbody>
  </table></div><p class="hint">F: Frobenius norm. Predicted: by the formula of this construction, for W_QK only. Paper: of the paper's weights for the same function, where it gives some.</p><//>`;
}

function Figure({ asked }) {
  const [open, setOpen] = useState(false);
  const [spec, setSpec] = useState(null);
  const [problem, setProblem] = useState("");
  const key = JSON.stringify(asked);
  useEffect(() => {
    if (!open) return;
    post("/api/build/chart", JSON.parse(key)).then((s) => { setSpec(s); setProblem(""); }, (e) => setProblem(e.message));
  }, [open, key]);
  return html`<${Card}><details open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary>The report's figure of this head</summary>
    <${Problem}>${problem}<//>${open && html`<${Chart} spec=${spec} name="built-head" />`}</details><//>`;
}
