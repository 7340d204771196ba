// Law: samples needed against context length, as the store tells it; start, pause and resume a measurement.
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { get, post, useSettings } from "../api.js";
import { Chart } from "../chart.js";
import { JobLine, start, useJob, useJobs } from "../jobs.js";
import { Button, Card, Choice, Copy, Intro, NumberField, Problem, TextField, num } from "../parts.js";

const DEFAULTS = { f: "and", s: 3, T: "30,100,300", learner: "transformer", preset: "fast", trials: 32, start: 45, show: "", job: "" };

export default function Law() {
  const [state, set] = useAddress(DEFAULTS);
  const [turn, setTurn] = useState(0);
  const [series, setSeries] = useState([]);
  const [problem, setProblem] = useState("");
  const offered = useSettings(setProblem);
  const live = useJob(state.job, turn);
  const jobs = useJobs("law", `${turn} ${live.job?.state}`);
  const again = () => setTurn((n) => n + 1);
  const trials = live.job?.progress?.trials;
  useEffect(() => {
    get("/api/law").then((found) => setSeries(found.series), (e) => setProblem(e.message));
  }, [turn, live.job?.state, Math.floor((trials || 0) / 8)]);
  const shown = state.show.split(",").filter((id) => series.some((one) => one.id === id));
  const picked = shown.length ? shown : series.slice(0, 1).map((one) => one.id);
  const toggle = (id) => set({ show: (picked.includes(id) ? picked.filter((other) => other !== id) : [...picked, id].slice(-6)).join(",") });
  const go = async () => {
    const T = state.T.split(/[,\s]+/).filter(Boolean).map(Number);
    const job = await start("law", {
      function: state.f, s: offered.families.includes(state.f) ? state.s : null, T, learner: state.learner, preset: state.preset, trials: state.trials, start: state.start,
    });
    set({ job: job.id });
    again();
  };
  const running = ["running", "waiting"].includes(live.job?.state);
  return html`
    <${Intro} title="The law" claim="law-and">
      Each point is the number of samples with which four trials in five succeed, m₈₀, measured by training many small Transformers at that
      context length T. The paper says that it grows like log T; the floor below is what one answer from independent samples needs, the bound above what norms alone promise.
    <//>
    <div class="two">
      <div class="side stack">
        <${Card} title="Measure">
          <div class="grid2">
            <${Choice} label="Function" value=${state.f} options=${offered?.families || [state.f]} onChange=${(f) => set({ f })} />
            <${NumberField} label="s, relevant bits" value=${state.s} min=${1} max=${8} onChange=${(s) => set({ s })} />
          </div>
          <${TextField} label="T, context lengths" value=${state.T} onChange=${(T) => set({ T })} hint="with commas between them" />
          <div class="grid2">
            <${Choice} label="Learner" value=${state.learner} options=${offered?.settings.learner.choices || [state.learner]} onChange=${(learner) => set({ learner })} />
            <${Choice} label="Preset" value=${state.preset} options=${offered?.presets || [state.preset]} onChange=${(preset) => set({ preset })} />
            <${NumberField} label="trials for each T" value=${state.trials} min=${4} max=${400} onChange=${(n) => set({ trials: n })} />
            <${NumberField} label="first guess at m₈₀" value=${state.start} min=${2} max=${5000} onChange=${(m) => set({ start: m })} />
          </div>
          <div class="row end"><${Button} kind="main" onClick=${go} disabled=${running || !offered}>${running ? "Measuring" : "Start"}<//><${Copy} /></div>
        <//>
        <${Card} title="Shown">
          ${series.length === 0 && html`<p class="soft">The store holds no measurement yet: start one.</p>`}
          <ul class="series">${series.map((one) => html`<li key=${one.id}><label><input type="checkbox" checked=${picked.includes(one.id)} onChange=${() => toggle(one.id)} />
            <span>${one.name} <span class="soft">${num(one.trials)} trials, T = ${one.Ts.map((T) => num(T)).join(", ")}</span></span></label></li>`)}</ul>
        <//>
      </div>
      <div class="stack">
        <${Problem}>${problem}<//>
        ${state.job && html`<${Card} title="Measurement"><${JobLine} job=${live.job} lost=${live.lost} onChange=${again} stop="Pause">${where(live.job)}<//><//>`}
        ${jobs.filter((job) => job.id !== state.job && ["interrupted", "cancelled", "running", "waiting"].includes(job.state)).map((job) => html`<${Card} key=${job.id}>
          <${JobLine} job=${job} onChange=${() => { set({ job: job.id }); again(); }} stop="Pause">${title(job)} <${Button} kind="plain" onClick=${() => set({ job: job.id })}>Follow<//><//><//>`)}
        ${picked.length > 0 && html`<${Shown} ids=${picked} turn=${`${turn} ${live.job?.state} ${Math.floor((trials || 0) / 8)}`} />`}
      </div>
    </div>`;
}

const title = (job) => `${job.request.function}${job.request.s ? ` of ${job.request.s} bits` : ""}, ${job.request.learner}, T = ${job.request.T.join(", ")}`;

function where(job) {
  const p = job?.progress;
  if (!job) return "";
  if (!p || job.state !== "running") return title(job);
  return `${title(job)}: round ${p.round}, ${p.trials} trials`;
}

function Shown({ ids, turn }) {
  const [spec, setSpec] = useState(null);
  const [tables, setTables] = useState([]);
  const [problem, setProblem] = useState("");
  const key = ids.join(",");
  useEffect(() => {
    let gone = false;
    const no = (e) => { if (!gone) setProblem(e.message); };
    setProblem("");
    post("/api/law/chart", { ids }).then((found) => { if (!gone) setSpec(found); }, no);
    Promise.all(ids.map((id) => get(`/api/law/${id}`))).then((found) => { if (!gone) setTables(found); }, no);
    return () => { gone = true; };
  }, [key, turn]);
  return html`
    <${Card}><${Problem}>${problem}<//><${Chart} spec=${spec} name="law" /><//>
    ${tables.map((one) => html`<${Table} key=${one.id} data=${one} />`)}`;
}

const formula = { log: (a, b) => `${num(a, 3)} + ${num(b, 3)} ln T`, power: (a, b) => `${num(a, 3)} · T^${num(b, 3)}`, linear: (a, b) => `${num(a, 3)} + ${num(b, 3)} T` };

function Table({ data }) {
  const floor = new Map(data.floor.map((row) => [row.T, row]));
  return html`<${Card} title=${data.name}>
    <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">T</th><th scope="col">m₈₀</th><th scope="col">95 % interval</th><th scope="col">trials</th><th scope="col">floor</th><th scope="col" class="words">note</th></tr></thead>
      <tbody>${data.thresholds.map((row) => html`<tr key=${row.T}><td>${num(row.T)}</td><td><b>${num(row.m80, 3)}</b></td><td>${num(row.low, 3)} to ${num(row.high, 3)}</td><td>${row.trials}</td>
        <td>${num(floor.get(row.T)?.m)}</td><td class="words soft">${row.note}</td></tr>`)}</tbody></table></div>
    ${data.thresholds.some((row) => row.low === null || row.high === null) && html`<p class="hint">–: the trials leave this end open.</p>`}
    ${Object.entries(data.fits).length > 0 && html`<h3>Laws fitted to all trials</h3><div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">law</th><th scope="col">b between</th><th scope="col">AIC above the best</th></tr></thead>
      <tbody>${Object.entries(data.fits).map(([name, fit]) => html`<tr key=${name}><td>${formula[name](fit.params.a, fit.params.b)}</td><td>${(fit.intervals.b || []).map((x) => num(x, 3)).join(" and ")}</td><td>${num(fit.delta_aic, 3)}</td></tr>`)}</tbody></table></div>`}
    ${data.note && html`<p class="hint">${data.note}</p>`}
  <//>`;
}
