// Read: drop a model, get the function that it computes, with evidence and a certificate.
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { post, send, useRun, useRuns } from "../api.js";
import { Evidence } from "../reading.js";
import { Busy, Button, Card, Copy, DropFile, Intro, NumberField, Problem, Stat, TextField, num } from "../parts.js";

const DEFAULTS = { f: "", T: 16, most: 8, run: "" };

export default function Read() {
  const [state, set] = useAddress(DEFAULTS);
  const [file, setFile] = useState(null);
  const [answer, setAnswer] = useState({ data: null, error: "", busy: false });
  const runs = useRuns();
  const run = file || state.f ? "" : state.run || runs?.first || "";
  const stored = useRun(run, "/reading");
  const trained = runs?.runs.find((one) => one.id === run);
  const [draft, setDraft] = useState(state.f || "x2 & !x5 & x11");
  useEffect(() => {
    if (!file && !state.f) { setAnswer({ data: null, error: "", busy: false }); return undefined; }
    let gone = false;
    setAnswer({ data: null, error: "", busy: true });
    const asked = file ? send(`/api/read?most=${state.most}`, file) : post("/api/read/built", { function: state.f, T: state.T });
    asked.then(
      (data) => { if (!gone) setAnswer({ data, error: "", busy: false }); },
      (error) => { if (!gone) setAnswer({ data: null, error: error.message, busy: false }); },
    );
    return () => { gone = true; };
  }, [file, state.f, state.T, state.most]);
  const { data, error, busy } = run ? stored : answer;
  return html`
    <${Intro} title="Read a model" claim="read-junta">
      The model is asked about chosen inputs until the few positions that it depends on are known, and then the function of them.
      What comes back is a formula with its evidence: proved on all inputs where that is possible, and else with the share on which it agrees.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        <${DropFile} label="Drop a model (.safetensors)" accept=".safetensors" onFile=${(f) => { set({ f: "", run: "" }); setFile(f); }}
          note="As Build, Learn or the command line save it; at most 32 MB." />
        <p class="hint gap">Or let Build write one, and read it without looking at the function:</p>
        <${TextField} label="Function" value=${draft} onChange=${setDraft} />
        <${NumberField} label="T, bits" value=${state.T} min=${1} max=${4096} onChange=${(T) => set({ T })} />
        <div class="row"><${Button} kind="main" onClick=${() => { setFile(null); set({ f: draft, run: "" }); }}>Build and read<//><${Copy} /></div>
      <//></div>
      <div class="stack">
        <${Problem}>${error}<//>
        ${busy && html`<${Card}><${Busy} busy=${true} text="reading" /><p>Asking the model.</p><//>`}
        ${data && html`<${Card} title=${file ? file.name : run ? "A model that was trained" : "The head that Build wrote"}>
          ${trained && html`<p class="soft">Trained on ${num(trained.m)} samples of ${trained.T} bits (<a href=${`/learn?run=${run}`} data-page="learn">watch it</a>); reading it, nobody looks at what it was trained on.</p>`}
          <p class="verdict">The model ${data.verdict}</p>
          <p class="formula" data-formula>${data.function || data.best}</p>
          <div class="stats">
            <${Stat} label="reads" value=${data.support.map((t) => `x${t}`).join(" ") || "nothing"} note=${`of T = ${data.T}`} />
            <${Stat} label="model" value=${`${data.model.layers} × ${data.model.heads}`} note=${`layers × heads, d = ${data.model.d}, ${data.model.encoding}`} />
          </div>
          <${Evidence} reading=${data} />
        <//>`}
        ${!data && !busy && !error && html`<${Card}><p>Drop a file, or press <b>Build and read</b>.</p><//>`}
      </div>
    </div>`;
}
