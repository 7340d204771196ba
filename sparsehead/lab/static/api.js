// Asking the server: JSON in, JSON out, one sentence when it cannot answer.
import { useEffect, useRef, useState } from "./vendor/preact-htm.js";

async function answered(response) {
  if (response.ok) return response;
  let sentence = `the server answered ${response.status}.`;
  try {
    sentence = (await response.json()).error || sentence;
  } catch { /* no JSON */ }
  throw new Error(sentence);
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer; is `sparsehead lab` still running?");
  }
  return answered(response);
}

export const get = async (path) => (await ask(path, {})).json();

export const text = async (path) => (await ask(path, {})).text();

export const post = async (path, body, signal) => (await ask(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal,
})).json();

export const remove = async (path) => (await ask(path, { method: "DELETE" })).json();

export const send = async (path, file, type = "application/octet-stream") => (await ask(path, {
  method: "POST", headers: { "content-type": type }, body: file,
})).json();

/** The bytes of a file that the server makes. */
export async function bytes(path, body) {
  const response = await ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return new Uint8Array(await response.arrayBuffer());
}

/** { runs, first }: the stored runs that have a model, and the one to show when none was chosen; null until known. */
export function useRuns(turn = "", onProblem = () => {}) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    let gone = false;
    get("/api/learn").then(({ runs }) => {
      if (!gone) setFound({ runs, first: (runs.find((run) => run.source === "example" && run.solved) || runs.find((run) => run.solved) || runs[0])?.id || "" });
    }, (error) => { if (!gone) onProblem(error.message); });
    return () => { gone = true; };
  }, [turn]);
  return found;
}

/** What the server says of a stored run: { data, error, busy }; "" asks for nothing. */
export function useRun(id, what = "") {
  const [answer, setAnswer] = useState({ data: null, error: "", busy: Boolean(id) });
  useEffect(() => {
    let gone = false;
    const show = (news) => { if (!gone) setAnswer({ data: null, error: "", busy: false, ...news }); };
    show({ busy: Boolean(id) });
    if (id) get(`/api/learn/${id}${what}`).then((data) => show({ data }), (error) => show({ error: error.message }));
    return () => { gone = true; };
  }, [id, what]);
  return answer;
}

export const alone = false; // whether these pages are files, without a server: see recorded.js
export const heads = []; // what such a file has to show on Build

/** Ask for a file and hand it to the browser as a download. */
export async function download(path, body, name) {
  const response = await ask(path, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

let described = null; // asked for once: it changes only when the server is started again

/** What forms offer: { families, presets, encodings, .., settings: by name }; null until it is known. */
export function useSettings(onProblem = () => {}) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    described ||= get("/api/settings").then((all) => ({ ...all, settings: Object.fromEntries(all.settings.map((one) => [one.name, one])) }));
    described.then(setFound, (error) => { described = null; onProblem(error.message); });
  }, []);
  return found;
}

/** { data, error, busy } of a POST that is repeated when its body changes; the last answer stays until the next. */
export function useAnswer(path, body, wait = 120) {
  const [answer, setAnswer] = useState({ data: null, error: "", busy: true });
  const key = body === null ? null : JSON.stringify(body);
  const first = useRef(true);
  useEffect(() => {
    if (key === null) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      setAnswer((old) => ({ ...old, busy: true }));
      try {
        setAnswer({ data: await post(path, JSON.parse(key), stop.signal), error: "", busy: false });
      } catch (error) {
        if (error.name !== "AbortError") setAnswer((old) => ({ data: old.data, error: error.message, busy: false }));
      }
    }, first.current ? 0 : wait);
    first.current = false;
    return () => { clearTimeout(timer); stop.abort(); };
  }, [path, key]);
  return answer;
}
