// Learn: train on a few samples of a function, watch attention sharpen, read the formula back.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { download, get, useRun, useRuns, useSettings } from "../api.js";
import { Chart } from "../chart.js";
import { Bars, Heat } from "../heat.js";
import { JobLine, start, useJob } from "../jobs.js";
import { Evidence } from "../reading.js";
import { Busy, Button, Card, Check, Choice, Copy, Intro, LogSlider, NumberField, Problem, Stat, TextField, num } from "../parts.js";

// 0 and "" stand for what nobody has set: the quick start's or the preset's.
const UNSET = { H: 0, k: 0, steps: 0, restarts: 0, lr: 0, encoding: "", check: 0 };
// `more` has the other settings that were set, as the query of an address: "dropout=0.1&mlp=0".
const DEFAULTS = { f: "x5 & x20 & x30", T: 50, m: 300, seed: 0, preset: "fast", ...UNSET, noise: 0, on: false, more: "", job: "", run: "" };
const FIELDS = { H: "H", k: "k", steps: "n_steps", restarts: "restarts", lr: "learning_rate", encoding: "encoding", check: "check_every" };
// What the page changes in the preset that it opens with, so that a first run takes seconds.
const QUICK = { H: 1, k: 64, n_steps: 500, restarts: 1, check_every: 2 };

/** The settings in `more`, each of its kind. */
function moreOf(state, offered) {
  const kinds = { int: Number, float: Number, bool: (text) => text === "true", str: String };
  return Object.fromEntries([...new URLSearchParams(state.more)].filter(([name]) => name in offered.settings).map(([name, text]) => [name, kinds[offered.settings[name].kind](text)]));
}

/** The settings that are shown and sent: the user's, else the preset's; null while the presets are not known. */
function settingsOf(state, presets) {
  if (!presets) return null;
  const start = { ...presets[state.preset], ...(state.preset === DEFAULTS.preset ? QUICK : {}) };
  return Object.fromEntries(Object.entries(FIELDS).map(([key, name]) => [name, state[key] || start[name]]));
}

export default function Learn() {
  const [state, set] = useAddress(DEFAULTS);
  const [turn, setTurn] = useState(0);
  const [presets, setPresets] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => { get("/api/learn/presets").then((found) => setPresets(found.presets), (e) => setProblem(e.message)); }, []);
  const offered = useSettings(setProblem);
  const job = useJob(state.job, turn);
  const runs = useRuns(`${turn} ${job.job?.state}`);
  const [plain] = useState(location.search === ""); // opened without a choice: the page shows a stored run
  const run = state.job ? "" : state.run || (plain && runs?.first) || "";
  const stored = useRun(run);
  const live = run ? { ...job, result: stored.data } : job;
  const settings = settingsOf(state, presets);
  const go = async (change = {}) => {
    const found = await start("learn", {
      function: state.f, T: state.T, m: state.m, seed: state.seed, preset: state.preset, noise: state.noise, keep_training: state.on, ...moreOf(state, offered), ...settings, ...change,
    });
    set({ job: found.id, run: "" });
    setTurn((n) => n + 1);
  };
  const trainOn = state.job && !state.on && live.result?.solved && !live.result.reading?.proved ? async () => { set({ on: true }); await go({ keep_training: true }); } : null;
  const running = ["running", "waiting"].includes(live.job?.state);
  return html`
    <${Intro} title="Learn from samples" claim="law-and">
      A small Transformer is trained on m random inputs labelled by your function and is told nothing about which bits matter.
      Watch its attention leave the irrelevant positions; when it succeeds, the formula is read back from its weights with a certificate.
    <//>
    <div class="two">
      <div class="side stack"><${Card}>
        <${TextField} label="Function" value=${state.f} onChange=${(f) => set({ f })} hint="& and, | or, ^ xor, ! not, maj(..)" />
        <div class="grid2">
          <${NumberField} label="T, bits" value=${state.T} min=${2} max=${2000} onChange=${(T) => set({ T })} />
          <${NumberField} label="seed" value=${state.seed} min=${0} max=${1e9} onChange=${(seed) => set({ seed })} />
        </div>
        <${LogSlider} label="m, training samples" value=${state.m} min=${5} max=${5000} whole=${true} onChange=${(m) => set({ m })} />
        <details><summary>Settings</summary>${offered && presets && html`<${Settings} state=${state} set=${set} presets=${presets} settings=${settings || {}} offered=${offered} />`}</details>
        <${Problem}>${problem}<//>
        <div class="row end"><${Button} kind="main" onClick=${() => go()} disabled=${running || !settings || !offered}>${running ? "Training" : "Train"}<//><${Copy} /></div>
      <//>
      ${runs?.runs.length > 0 && html`<${Runs} runs=${runs.runs} shown=${run || live.result?.id} onShow=${(one) => set({ run: one.id, job: "", f: one.function, T: one.T, m: one.m, seed: one.seed })} />`}</div>
      <div class="stack">
        ${state.job && html`<${Card}><${JobLine} job=${live.job} lost=${live.lost} onChange=${() => setTurn((n) => n + 1)}>${where(live)}<//><//>`}
        ${run && html`<${Card}><${Busy} busy=${stored.busy} /><${Problem}>${stored.error}<//>
          <p>${stored.data ? html`A stored run: <code>${stored.data.function}</code>, T = ${num(stored.data.T)}, m = ${num(stored.data.m)}, seed ${stored.data.seed}. ` : "Reading a stored run. "}
            Press <b>Train</b> for one of your own.</p><//>`}
        ${live.result ? html`<${Outcome} result=${live.result} trainOn=${trainOn} />` : null}
        ${(state.job || live.result) && html`<${Watch} key=${state.job || run} live=${live} />`}
        ${!state.job && !run && html`<${Card}><p>Press <b>Train</b>. AND of three of fifty bits takes a few seconds.</p>
          <p class="soft">With too few samples, training succeeds on them and fails on new inputs: try m = 14.</p><//>`}
      </div>
    </div>`;
}

function Runs({ runs, shown, onShow }) {
  return html`<${Card} title="Stored runs"><div class="row list">${runs.map((one) => html`<${Button} key=${one.id} kind="plain" pressed=${one.id === shown} onClick=${() => onShow(one)}>
    <code>${one.function}</code>, m = ${num(one.m)}: ${one.solved ? "learned" : "not learned"}<//>`)}</div><//>`;
}

function Settings({ state, set, presets, settings, offered }) {
  const number = (key, label, step = 1, min = offered.settings[FIELDS[key]].least) => html`<${NumberField} label=${label} value=${settings[FIELDS[key]]} min=${min}
    max=${offered.settings[FIELDS[key]].most} step=${step} onChange=${(value) => set({ [key]: value })} />`;
  const own = state.more || Object.keys(UNSET).some((key) => state[key]);
  return html`
    <div class="grid2">
      <${Choice} label="Preset" value=${state.preset} options=${Object.keys(presets)} onChange=${(preset) => set({ preset })} />
      <${Choice} label="Encoding" value=${settings.encoding} options=${offered.settings.encoding.choices} onChange=${(encoding) => set({ encoding })} />
      ${number("H", "heads")}
      ${number("k", "width of a head")}
      ${number("steps", "steps", 1, 1)}
      ${number("restarts", "restarts")}
      ${number("lr", "learning rate", "any", 1e-6)}
      ${number("check", "steps between checks")}
      <${NumberField} label="label noise" value=${state.noise} min=${0} max=${0.49} step="any" onChange=${(noise) => set({ noise })} />
    </div>
    <${Check} label="Go on after success" value=${state.on} onChange=${(on) => set({ on })} />
    <details><summary>All other settings</summary><${More} state=${state} set=${set} shown=${{ ...presets[state.preset], ...moreOf(state, offered) }} offered=${offered} /></details>
    <p class="hint">${state.preset === DEFAULTS.preset ? "At first a quick start: smaller and shorter than the preset." : "At first the preset's values."} What you set stays when the preset changes.</p>
    ${own && html`<div class="row end"><${Button} kind="plain" onClick=${() => set({ ...UNSET, more: "" })}>Undo what I set<//></div>`}`;
}

// Settings with a place of their own on the page.
const PLACED = ["function", "T", "m", "seed", "noise", "keep_training", ...Object.values(FIELDS)];

function More({ state, set, shown, offered }) {
  const change = (name, value) => {
    const more = new URLSearchParams(state.more);
    more.set(name, String(value));
    set({ more: more.toString() });
  };
  const rest = Object.values(offered.settings).filter((one) => !PLACED.includes(one.name));
  return [...new Set(rest.map((one) => one.group))].map((group) => html`<h2 class="gap">${group}</h2>
    ${rest.filter((one) => one.group === group).map((one) => html`<${Setting} key=${one.name} about=${one} value=${shown[one.name]} onChange=${(value) => change(one.name, value)} />`)}`);
}

/** One setting as a field of its kind; blank where its default depends on T or is none. */
function Setting({ about, value, onChange }) {
  const label = about.name.replaceAll("_", " ");
  if (about.kind === "bool") return html`<${Check} label=${`${label}: ${about.help}`} value=${value} onChange=${onChange} />`;
  if (about.choices.length) return html`<${Choice} label=${label} value=${value} options=${about.choices} hint=${about.help} onChange=${onChange} />`;
  return html`<${NumberField} label=${label} value=${value ?? undefined} min=${about.least ?? 0} max=${about.most ?? 1e6} step=${about.kind === "int" ? 1 : "any"}
    hint=${about.help} onChange=${onChange} />`;
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
  const wasLive = useRef(false); // trained while this page was open: then it is played once more at the end
  if (live.looks.length > 0 && !live.result) wasLive.current = true;
  const support = live.result?.support || live.job?.progress?.trial?.support || [];
  const looks = useMemo(() => {
    const kept = live.result?.attention;
    return kept?.rows.length ? kept.rows.map((row, i) => ({ step: kept.steps[i], row })) : live.looks;
  }, [live.looks, live.result]);
  return html`
    ${looks.length > 0 && html`<${Sharpening} looks=${looks} support=${support} done=${Boolean(live.result)} replay=${wasLive.current} />`}
    <${Problem}>${problem}<//>
    ${rows.points.length > 1 && html`<${Card} title="Curves"><${Chart} spec=${spec} rows=${rows} name="training" /><//>`}`;
}

function Sharpening({ looks, support, done, replay }) {
  const [at, setAt] = useState(-1); // -1 follows the last
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => setAt((i) => { if (i + 1 >= looks.length) { setPlaying(false); return looks.length - 1; } return i + 1; }), Math.max(30, 2500 / looks.length));
    return () => clearInterval(timer);
  }, [playing, looks.length]);
  useEffect(() => {
    if (done && replay && looks.length > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches) { setAt(0); setPlaying(true); }
  }, [done]);
  const i = at < 0 ? looks.length - 1 : Math.min(at, looks.length - 1);
  const { step, row } = looks[i];
  const inside = support.reduce((sum, t) => sum + row[t], 0);
  const heat = useMemo(() => looks.map((look) => look.row), [looks]);
  const top = Math.max(...heat.map((r) => Math.max(...r)));
  const said = support.length ? `${num(100 * inside, 3)} % of the attention on ${support.map((t) => `x${t}`).join(", ")}` : "";
  return html`<${Card} title="Attention sharpens" actions=${done && looks.length > 1 && html`<${Button} onClick=${() => { setAt(0); setPlaying(true); }}>Play<//>`}>
    <${Bars} weights=${row} support=${support} playing=${playing || !done} label=${`attention over positions at step ${step}: ${said}`} />
    <p class="hint" aria-live=${playing ? "off" : "polite"}>Step ${step}. ${said}${support.length ? "." : ""} ${done ? "" : "Training."}</p>
    ${looks.length > 1 && html`
      <input type="range" min="0" max=${looks.length - 1} value=${i} aria-label="training step shown" aria-valuetext=${`step ${step}`}
        onInput=${(e) => { setPlaying(false); setAt(Number(e.target.value)); }} />
      <${Heat} rows=${heat} height=${Math.min(180, Math.max(60, 4 * looks.length))} top=${top} label="attention by position from left to right, training steps from top to bottom" />
      <p class="hint">Positions from left to right, ${looks.length} moments of training from top to bottom; the stronger the colour, the more attention.</p>`}
  <//>`;
}

function Outcome({ result, trainOn }) {
  const { reading } = result;
  const tone = result.solved ? "good" : "mild";
  return html`<${Card} title="What came of it">
    <p class="verdict" data-solved=${String(result.solved)}><b class=${tone}>${result.solved ? "Learned" : result.status === "diverged" ? "Diverged" : "Not learned"}</b>
      ${reading ? html`: the model ${result.verdict}` : ` within ${num(result.steps)} steps${result.train_accuracy === 1 ? ", although every training sample is right" : ""}; more samples or another seed may do.`}</p>
    ${reading?.function && html`<p class="formula" data-formula>${reading.function}</p>`}
    <div class="stats">
      <${Stat} label="steps" value=${num(result.steps)} note=${`${num(result.seconds, 2)} s`} />
      <${Stat} label="training accuracy" value=${num(result.train_accuracy)} />
      <${Stat} label="validation accuracy" value=${num(result.val_accuracy)} tone=${tone} />
      <${Stat} label="attention on support" value=${num(result.support_mass, 3)} />
    </div>
    ${reading && html`<${Evidence} reading=${reading} />`}
    ${trainOn && html`<p class="hint">Training stopped at the first check above the target. <${Button} onClick=${trainOn}>Train on to the last step<//></p>`}
    ${result.has_model && html`<div class="row end">
      ${reading?.proved && html`<a class="button" href=${`/check?run=${result.id}`} data-page="check">Check its proof</a>`}
      <a class="button" href=${`/read?run=${result.id}`} data-page="read">Read it</a>
      <a class="button" href=${`/probe?run=${result.id}`} data-page="probe">Probe it</a>
      <${Button} onClick=${() => download(`/api/learn/${result.id}/model`, {}, "learned.safetensors")}>Save model<//></div>`}
  <//>`;
}
