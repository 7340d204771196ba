// Data: drop a table, get a formula in the names of its columns, with evidence.
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { send, text } from "../api.js";
import { Busy, Button, Card, Choice, Copy, DropFile, NumberField, Problem, Stat, num, percent } from "../parts.js";

const DEFAULTS = { label: "", positive: "", seed: 0 };
const MOST_CUTS = 30; // numeric columns with a box for their cut; others are cut at their median

export default function Data() {
  const [state, set] = useAddress(DEFAULTS);
  const [table, setTable] = useState(null); // { file, rows, columns }
  const [cuts, setCuts] = useState({});
  const [answer, setAnswer] = useState({ data: null, error: "", busy: true });
  const newest = useRef(0); // number of the newest question; answers to older ones are dropped
  const ask = async (question, use) => {
    const mine = ++newest.current;
    setAnswer({ data: null, error: "", busy: true });
    try {
      const found = await question();
      if (mine === newest.current) use(found);
    } catch (error) {
      if (mine === newest.current) setAnswer({ data: null, error: error.message, busy: false });
    }
  };
  const described = async (file) => ({ file, ...(await send("/api/data/columns", file, "text/csv")) });
  const example = async () => described(new File([await text("/api/data/example")], "example.csv"));
  const open = (found) => { setCuts({}); setTable(found); };
  const take = (file) => ask(() => described(file), open);
  useEffect(() => { if (!newest.current) ask(example, open); }, []); // not if a file dropped on another page was taken first
  const columns = table?.columns || [];
  const label = columns.find((one) => one.name === state.label) || columns[columns.length - 1];
  const positive = !label || label.kind === "bits" ? "" : label.values.includes(state.positive) ? state.positive : label.values[label.values.length - 1];
  const others = columns.filter((one) => one !== label);
  const numbers = others.filter((one) => one.kind === "numbers");
  const cutOf = (one) => cuts[one.name] ?? one.middle;
  const find = () => {
    const asked = new URLSearchParams({ label: label.name, seed: state.seed });
    if (positive) asked.set("positive", positive);
    numbers.forEach((one) => asked.append("cut", `${one.name}=${cutOf(one)}`));
    others.filter((one) => one.kind === "categories").forEach((one) => asked.append("onehot", one.name));
    return ask(() => send(`/api/data?${asked}`, table.file, "text/csv"), (data) => setAnswer({ data, error: "", busy: false }));
  };
  useEffect(() => { if (table) find(); }, [table]);
  return html`
    <header class="intro">
      <h1>Learn from your own table</h1>
      <p>Which few columns decide a label, and how? A head is trained on the rows and names columns; the labels vote on a formula in their names.
      Some of the rows are kept apart to check it, and a bound says how often it may be wrong on new rows.</p>
    </header>
    <div class="two">
      <div class="side"><${Card}>
        <${DropFile} label="Drop a table (.csv)" accept=".csv" onFile=${take} note="The first line names the columns; at least 20 rows. The table goes to this machine's server and is not kept." />
        ${table && html`<div class="gap">
          <p><b>${table.file.name}</b>: ${num(table.rows)} rows, ${columns.length} columns</p>
          <${Choice} label="Label" value=${label.name} options=${columns.map((one) => one.name)} onChange=${(name) => set({ label: name, positive: "" })} />
          ${label.kind !== "bits" && html`<${Choice} label="The label that counts as 1" value=${positive} options=${label.values} onChange=${(value) => set({ positive: value })} />`}
          ${numbers.slice(0, MOST_CUTS).map((one) => html`<${NumberField} key=${one.name} label=${`${one.name}: 1 above`} value=${cutOf(one)} min=${-1e12} max=${1e12} step="any" onChange=${(x) => setCuts((old) => ({ ...old, [one.name]: x }))} />`)}
          ${numbers.length > MOST_CUTS && html`<p class="hint">The other ${numbers.length - MOST_CUTS} columns of numbers are cut at their medians.</p>`}
          ${others.some((one) => one.kind === "categories") && html`<p class="hint">One bit for each value of ${others.filter((one) => one.kind === "categories").slice(0, 6).map((one) => one.name).join(", ")}.</p>`}
          <${NumberField} label="seed" value=${state.seed} min=${0} max=${1e9} onChange=${(seed) => set({ seed })} />
        </div>
        <div class="row end"><${Button} kind="main" onClick=${find} disabled=${answer.busy}>${answer.busy ? "Looking" : "Find the formula"}<//><${Copy} /></div>`}
      <//></div>
      <div class="stack">
        <${Problem}>${answer.error}<//>
        ${answer.busy && html`<${Card}><${Busy} busy=${true} text="training" /><p>Training on the rows: some seconds.</p><//>`}
        ${answer.data && html`<${Found} data=${answer.data} />`}
      </div>
    </div>`;
}

function Found({ data }) {
  const { reading } = data;
  const flips = Object.entries(reading.flips);
  return html`
    <${Card} title="The formula">
      <p class="formula" data-formula>${data.label} = ${reading.formula}</p>
      <p class="verdict"><b class=${data.solved ? "good" : "mild"}>${data.solved ? "Proved better than a constant" : "Not proved better than a constant"}</b>${data.solved ? "." : ": more rows may do."}</p>
      <div class="stats">
        <${Stat} label="right on rows kept apart" value=${percent(reading.agreement.value)} note=${`${num(reading.agreement.n)} rows; at least ${percent(reading.agreement.low)}`} />
        <${Stat} label="error on new rows at most" value=${num(reading.certificate.bound, 3)} note=${`confidence ${num(1 - reading.certificate.delta)}; rows are ${reading.certificate.assumed}`} />
        <${Stat} label="wrong in the table" value=${num(reading.certificate.mistakes)} note=${`of ${num(data.rows)} rows`} />
      </div>
      ${reading.unseen > 0 && html`<p class="hint">${num(reading.unseen)} patterns of these columns are in no row; the head decided.</p>`}
      ${reading.notes.map((note) => html`<p class="hint" key=${note}>${note}</p>`)}
    <//>
    <${Card} title="Beside other methods">
      <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">method</th><th scope="col">right</th><th scope="col">95 % interval</th><th scope="col" class="words">says</th></tr></thead>
        <tbody>${data.methods.map((one) => html`<tr key=${one.method}><td>${one.method}</td><td>${percent(one.agreement)}</td><td>${percent(one.low)} to ${percent(one.high)}</td><td class="words code">${one.says}</td></tr>`)}</tbody></table></div>
      <p class="hint">On the ${num(reading.agreement.n)} rows that none of them was trained on.</p>
    <//>
    <${Card} title="What the head reacts to">
      <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">column</th><th scope="col">flips that change its label</th></tr></thead>
        <tbody>${flips.map(([name, share]) => html`<tr key=${name}><td>${name}</td><td>${percent(share)}</td></tr>`)}</tbody></table></div>
    <//>`;
}
