// In place of api.js where the pages are files: answers that the lab recorded when it wrote them, and covers computed here.
import { covered } from "./covering.js";
import { useEffect, useState } from "./vendor/preact-htm.js";

export const alone = true;

/** { heads: [{ function, T, answer, model, certificate }], examples } from the page. */
const recorded = JSON.parse(document.getElementById("recorded").textContent);

/** The heads that the file has: [function, T]. */
export const heads = recorded.heads.map((one) => [one.function, one.T]);

function headOf(body) {
  const found = recorded.heads.find((one) => one.function === body.function && one.T === body.T);
  if (!found) throw new Error(`this file has no head for ${body.function} of ${body.T} bits; sparsehead lab builds any.`);
  return found;
}

const decoded = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export async function get(path) {
  if (path === "/api/cover/examples") return { examples: recorded.examples };
  throw new Error("a file has no server to ask.");
}

export async function post(path, body) {
  if (path === "/api/build") return headOf(body).answer;
  if (path === "/api/cover") return covered(body);
  throw new Error("a file has no server to ask.");
}

export async function bytes(path, body) {
  return decoded(headOf(body)[path.endsWith("/certificate") ? "certificate" : "model"]);
}

/** The points of a CSV file, one per row; a header row is left out. */
export async function send(path, file) {
  const rows = (await file.text()).trim().split(/\r?\n/).map((line) => line.split(",").map((cell) => cell.trim()));
  const isPoint = (row) => row.every((cell) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(\/\d+)?$/i.test(cell));
  const points = isPoint(rows[0]) ? rows : rows.slice(1);
  if (!points.length || points.length > 200 || !points.every(isPoint)) throw new Error(`${file.name}: expected up to 200 rows of numbers with commas between them.`);
  return { points };
}

export async function download(path, body, name) {
  const link = document.createElement("a");
  link.href = `data:application/octet-stream;base64,${headOf(body)[path.endsWith("/certificate") ? "certificate" : "model"]}`;
  link.download = name;
  link.click();
}

export const useSettings = () => null;

/** { data, error, busy }, as in api.js. */
export function useAnswer(path, body) {
  const [answer, setAnswer] = useState({ data: null, error: "", busy: false });
  const key = body === null ? null : JSON.stringify(body);
  useEffect(() => {
    if (key === null) return undefined;
    let gone = false;
    const show = (news) => { if (!gone) setAnswer((old) => ({ data: old.data, error: "", busy: false, ...news })); };
    post(path, JSON.parse(key)).then((data) => show({ data }), (error) => show({ error: error.message }));
    return () => { gone = true; };
  }, [path, key]);
  return answer;
}
