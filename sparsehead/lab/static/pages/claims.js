// Claims: every statement of the registry, checked on request, with live verdicts.
import { html, useEffect, useMemo, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { get } from "../api.js";
import { JobLine, start, useJob } from "../jobs.js";
import { Button, Card, Choice, Copy, Intro, Problem } from "../parts.js";

const DEFAULTS = { words: "", verdict: "", kind: "", label: "", job: "" };
const MARKS = {
  holds: ["✓", "good"], differs: ["≈", "mild"], refuted: ["✗", "bad"], undecided: ["?", "mild"], fails: ["✗", "bad"], "not run": ["○", "soft"],
};

export default function Claims() {
  const [state, set] = useAddress(DEFAULTS);
  const [claims, setClaims] = useState([]);
  const [problem, setProblem] = useState("");
  const [turn, setTurn] = useState(0);
  const live = useJob(state.job, turn);
  // asked again when a job ends: the server keeps what was found
  useEffect(() => { get("/api/claims").then((found) => setClaims(found.claims), (e) => setProblem(e.message)); }, [turn, live.job?.state]);
  const found = useMemo(() => {
    const known = new Map(claims.filter((c) => c.finding).map((c) => [c.label, c.finding]));
    live.points.forEach((finding) => known.set(finding.label, finding));
    return known;
  }, [claims, live.points]);
  const check = async (labels) => { const job = await start("claims", { labels }); set({ job: job.id }); setTurn((n) => n + 1); };
  const verdictOf = (claim) => found.get(claim.label)?.verdict || (claim.has_check ? "unchecked" : "no check");
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = claims.filter((claim) => {
    if (state.label) return claim.label === state.label || claim.about === state.label;
    const text = `${claim.label} ${claim.statement} ${claim.where} ${claim.section}`.toLowerCase();
    return (!state.kind || claim.kind === state.kind) && (!state.verdict || verdictOf(claim) === state.verdict) && words.every((word) => text.includes(word));
  });
  const kinds = [...new Set(claims.map((c) => c.kind))];
  const counts = {};
  claims.forEach((claim) => { counts[verdictOf(claim)] = (counts[verdictOf(claim)] || 0) + 1; });
  const now = live.job?.state === "running" ? live.job.progress?.label : null;
  const running = ["running", "waiting"].includes(live.job?.state);
  const checkable = shown.filter((claim) => claim.has_check).map((claim) => claim.label);
  return html`
    <${Intro} title="Claims" claim="tf-head">
      Every statement of the paper and of the lecture notes, in our words, with the check that recomputes it; and ours, errata, and statements of papers that cite it.
      Press a button and the verdict is found while you wait; this version's verdicts stay beside the store.
    <//>
    <${Card} className="bar">
      <div class="filters">
        <input type="search" placeholder="words to look for" aria-label="Words to look for" value=${state.words} onInput=${(e) => set({ words: e.target.value, label: "" })} />
        <${Choice} label="Kind" value=${state.kind} options=${[["", "every kind"], ...kinds.map((k) => [k, k])]} onChange=${(kind) => set({ kind, label: "" })} />
        <${Choice} label="Verdict" value=${state.verdict} options=${[["", "every verdict"], ...Object.keys(counts).map((v) => [v, `${v} (${counts[v]})`])]} onChange=${(verdict) => set({ verdict, label: "" })} />
      </div>
      <div class="row"><${Button} kind="main" disabled=${running || !checkable.length} onClick=${() => check(shown.length === claims.length ? [] : checkable)}>Check ${shown.length === claims.length ? "all" : checkable.length}<//>
        <span class="soft" aria-live="polite">${claims.length ? `${shown.length} of ${claims.length} shown` : "loading the registry"}</span>
        ${state.label && html`<${Button} onClick=${() => set({ label: "" })}>Show all<//>`}<${Copy} /></div>
      ${state.job && html`<${JobLine} job=${live.job} lost=${live.lost} onChange=${() => setTurn((n) => n + 1)}>${live.job?.progress ? `${live.job.progress.done} of ${live.job.progress.total}` : ""} ${now || ""}<//>`}
    <//>
    <${Problem}>${problem}<//>
    <ul class="claims">${shown.slice(0, 400).map((claim) => html`<${Row} key=${claim.label} claim=${claim} finding=${found.get(claim.label)} verdict=${verdictOf(claim)} busy=${now === claim.label} open=${Boolean(state.label)}
      onCheck=${() => check([claim.label])} running=${running} onShow=${() => set({ label: claim.label })} />`)}</ul>`;
}

function Behind({ label, open }) {
  const [names, setNames] = useState(null);
  const [shown, setShown] = useState(open);
  useEffect(() => {
    if (shown && !names) get(`/api/claims/${label}`).then((found) => setNames([...found.code, ...found.tests]), (e) => setNames([e.message]));
  }, [shown]);
  return html`<details open=${shown} onToggle=${(e) => setShown(e.target.open)}><summary>Code and tests behind it</summary>
    <ul class="plain">${(names || ["looking ..."]).map((name) => html`<li key=${name}><code>${name}</code></li>`)}</ul></details>`;
}

function Row({ claim, finding, verdict, busy, onCheck, running, onShow, open }) {
  const [mark, tone] = MARKS[verdict] || ["", "soft"];
  return html`<li class="card claim" id=${`claim-${claim.label}`} data-verdict=${verdict}>
    <div class="card-head"><h2><a href=${`/claims?label=${claim.label}`} data-page="claims" onClick=${onShow}>${claim.label}</a> <span class="soft">${claim.kind}; ${claim.where}</span></h2>
      <span class="row"><b class=${tone}>${busy ? "checking ..." : `${mark} ${verdict}`}</b>
      ${claim.has_check && html`<${Button} disabled=${running} onClick=${onCheck} label=${`Check ${claim.label}`}>Check<//>`}</span></div>
    <p>${claim.statement}</p>
    ${finding && html`<dl class="pairs"><dt>Printed</dt><dd>${finding.paper || "–"}</dd><dt>Ours</dt><dd>${finding.ours || "–"}</dd><dt>How</dt><dd>${finding.detail || "–"}</dd>
      ${finding.checked && html`<dt>Checked</dt><dd>${new Date(1000 * finding.checked).toLocaleString("en-GB")}, version ${finding.version}</dd>`}</dl>`}
    <${Behind} label=${claim.label} open=${open} />
  </li>`;
}
