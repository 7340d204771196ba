// The pieces that pages are made of.
import { takeFiles } from "./drops.js";
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

let made = 0;
export function useName(start) {
  const name = useRef("");
  if (!name.current) name.current = `${start}-${(made += 1)}`;
  return name.current;
}

/** A number for people: four digits, and words for what is no number. */
export function num(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e7 || size < 1e-4) return x.toExponential(2).replace("e+", "e");
  if (size >= 1000) return Math.round(x).toLocaleString("en");
  return String(Number(x.toPrecision(digits)));
}

/** How many times m samples a bound needs, "no" where m are enough; in brackets where it is not proven. As the command says it. */
export function vacuous(row) {
  if (typeof row.vacuous !== "boolean") return "–";
  const factor = row.vacuous_by === null ? ">1e300" : row.vacuous_by.toExponential(0).replace(/(\d+)$/, (power) => power.padStart(2, "0"));
  const found = row.vacuous ? factor : "no";
  return row.proven ? found : `(${found})`;
}

export const percent = (x) => `${num(100 * x, 3)} %`;

/** What a page shows, in two sentences, and where the paper says it. */
export function Intro({ title, children, claim }) {
  return html`<header class="intro">
    <h1>${title}</h1>
    <p>${children} ${location.protocol !== "file:" && html`<a href=${`/claims?label=${claim}`} data-page="claims">The paper's statement</a>`}</p>
  </header>`;
}

export function Card({ title, children, className = "", actions }) {
  return html`<section class=${`card ${className}`}>
    ${title && html`<div class="card-head"><h2>${title}</h2>${actions}</div>`}
    ${children}
  </section>`;
}

export function Field({ label, hint, refused, children, id }) {
  return html`<div class="field"><label for=${id}>${label}</label>${children}<${Refused} id=${id}>${refused}<//>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`;
}

export function TextField({ label, value, onChange, hint, bad, placeholder }) {
  const id = useName("text");
  return html`<${Field} label=${label} id=${id} hint=${hint}>
    <input id=${id} type="text" class="code" value=${value} placeholder=${placeholder} spellcheck="false" autocomplete="off"
      autocapitalize="none" aria-invalid=${bad ? "true" : null} aria-describedby=${hint ? `${id}-hint` : null}
      onInput=${(e) => onChange(e.target.value)} />
  <//>`;
}

export function AreaField({ label, value, onChange, hint, rows = 4 }) {
  const id = useName("area");
  return html`<${Field} label=${label} id=${id} hint=${hint}>
    <textarea id=${id} class="code" rows=${rows} spellcheck="false" aria-describedby=${hint ? `${id}-hint` : null}
      onInput=${(e) => onChange(e.target.value)} value=${value}></textarea>
  <//>`;
}

/** What is allowed, beside a box whose text is not. */
export function Refused({ id, children }) {
  return children ? html`<p class="hint refused" role="alert" id=${`${id}-refused`}>${children}</p>` : null;
}

/** [text, refused, onInput] of a box: what was typed stays in it, taken or not, until the value changes elsewhere.
 * `read` gives the value of an input, undefined to refuse it; `allows` says whether a value from elsewhere is allowed. */
export function useTyped(value, onChange, read, allows) {
  const [typed, setTyped] = useState(null);
  useEffect(() => setTyped((old) => (old && old.value === value ? old : null)), [value]);
  const onInput = (e) => {
    const found = read(e.target);
    const refused = found === undefined;
    setTyped({ text: e.target.value, refused, value: refused ? value : found });
    if (!refused) onChange(found);
  };
  if (typed && typed.value === value) return [typed.text, typed.refused, onInput];
  return [value, value !== undefined && !allows(value), onInput];
}

/** The input of a number between two others: [attributes, what is wrong with it]. */
function useNumber({ id, value, onChange, min, max, step, hint }) {
  const read = (input) => (input.value !== "" && input.validity.valid ? Number(input.value) : undefined);
  const allows = (x) => x >= min && x <= max && (step !== 1 || Number.isInteger(x));
  const [text, refused, onInput] = useTyped(value, onChange, read, allows);
  const whole = step === 1 && !Number.isInteger(Number(text)) ? "a whole number, " : "";
  const notes = [refused && `${id}-refused`, hint && `${id}-hint`].filter(Boolean).join(" ");
  const attributes = {
    type: "number", value: text, min, max, step, inputmode: "decimal", "aria-invalid": refused ? "true" : null, "aria-describedby": notes || null, onInput,
  };
  return [attributes, refused ? `${whole}${min} to ${max}` : ""];
}

export function NumberField({ label, value, onChange, min, max, step = 1, hint }) {
  const id = useName("number");
  const [attributes, refused] = useNumber({ id, value, onChange, min, max, step, hint });
  return html`<${Field} label=${label} id=${id} hint=${hint} refused=${refused}><input id=${id} ...${attributes} /><//>`;
}

export function Choice({ label, value, onChange, options, hint }) {
  const id = useName("choice");
  return html`<${Field} label=${label} id=${id} hint=${hint}>
    <select id=${id} value=${value} onChange=${(e) => onChange(e.target.value)}>
      ${options.map((one) => {
        const [key, text] = Array.isArray(one) ? one : [one, one];
        return html`<option value=${key} selected=${key === value}>${text}</option>`;
      })}
    </select>
  <//>`;
}

export function Check({ label, value, onChange }) {
  const id = useName("check");
  return html`<div class="field check"><input id=${id} type="checkbox" checked=${value}
    onChange=${(e) => onChange(e.target.checked)} /><label for=${id}>${label}</label></div>`;
}

/** A slider over decades with the number beside it. `whole` rounds to whole numbers. */
export function LogSlider({ label, value, onChange, min, max, whole = false, hint }) {
  const id = useName("slider");
  const round = (x) => {
    const kept = Number(x.toPrecision(x >= 100 && whole ? 2 : 3));
    return Math.min(max, Math.max(min, whole ? Math.round(kept) : kept));
  };
  const [attributes, refused] = useNumber({ id, value, onChange, min, max, step: whole ? 1 : "any", hint });
  return html`<div class="field slider">
    <label for=${id}>${label}</label>
    <input ...${attributes} aria-label=${`${label}, as a number`} />
    <input id=${id} type="range" min=${Math.log10(min)} max=${Math.log10(max)} step="0.01" value=${Math.log10(value)}
      aria-valuetext=${num(value)} onInput=${(e) => onChange(round(10 ** Number(e.target.value)))} />
    <${Refused} id=${id}>${refused}<//>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

export function Problem({ children }) {
  return children ? html`<p class="problem" role="alert">${children}</p>` : null;
}

/** Busy or not, as text for a screen reader and a thin line for the eye. */
export function Busy({ busy, text = "computing" }) {
  return html`<div class=${`busy ${busy ? "on" : ""}`} role="status"><span class="unseen">${busy ? text : ""}</span></div>`;
}

export function Stat({ label, value, note, tone = "" }) {
  return html`<div class=${`stat ${tone}`}><span class="stat-label">${label}</span><strong>${value}</strong>${note && html`<span class="soft">${note}</span>`}</div>`;
}

export function Button({ children, onClick, kind = "", disabled = false, label, pressed }) {
  const [problem, setProblem] = useState("");
  const run = async (event) => {
    setProblem("");
    try {
      await onClick(event);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<button type="button" class=${kind} disabled=${disabled} aria-label=${label} aria-pressed=${pressed} onClick=${run}>${children}</button>
    ${problem && html`<span class="problem small" role="alert">${problem}</span>`}`;
}

/** Where a file is dropped or chosen, or several with `multiple`; `onFile` is called for each, also for those that are
 * dropped elsewhere on the window. */
export function DropFile({ label, accept, onFile, note, multiple = false }) {
  const id = useName("file");
  const [over, setOver] = useState(false);
  const latest = useRef(onFile);
  latest.current = onFile;
  useEffect(() => takeFiles(accept, (file) => latest.current(file)), [accept]);
  const take = (files) => [...(files || [])].slice(0, multiple ? files.length : 1).forEach((file) => onFile(file));
  return html`<div class=${`drop ${over ? "over" : ""}`}
      onDragOver=${(e) => { e.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)}
      onDrop=${(e) => { e.preventDefault(); setOver(false); take(e.dataTransfer.files); }}>
    <label for=${id}>${label}</label>
    <input id=${id} type="file" accept=${accept} multiple=${multiple} onChange=${(e) => { take(e.target.files); e.target.value = ""; }} />
    ${note && html`<p class="hint">${note}</p>`}
  </div>`;
}

export function Copy() {
  const [done, setDone] = useState(false);
  useEffect(() => { if (!done) return undefined; const t = setTimeout(() => setDone(false), 1500); return () => clearTimeout(t); }, [done]);
  return html`<${Button} kind="plain" onClick=${async () => { await navigator.clipboard.writeText(location.href); setDone(true); }}>${done ? "Link copied" : "Copy link"}<//>`;
}
