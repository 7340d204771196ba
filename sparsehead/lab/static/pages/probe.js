// Probe: which heads of a pretrained model are sparse variables, beside what heads without structure give.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { get, send, useRun, useRuns } from "../api.js";
import { Chart } from "../chart.js";
import { JobLine, start, useJob } from "../jobs.js";
import { AreaField, Busy, Button, Card, Choice, Copy, DropFile, Intro, NumberField, Problem, Stat, num, percent, vacuous } from "../parts.js";

const DEFAULTS = { model: "", s: 4, text: "", longest: 128, influence: 0, ablation: 0, heads: 12, job: "", run: "", head: "", all: false };
const SIZES = ["1", "2", "4", "8", "16", "32"];
const FEW = 20; // heads in the table before "Show all"
const BASELINES = { random_weights: "random weights", shuffled_input: "shuffled input", uniform_attention: "uniform attention" };

export default function Probe() {
  const [state, set] = useAddress(DEFAULTS);
  const [models, setModels] = useState(null);
  const [file, setFile] = useState(null);
  const [turn, setTurn] = useState(0);
  const [problem, setProblem] = useState("");
  const live = useJob(file ? "" : state.job, turn);
  const upload = useUpload(file, state);
  const runs = useRuns();
  const run = file || state.job ? "" : state.run || runs?.first || "";
  const stored = useRun(run, `/heads?s=${state.s}`);
  useEffect(() => { get("/api/probe").then((found) => setModels(found.models), (e) => setProblem(e.message)); }, []);
  const model = [state.model, live.job?.request.model, models?.[0]].find((name) => models?.includes(name)) || "";
  const go = async () => {
    const text = state.text.split("\n").map((line) => line.trim()).filter(Boolean);
    const job = await start("probe", { model, text, s: state.s, longest: state.longest, influence: state.influence, ablation: state.ablation });
    setFile(null);
    set({ job: job.id, run: "", head: "" });
    setTurn((n) => n + 1);
  };
  const running = ["running", "waiting"].includes(live.job?.state);
  const data = file ? underName(upload.data, file.name) : run ? underName(stored.data, "a stored run of Learn") : live.result;
  return html`
    <${Intro} title="Probe a pretrained model" claim="sparse-representation">
      A head is a sparse variable when a few of its attention weights reproduce what it puts out: the score is the share of its output's
      variance that its s largest weights keep. Beside each number stands what random weights, shuffled input and uniform attention give.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        ${models?.length > 0 && html`
          <${Choice} label="Model" value=${model} options=${models} onChange=${(name) => set({ model: name })} />
          <${Choice} label="s, positions kept in the score" value=${String(state.s)} options=${SIZES} onChange=${(s) => set({ s: Number(s) })} />
          <${AreaField} label="Text, one sequence per line" value=${state.text} onChange=${(text) => set({ text })} hint="Empty: random tokens. Text needs the model's tokenizer." />
          <details><summary>Settings</summary>
            <${NumberField} label="longest sequence, tokens" value=${state.longest} min=${2} max=${2048} onChange=${(longest) => set({ longest })} />
            <${NumberField} label="sequences for influence" value=${state.influence} min=${0} max=${16} onChange=${(influence) => set({ influence })} hint="positions substituted at each layer's input" />
            <${NumberField} label="sequences for ablation" value=${state.ablation} min=${0} max=${16} onChange=${(ablation) => set({ ablation })} hint="each head taken out, one pass per head" />
          </details>
          <div class="row end"><${Button} kind="main" onClick=${go} disabled=${running}>${running ? "Measuring" : "Measure"}<//><${Copy} /></div>`}
        ${models?.length === 0 && html`<${Choice} label="s, positions kept in the score" value=${String(state.s)} options=${SIZES} onChange=${(s) => set({ s: Number(s) })} />
          <p class="hint">Start the lab with <code>--probe PATH</code> to measure a model folder from this machine on texts.</p>`}
        <div class="gap"><${DropFile} label=${models?.length ? "Or drop a file (.safetensors)" : "Drop a file (.safetensors)"} accept=".safetensors" onFile=${(f) => { set({ job: "", run: "", head: "" }); setFile(f); }}
          note="A model of ours, or a state dict; at most 32 MB." /></div>
        <${NumberField} label="heads per layer, for a state dict" value=${state.heads} min=${1} max=${1024} onChange=${(heads) => set({ heads })} />
      <//></div>
      <div class="stack">
        <${Problem}>${problem || stored.error || (file && upload.error)}<//>
        ${state.job && !file && html`<${Card}><${JobLine} job=${live.job} lost=${live.lost} onChange=${() => setTurn((n) => n + 1)}>${where(live.job)}<//><//>`}
        ${file && upload.busy && html`<${Card}><${Busy} busy=${true} text="measuring" /><p>Measuring the heads of ${file.name}.</p><//>`}
        ${stored.busy && html`<${Card}><${Busy} busy=${true} text="measuring" /><p>Measuring the head of a stored run.</p><//>`}
        ${data && run && models?.length > 0 && html`<${Card}><p>The head of a stored run of Learn, until you press <b>Measure</b> or drop a file.</p><//>`}
        ${data && html`<${Found} data=${data} head=${state.head} all=${state.all} set=${set} />`}
        ${!data && !state.job && !file && !stored.busy && html`<${Card}><p>${models?.length ? html`Press <b>Measure</b>, or drop a file.` : "Drop a file, such as one that Build saved."}</p><//>`}
      </div>
    </div>`;
}

function useUpload(file, { s, heads }) {
  const [answer, setAnswer] = useState({ data: null, error: "", busy: false });
  useEffect(() => {
    if (!file) return undefined;
    let gone = false;
    setAnswer({ data: null, error: "", busy: true });
    const timer = setTimeout(() => send(`/api/probe?${new URLSearchParams({ s, heads })}`, file).then(
      (data) => { if (!gone) setAnswer({ data, error: "", busy: false }); },
      (error) => { if (!gone) setAnswer({ data: null, error: error.message, busy: false }); },
    ), 200);
    return () => { gone = true; clearTimeout(timer); };
  }, [file, s, heads]);
  return answer;
}

// The server is sent a file without its name; what it says of "model.safetensors" is said of the file's own name here.
function underName(data, name) {
  if (!data) return data;
  const renamed = (text) => (text.startsWith(data.name) ? name + text.slice(data.name.length) : text);
  const title = data.chart?.title;
  const text = Array.isArray(title?.text) ? title.text.map((line, i) => (i ? line : renamed(line))) : title?.text && renamed(title.text);
  return { ...data, name, summary: renamed(data.summary), chart: text ? { ...data.chart, title: { ...title, text } } : data.chart };
}

function where(job) {
  if (!job) return "";
  const p = job.progress;
  return job.state === "running" && p ? `${job.request.model}: ${p.stage}, ${p.done} of ${p.total}` : job.request.model;
}

const nameOf = (row) => `${row.layer}.${row.head}`;

function Found({ data, head, all, set }) {
  const details = useRef();
  const chosen = data.heads.find((one) => nameOf(one) === head) || data.heads[0];
  const pick = (name) => {
    if (!data.heads.some((one) => nameOf(one) === name)) return;
    set({ head: name });
    details.current?.focus({ preventScroll: true });
    details.current?.scrollIntoView({ block: "nearest" });
  };
  return html`
    <${Card}>
      <p class="verdict">${data.summary}</p>
      ${data.chart && html`<${Chart} spec=${data.chart} name="heads" onPick=${(row) => { if ("layer" in row && "head" in row) pick(nameOf(row)); }} />
        <p class="hint">Click a cell for what is known about the head.</p>`}
      ${!data.chart && html`<p class="soft">A state dict has weights and computes nothing by itself: there are norms, ranks and bounds, and no scores.</p>`}
      ${data.notes.map((note) => html`<p class="hint" key=${note}>${note}</p>`)}
    <//>
    <section ref=${details} tabindex="-1" aria-label=${`head ${nameOf(chosen)}`} class="details"><${Details} one=${chosen} s=${data.s} /></section>
    <${Table} rows=${data.rows} s=${data.s} head=${nameOf(chosen)} all=${all} onPick=${pick} onAll=${() => set({ all: true })} />`;
}

const COLUMNS = [
  ["score", "score"], ["score_random_weights", "random"], ["score_shuffled_input", "shuffled"], ["score_uniform_attention", "uniform"],
  ["effective_support", "support"], ["sink_first", "sink"], ["previous", "prev"], ["next", "next"], ["same_token", "same"], ["induction_repeated", "induct"],
  ["rank_QK", "rank QK"], ["rank_OV", "rank OV"], ["vacuous", "vacuous"],
];

// As the command's table: two decimals where that says enough.
function brief(x) {
  if (typeof x !== "number") return "–";
  return Math.abs(x) < 10 ? x.toFixed(2) : Math.abs(x) < 1e4 ? x.toFixed(0) : x.toExponential(0).replace("e+", "e");
}

function Table({ rows, s, head, all, onPick, onAll }) {
  const shown = all ? rows : rows.slice(0, FEW);
  const columns = COLUMNS.filter(([key]) => rows.some((row) => row[key] !== null && row[key] !== undefined));
  return html`<${Card} title="Heads, the sparsest variable first" actions=${shown.length < rows.length && html`<${Button} onClick=${onAll}>Show all ${rows.length}<//>`}>
    <div class="scroll" tabindex="0" role="region" aria-label="table of heads"><table><thead><tr><th scope="col">head</th>${columns.map(([key, text]) => html`<th scope="col" key=${key}>${text}</th>`)}</tr></thead>
      <tbody>${shown.map((row) => html`<tr key=${nameOf(row)} class=${nameOf(row) === head ? "chosen" : ""}>
        <td><${Button} kind="plain" label=${`layer ${row.layer}, head ${row.head}`} pressed=${nameOf(row) === head} onClick=${() => onPick(nameOf(row))}>${nameOf(row)}<//></td>
        ${columns.map(([key]) => html`<td key=${key}>${key === "vacuous" ? vacuous(row) : brief(row[key])}</td>`)}</tr>`)}</tbody></table></div>
    <p class="hint">head: layer.head. score: share of the output's variance that ${s} positions keep; random, shuffled, uniform: the same for the baselines.
      support: 1/Σa². sink: weight on the first token. prev, next, same: on neighbours and on the same token elsewhere. induct: on what followed a token before.
      rank: effective rank. vacuous: the bound needs this many times m samples, no: m are enough, in brackets: not proven. –: cannot be measured.</p>
  <//>`;
}

function Details({ one, s }) {
  const { measured, weights, bound } = one;
  const random = one.random_weights;
  return html`<${Card} title=${`Layer ${one.layer}, head ${one.head}`}>
    ${measured && html`<div class="stats">
      <${Stat} label=${`score(${s})`} value=${num(measured.score[s], 3)} note=${baselineNote(one, s)} />
      <${Stat} label="effective support" value=${num(measured.effective_support, 3)} note=${`entropy ${num(measured.entropy, 3)} nats`} />
      <${Stat} label="on the first token" value=${percent(measured.sink_first)} note=${`a sink in ${percent(measured.sink_rate)} of sequences`} />
      <${Stat} label="largest mean weights" value=${measured.support.join(" ") || "none"} note=${measured.stability === null ? "positions" : `positions; stability ${num(measured.stability, 2)}`} />
      ${one.ablation !== null && html`<${Stat} label="change without it" value=${percent(one.ablation)} note="of the model's output" />`}
    </div>
    <h3>What few positions keep</h3>
    <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">positions kept</th>${Object.keys(measured.score).map((k) => html`<th scope="col" key=${k}>${k}</th>`)}</tr></thead>
      <tbody>${[["this head", measured], ...Object.entries(one.baselines).map(([name, b]) => [BASELINES[name] || name, b])].map(([name, b]) => html`<tr key=${name}><td>${name}</td>
        ${Object.keys(measured.score).map((k) => html`<td key=${k}>${num(b.score[k], 3)}</td>`)}</tr>`)}</tbody></table></div>`}
    ${Object.entries(one.influence).map(([name, found]) => html`<${Depends} key=${name} name=${name} found=${found} />`)}
    <h3>Weights</h3>
    <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">matrix</th><th scope="col">Frobenius</th><th scope="col">spectral</th><th scope="col">(2,1)</th><th scope="col">(1,1)</th></tr></thead>
      <tbody>${Object.entries(weights.norms).map(([name, n]) => html`<tr key=${name}><td>W_${name}</td><td>${num(n.frobenius)}</td><td>${num(n.spectral)}</td><td>${num(n.n21)}</td><td>${num(n.n11)}</td></tr>`)}</tbody></table></div>
    <p class="hint">Effective rank of W_QK ${num(weights.rank_QK, 3)}${random ? ` (random weights ${num(random.rank_QK, 3)})` : ""}, of W_VO ${num(weights.rank_OV, 3)}${random ? ` (${num(random.rank_OV, 3)})` : ""}.</p>
    ${bound && html`<h3>Bound on m = ${num(bound.m)} sequences of T = ${num(bound.T)}</h3>
      <p class="hint">${bound.verdict}. ln N = ${num(bound.log_covering, 3)}${bound.proxy === null ? "" : html`; the spectral proxy, which is no proof, says ${num(bound.proxy, 3)}`}.</p>`}
  <//>`;
}

function baselineNote(one, s) {
  const parts = Object.entries(one.baselines).map(([name, b]) => `${(BASELINES[name] || name).split(" ")[0]} ${num(b.score[s], 2)}`);
  return parts.join(", ");
}

const INFLUENCE = { direct: "Influence of the layer's input", total: "Influence of the input tokens" };

function Depends({ name, found }) {
  const rows = Object.entries(found).filter(([, value]) => typeof value === "number");
  return html`<h3>${INFLUENCE[name] || name}</h3><dl class="pairs">${rows.map(([key, value]) => html`<dt key=${key}>${key.replaceAll("_", " ")}</dt><dd key=${`${key}-v`}>${num(value, 3)}</dd>`)}</dl>`;
}
