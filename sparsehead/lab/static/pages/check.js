// Check: drop a model and its certificate, see the proof checked. The checking happens in this page; it also works as one file.
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { bytes } from "../api.js";
import { verdictInSteps } from "../checker.js";
import { Busy, Card, Copy, DropFile, Problem } from "../parts.js";

// The page opens with a head that Build writes, and its proof; `run` names a stored run of Learn instead.
const DEFAULTS = { f: "x2 & x5 & x11", T: 16, run: "" };

const MOST_ROWS = 64; // patterns shown

/** Which of the two files this is: a safetensors file starts with its header's length, a certificate with a brace. */
async function sorted(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const json = file.name.endsWith(".json") || (!file.name.endsWith(".safetensors") && bytes[0] === 0x7b);
  return [json ? "certificate" : "model", { name: file.name, bytes }];
}

export default function Check() {
  const [state] = useAddress(DEFAULTS);
  const [files, setFiles] = useState({});
  const [dropped, setDropped] = useState(false);
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let gone = false;
    const [path, body] = state.run ? [`/api/learn/${state.run}`, {}] : ["/api/build", { function: state.f, T: state.T }];
    const name = state.run ? "learned" : "head";
    Promise.all([bytes(`${path}/model`, body), bytes(`${path}/certificate`, body)]).then(
      ([model, certificate]) => {
        if (!gone) setFiles((old) => (old.model || old.certificate ? old : { model: { name: `${name}.safetensors`, bytes: model }, certificate: { name: `${name}.cert.json`, bytes: certificate } }));
      },
      (error) => { if (!gone) setProblem(error.message); },
    );
    return () => { gone = true; };
  }, []);
  const take = async (file) => {
    setProblem("");
    try {
      const [kind, content] = await sorted(file);
      setFiles((old) => ({ ...old, [kind]: content }));
      setDropped(true);
    } catch (error) {
      setProblem(`${file.name} cannot be read: ${error.message}`);
    }
  };
  useEffect(() => {
    const { model, certificate } = files;
    setAnswer(null);
    if (!model || !certificate) return undefined;
    let gone = false;
    const start = performance.now();
    const show = (found) => { if (!gone) setAnswer(found); };
    show({ rows: [] });
    verdictInSteps(model.bytes, certificate.bytes, (rows) => { show({ rows }); if (gone) throw new Error("other files"); }).then(
      (found) => show({ ...found, seconds: (performance.now() - start) / 1000 }), () => {},
    );
    return () => { gone = true; };
  }, [files]);
  const missing = ["model", "certificate"].filter((kind) => !files[kind]);
  return html`
    <header class="intro">
      <h1>Check a certificate</h1>
      <p>A certificate says that a model computes a function on every one of its 2<sup>T</sup> inputs, and names the numbers that prove it.
        This page checks them with whole numbers alone; nothing is sent anywhere.</p>
    </header>
    <div class="two">
      <div class="side"><${Card}>
        <${DropFile} label="Drop a model (.safetensors) and its certificate (.json)" accept=".safetensors,.json" multiple=${true} onFile=${take}
          note="Written by sparsehead build and sparsehead verify." />
        <div class="gap"><dl class="pairs">
          ${["model", "certificate"].map((kind) => html`<dt>${kind}</dt><dd data-file=${kind}>${files[kind] ? files[kind].name : "not yet"}</dd>`)}
        </dl></div>
        ${!dropped && html`<p class="hint">${state.run ? "A stored run of Learn and its certificate." : html`The head that Build writes for <code>${state.f}</code> of ${state.T} bits, and its certificate: until you drop others.`}</p>`}
        <div class="row end"><${Copy} /></div>
      <//></div>
      <div class="stack">
        <${Problem}>${problem}<//>
        ${answer ? html`<${Answer} ...${answer} />` : html`<${Card}><p>${dropped || problem ? `Waiting for the ${missing.join(" and the ")}.` : "The certificate is being written."}</p><//>`}
        ${answer?.holds && html`<${Card} title="Try to cheat"><p>Open the certificate in an editor, change a value from 1 to 0, and drop it again: it no longer holds.</p><//>`}
      </div>
    </div>`;
}

/** The verdict, and the patterns that were proved. */
function Answer({ holds, sentence, rows, seconds }) {
  const busy = sentence === undefined;
  const [, kind, rest] = busy ? [] : /^(holds|does not hold|cannot be read): (.*)$/s.exec(sentence);
  const title = busy ? "Checking" : kind === "cannot be read" ? "The files cannot be read" : `The certificate ${kind}`;
  return html`<${Card} title=${title}>
    <${Busy} busy=${busy} text="checking" />
    ${!busy && html`<p class=${`verdict ${holds ? "good" : "bad"}`} role="status" data-holds=${String(holds)}>${rest[0].toUpperCase()}${rest.slice(1)}</p>
      <p class="soft">Checked in ${seconds < 0.1 ? "less than 0.1" : seconds.toFixed(1)} s by this page.</p>`}
    ${busy && html`<p>${rows.length ? `${rows.length} of ${rows[0].of} patterns proved` : "Reading the model"}.</p>`}
    ${rows.length > 0 && html`<p class="hint gap">Proved for each pattern of the bits that f reads${rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} of ${rows.length}` : ""}:</p>
      <div class="scroll" tabindex="0" role="group" aria-label="table"><table>
        <thead><tr><th scope="col">pattern</th><th scope="col">f</th><th scope="col">|output - f| at most</th></tr></thead>
        <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr key=${row.bits}><td class="code">${row.bits || "all"}</td><td>${row.value}</td>
          <td>${row.error}</td></tr>`)}</tbody>
      </table></div>`}
  <//>`;
}
