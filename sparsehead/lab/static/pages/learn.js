// Learn: train on a few samples of a function, watch attention sharpen, read the formula back.
import { html, useEffect, useMemo, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { download, get } from "../api.js";
import { Chart } from "../chart.js";
import { Bars, Heat } from "../heat.js";
import { JobLine, start, useJob } from "../jobs.js";
import { Evidence } from "../reading.js";
import { Button, Card, Check, Choice, Copy, Intro, LogSlider, NumberField, Problem, Stat, TextField, num } from "../parts.js";

const DEFAULTS = {
  f: "x5 & x20 & x30", T: 50, m: 300, seed: 0, preset: "fast", H: 1, k: 64, steps: 500, restarts: 1, noise: 0, lr: 0,
  encoding: "trainable", on: true, job: "",
};

export default function Learn() {
  const [state, set] = useAddress(DEFAULTS);
  const [turn, setTurn] = useState(0);
  const live = useJob(state.job, turn);
  const go = async () => {
    const job = await start("learn", {
      function: state.f, T: state.T, m: state.m, seed: state.seed, preset: state.preset, H: state.H, k: state.k, n_steps: state.steps,
      restarts: state.restarts, noise: state.noise, learning_rate: state.lr || null, encoding: state.encoding, keep_training: state.on,
      check_every: 5,
    });
    set({ job: job.id });
    setTurn((n) => n + 1);
  };
  const running = ["running", "waiting"].includes(live.job?.state);
  return html`
    <${Intro} title="Learn from samples" claim="law-and">
      A small Transformer is trained on m random inputs labelled by your function and is told nothing about which bits matter.
      Watch its attention leave the irrelevant positions; when it succeeds, the formula is read back from its weights with a certificate.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        <${TextField} label="Function" value=${state.f} onChange=${(f) => set({ f })} hint="& and, | or, ^ xor, ! not, maj(..)" />
        <div class="grid2">
          <${NumberField} label="T, bits" value=${state.T} min=${2} max=${2000} onChange=${(T) => set({ T })} />
          <${NumberField} label="seed" value=${state.seed} min=${0} max=${1e9} onChange=${(seed) => set({ seed })} />
        </div>
        <${LogSlider} label="m, training samples" value=${state.m} min=${5} max=${5000} whole=${true} onChange=${(m) => set({ m })} />
        <details><summary>Settings</summary>
          <div class="grid2">
            <${Choice} label="Preset" value=${state.preset} options=${["fast", "paper", "literal", "mingpt", "best"]} onChange=${(preset) => set({ preset })} />
            <${Choice} label="Encoding" value=${state.encoding} options=${["trainable", "random", "positional", "bag"]} onChange=${(encoding) => set({ encoding })} />
            <${NumberField} label="heads" value=${state.H} min=${1} max=${16} onChange=${(H) => set({ H })} />
            <${NumberField} label="width of a head" value=${state.k} min=${1} max=${64} onChange=${(k) => set({ k })} />
            <${NumberField} label="steps" value=${state.steps} min=${1} max=${5000} onChange=${(steps) => set({ steps })} />
            <${NumberField} label="restarts" value=${state.restarts} min=${1} max=${5} onChange=${(restarts) => set({ restarts })} />
            <${NumberField} label="learning rate" value=${state.lr} min=${0} max=${1} step="any" onChange=${(lr) => set({ lr })} hint="0: the preset's" />
            <${NumberField} label="label noise" value=${state.noise} min=${0} max=${0.49} step="any" onChange=${(noise) => set({ noise })} />
          </div>
          <${Check} label="Go on after success" value=${state.on} onChange=${(on) => set({ on })} />
        </details>
        <div class="row end"><${Button} kind="main" onClick=${go} disabled=${running}>${running ? "Training" : "Train"}<//><${Copy} /></div>
      <//></div>
      <div class="stack">
        ${state.job && html`<${Card}><${JobLine} job=${live.job} lost=${live.lost} onChange=${() => setTurn((n) => n + 1)}>${where(live)}<//><//>`}
        ${live.result ? html`<${Outcome} result=${live.result} />` : null}
        ${state.job && html`<${Watch} live=${live} />`}
        ${!state.job && html`<${Card}><p>Press <b>Train</b>. AND of three of fifty bits takes a few seconds.</p>
          <p class="soft">With m below the threshold (about 40 here) training succeeds on the samples and fails on new inputs: try it.</p><//>`}
      </div>
    </div>`;
}

function where({ job }) {
  const trial = job?.progress?.trial;
  if (job?.state === "running" && job.progress?.reading) return "reading the function back";
  if (job && job.state !== "running") return `${job.request.function}, T = ${job.request.T}, m = ${job.request.m}, seed ${job.request.seed}`;
  if (!trial) return "starting";
  return `step ${trial.step} of ${trial.n_steps}, restart ${trial.restart + 1} of ${trial.restarts}`;
}

// The stored history holds every check; while it runs, what the server passed on.
function rowsOf(live) {
  const history = live.result?.history;
  if (!history) return live.points.map((p) => ({ step: p.step, loss: p.loss, train_accuracy: p.train_accuracy, val_accuracy: p.val_accuracy, support_mass: p.support_mass }));
  const by = new Map();
  const put = (steps, values, name) => (steps || []).forEach((step, i) => by.set(step, { ...by.get(step), step, [name]: values[i] }));
  put(history.step, history.loss, "loss");
  put(history.check_step, history.train_accuracy, "train_accuracy");
  put(history.check_step, history.val_accuracy, "val_accuracy");
  put(history.mass_step, history.support_mass, "support_mass");
  return [...by.values()].sort((a, b) => a.step - b.step);
}

function Watch({ live }) {
  const [spec, setSpec] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => { get("/api/learn/chart").then(({ title, ...rest }) => setSpec(rest), (e) => setProblem(e.message)); }, []);
  const rows = useMemo(() => ({ points: rowsOf(live) }), [live.points, live.result]);
  const looks = useMemo(() => {
    const kept = live.result?.attention;
    return kept?.rows.length ? kept.rows.map((row, i) => ({ step: kept.steps[i], row })) : live.looks;
  }, [live.looks, live.result]);
  return html`
    ${looks.length > 0 && html`<${Sharpening} looks=${looks} support=${live.result?.support || []} done=${Boolean(live.result)} />`}
    <${Problem}>${problem}<//>
    ${rows.points.length > 1 && html`<${Card} title="Curves"><${Chart} spec=${spec} rows=${rows} name="training" /><//>`}`;
}

function Sharpening({ looks, support, done }) {
  const [at, setAt] = useState(-1); // -1 follows the last
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => setAt((i) => { if (i + 1 >= looks.length) { setPlaying(false); return looks.length - 1; } return i + 1; }), Math.max(30, 2500 / looks.length));
    return () => clearInterval(timer);
  }, [playing, looks.length]);
  const i = at < 0 ? looks.length - 1 : Math.min(at, looks.length - 1);
  const { step, row } = looks[i];
  const inside = support.reduce((sum, t) => sum + row[t], 0);
  const heat = useMemo(() => looks.map((look) => look.row), [looks]);
  const top = Math.max(...heat.map((r) => Math.max(...r)));
  const said = support.length ? `${num(100 * inside, 3)} % of the attention on ${support.map((t) => `x${t}`).join(", ")}` : "";
  return html`<${Card} title="Attention sharpens" actions=${done && looks.length > 1 && html`<${Button} onClick=${() => { setAt(0); setPlaying(true); }}>Play<//>`}>
    <${Bars} weights=${row} support=${support} label=${`attention over positions at step ${step}: ${said}`} />
    <p class="hint" aria-live=${playing ? "off" : "polite"}>Step ${step}. ${said}${support.length ? "." : ""} The last bar is [CLS].</p>
    ${looks.length > 1 && html`
      <input type="range" min="0" max=${looks.length - 1} value=${i} aria-label="training step shown" aria-valuetext=${`step ${step}`}
        onInput=${(e) => { setPlaying(false); setAt(Number(e.target.value)); }} />
      <${Heat} rows=${heat} height=${Math.min(180, Math.max(60, 4 * looks.length))} top=${top} label="attention by position from left to right, training steps from top to bottom" />
      <p class="hint">Positions from left to right, ${looks.length} moments of training from top to bottom; the darker the more attention.</p>`}
  <//>`;
}

function Outcome({ result }) {
  const { reading } = result;
  const tone = result.solved ? "good" : "mild";
  return html`<${Card} title="What came of it">
    <p class="verdict"><b class=${tone}>${result.solved ? "Learned" : result.status === "diverged" ? "Diverged" : "Not learned"}</b>
      ${reading ? html`: the model ${result.verdict}` : ` within ${num(result.steps)} steps; more samples or another seed may do.`}</p>
    ${reading?.function && html`<p class="formula" data-formula>${reading.function}</p>`}
    <div class="stats">
      <${Stat} label="steps" value=${num(result.steps)} note=${`${num(result.seconds, 2)} s`} />
      <${Stat} label="training accuracy" value=${num(result.train_accuracy)} />
      <${Stat} label="validation accuracy" value=${num(result.val_accuracy)} tone=${tone} />
      <${Stat} label="attention on support" value=${num(result.support_mass, 3)} />
    </div>
    ${reading && html`<${Evidence} reading=${reading} />`}
    ${result.has_model && html`<div class="row end"><${Button} onClick=${() => download(`/api/learn/${result.id}/model`, {}, "learned.safetensors")}>Save model<//></div>`}
  <//>`;
}
