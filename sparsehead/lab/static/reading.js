// What was read from a model: certificate and evidence, for the pages Learn and Read.
import { html } from "./vendor/preact-htm.js";
import { Stat, num, percent } from "./parts.js";

export function Evidence({ reading }) {
  const c = reading.certificate;
  const rows = Object.entries(reading.evidence).map(([t, e]) => ({ t: Number(t), read: reading.support.includes(Number(t)), ...e }));
  rows.sort((a, b) => Number(b.read) - Number(a.read) || a.t - b.t);
  const agreement = reading.agreement;
  const breaking = reading.breaking;
  return html`
    <h3>How far to trust it</h3>
    <div class="stats">
      <${Stat} label="agreement with the model" value=${percent(agreement.value)} note=${`at least ${percent(agreement.low)}; ${num(agreement.n)} inputs, bits 1 with p = ${num(reading.p)}`} />
      ${reading.proved && html`<${Stat} label="proof" value="all inputs" tone="good" />`}
      ${c && html`<${Stat} label="error of the function at most" value=${num(c.bound, 3)} note=${`Occam bound, m = ${num(c.m)}`} />`}
      ${c && c.model_bound !== null && html`<${Stat} label="error of the model at most" value=${num(c.model_bound, 3)} note=${`confidence ${num(1 - c.delta)}`} />`}
      ${breaking && breaking.flips !== null && html`<${Stat} label="irrelevant flips that break it" value=${num(breaking.flips)} note=${breaking.exact ? "fewest" : "fewest found"} />`}
      <${Stat} label="inputs asked" value=${num(reading.queries)} note=${reading.method} />
    </div>
    <h3>Evidence by position</h3>
    <div class="scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">position</th><th scope="col">mean attention</th><th scope="col">influence</th><th scope="col">flips that change the label</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.t}><td>${row.read ? html`<b class="read-mark">x${row.t}</b> <span class="soft">read</span>` : html`<span>x${row.t}</span>`}</td>
        <td>${num(row.attention)}</td><td>${num(row.influence)}</td><td>${percent(row.flips)}</td></tr>`)}</tbody></table></div>
    <p class="hint">Influence: the share of inputs on which flipping the bit changes the formula, exact for p = ${num(reading.p)}. The last column is the same for the model,
      counted on random inputs.${rows.some((row) => row.attention === null) ? " –: the model has no attention." : ""}</p>
    ${reading.disagreement && html`<p class="hint">${reading.disagreement}</p>`}
    ${reading.notes.map((note) => html`<p class="hint" key=${note}>${note}</p>`)}`;
}
