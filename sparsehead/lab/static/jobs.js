// Jobs: started once, followed by events, found again after a reload.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { get, post, remove } from "./api.js";
import { Button, Problem, num } from "./parts.js";

const EMPTY = { job: null, points: [], result: null, lost: "", looks: [] };

/** { job, points, result, looks, lost } of a job id, live; "" follows nothing. `turn` follows anew when it changes. */
export function useJob(id, turn = 0) {
  const [state, setState] = useState(EMPTY);
  useEffect(() => {
    setState(EMPTY);
    if (!id) return undefined;
    const events = new EventSource(`/api/jobs/${id}/events`);
    const on = (name, take) => events.addEventListener(name, (event) => {
      const data = JSON.parse(event.data);
      setState((old) => ({ ...old, lost: "", ...take(data, old) }));
    });
    on("job", (job, old) => {
      const trial = job.progress?.trial;
      const known = old.looks[old.looks.length - 1];
      const fresh = trial?.attention && !(known && known.step === trial.step && known.restart === trial.restart);
      const same = known && trial && known.restart === trial.restart ? old.looks : [];
      return { job, looks: fresh ? [...same, { step: trial.step, restart: trial.restart, row: trial.attention }] : old.looks };
    });
    on("points", (news, old) => ({ points: [...old.points.slice(0, news.from), ...news.points] }));
    on("result", (result) => ({ result }));
    on("end", () => { events.close(); return {}; });
    events.onerror = async () => {
      if (events.readyState !== EventSource.CLOSED) { setState((old) => ({ ...old, lost: "the connection was lost; trying again." })); return; }
      try {
        await get(`/api/jobs/${id}`);
      } catch (error) {
        setState((old) => ({ ...old, lost: error.message }));
      }
    };
    return () => events.close();
  }, [id, turn]);
  return state;
}

/** Every job of a kind, asked for again when `turn` changes. */
export function useJobs(kind, turn) {
  const [jobs, setJobs] = useState([]);
  useEffect(() => {
    let gone = false;
    get("/api/jobs").then((found) => { if (!gone) setJobs(found.jobs.filter((job) => job.kind === kind)); }, () => {});
    return () => { gone = true; };
  }, [kind, turn]);
  return jobs;
}

/** Start a job, unless a box on the page shows something else than what would be sent. */
export async function start(kind, request) {
  const wrong = document.querySelector("main input[aria-invalid=true]");
  if (wrong) throw new Error(`${wrong.labels[0]?.textContent || wrong.ariaLabel}: ${wrong.value || "nothing"} is not allowed.`);
  return post(`/api/jobs/${kind}`, request);
}

export const cancel = (id) => remove(`/api/jobs/${id}`);
export const resume = (id) => post(`/api/jobs/${id}/resume`, {});

const WORDS = {
  waiting: "waits for its turn", running: "running", done: "done", failed: "failed", cancelled: "stopped", interrupted: "interrupted when the server ended",
};

function left(seconds) {
  if (seconds === null || seconds === undefined) return "";
  return seconds < 90 ? `, about ${Math.ceil(seconds)} s remaining` : `, about ${Math.ceil(seconds / 60)} min remaining`;
}

/** State, progress and the buttons that stop and resume. `onChange` is told when one was pressed. */
export function JobLine({ job, lost, onChange, stop = "Stop", children }) {
  if (!job) return html`<${Problem}>${lost}<//>`;
  const open = job.state === "running" || job.state === "waiting";
  const { done, total, eta } = job.progress || {};
  return html`<div class="job" role="status" data-state=${job.state}>
    <div class="row"><strong>${WORDS[job.state]}</strong>
      <span class="soft">${children}${open ? left(eta) : ""}</span>
      ${open && html`<${Button} onClick=${async () => { await cancel(job.id); onChange?.(); }}>${stop}<//>`}
      ${["cancelled", "interrupted", "failed"].includes(job.state) && html`<${Button} onClick=${async () => { await resume(job.id); onChange?.(); }}>Resume<//>`}
    </div>
    ${total > 1 && html`<progress value=${done} max=${total} aria-label="progress">${num(done)} of ${num(total)}</progress>`}
    <${Problem}>${lost || job.error}<//>
    ${job.notes.map((note) => html`<p class="hint" key=${note}>${note}</p>`)}
  </div>`;
}
