// Cover: points in the plane, balls around them, and a smallest cover.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useAddress } from "../address.js";
import { alone, download, get, send, useAnswer } from "../api.js";
import { Busy, Button, Card, Check, Choice, Copy, DropFile, Intro, Problem, Refused, Stat, num, useTyped } from "../parts.js";

const DEFAULTS = { points: "0.5,0.7;0.2,0.3;0.6,0.65", eps: "0.5", p: "2", external: false };
const SIDE = 520;

const parse = (text) => text.split(";").filter(Boolean).map((point) => point.split(","));
const write = (points) => points.map((point) => point.join(",")).join(";");
const value = (text) => { const [a, b] = text.split("/").map(Number); return b === undefined ? a : a / b; };
const short = (x) => String(Number(x.toFixed(3)));

export default function Cover() {
  const [state, set] = useAddress(DEFAULTS);
  const points = useMemo(() => parse(state.points), [state.points]);
  const asked = points.length && isRadius(state.eps) ? { points, eps: state.eps, p: state.p, external: state.external } : null;
  const { data, error, busy } = useAnswer("/api/cover", asked, 60);
  const [examples, setExamples] = useState([]);
  const [problem, setProblem] = useState("");
  useEffect(() => { get("/api/cover/examples").then((found) => setExamples(found.examples), () => {}); }, []);
  const flat = points.every((point) => point.length === 2);
  const change = (next) => set({ points: write(next) });
  const take = async (file) => {
    setProblem("");
    try {
      const { points: found } = await send("/api/cover/points", file, "text/csv");
      change(found);
    } catch (e) { setProblem(e.message); }
  };
  return html`
    <${Intro} title="Cover points" claim="covering-number">
      The covering number is the least number of balls of radius ε, centred at points of the set, that together contain all of it.
      Click to add points, move ε, and the exact minimum is computed anew; the lecture notes' own example needs one ball where they say two.
    <//>
    <div class="two">
      <div class="side"><${Card}>
        <${Eps} value=${state.eps} onChange=${(eps) => set({ eps })} />
        <${Choice} label="Norm" value=${state.p} options=${[["1", "1: diamonds"], ["2", "2: discs"], ["inf", "∞: squares"]]} onChange=${(p) => set({ p })} />
        <${Check} label="Centres may lie anywhere" value=${state.external} onChange=${(external) => set({ external })} />
        <h2 class="gap">The notes' example</h2>
        <div class="row list">${examples.map((one) => html`<${Button} kind="plain" onClick=${() => set({ points: write(one.points), eps: one.eps, p: "2", external: false })}>${one.name}<//>`)}</div>
        <${DropFile} label="Import a CSV, one point per row" accept=".csv,text/csv" onFile=${take} />
        <${Problem}>${problem}<//>
        <div class="row end">
          ${!alone && html`<${Button} onClick=${() => download("/api/cover/picture", asked, "cover.png")} disabled=${!data || !flat}>Save PNG<//>`}
          <${Button} onClick=${() => set({ points: "" })}>Clear<//><${Copy} />
        </div>
      <//></div>
      <div class="stack">
        <${Problem}>${error}<//>
        <${Card}>
          <${Busy} busy=${busy && Boolean(asked)} />
          ${data && asked && html`<${Verdict} data=${data} />`}
          ${flat ? html`<${Plane} points=${points} state=${state} data=${asked && data && data.points === points.length ? data : null} onChange=${change} />`
            : html`<p class="soft">Points of ${points[0].length} coordinates cannot be drawn here; their cover is computed all the same.</p>`}
          <p class="hint">Click the plane to add a point; click a point to remove it, drag it to move it. With the keyboard: the table below.</p>
        <//>
        <${PointTable} points=${points} centers=${asked && data ? data.rows : null} onChange=${change} />
      </div>
    </div>`;
}

const isRadius = (text) => value(text) > 0 && Number.isFinite(value(text));

function Eps({ value: given, onChange }) {
  const read = (input) => (isRadius(input.value) ? input.value.trim() : undefined);
  const [text, refused, onInput] = useTyped(given, onChange, read, isRadius);
  const x = Math.max(1e-3, value(given) || 1e-3);
  return html`<div class="field slider"><label for="eps">ε, radius</label>
    <input type="text" value=${text} aria-label="ε, as a number" aria-invalid=${refused ? "true" : null} aria-describedby=${refused ? "eps-refused" : null} onInput=${onInput} />
    <input id="eps" type="range" min="-2" max="1.5" step="0.005" value=${Math.log10(x)} aria-valuetext=${given} onInput=${(e) => onChange(short(10 ** Number(e.target.value)))} />
    <${Refused} id="eps">${refused ? "a number above 0, such as 0.5 or 1/2" : ""}<//></div>`;
}

function Verdict({ data }) {
  return html`<p class="verdict" aria-live="polite"><b class="good" data-size>${data.exact ? data.size : `${data.lower} to ${data.upper}`}</b>
      ${data.upper === 1 && data.exact ? " ball is" : " balls are"} enough and fewer are not${data.exact ? "" : " known to be: a bracket, not settled in time"}</p>
    <div class="stats">
      <${Stat} label="packing at 2ε" value=${num(data.packing)} note="a lower bound" />
      ${!alone && html`<${Stat} label="linear relaxation" value=${data.lp === null ? (data.exact ? "not needed" : "not found") : num(data.lp)} note=${data.lp === null ? "" : "a lower bound"} />`}
      <${Stat} label="greedy" value=${num(data.greedy)} note="an upper bound" />
      <${Stat} label="points" value=${num(data.points)} />
    </div>`;
}

function ball(p, r) {
  if (p === "1") return `M 0 ${-r} L ${r} 0 L 0 ${r} L ${-r} 0 Z`;
  if (p === "inf") return `M ${-r} ${-r} H ${r} V ${r} H ${-r} Z`;
  return `M ${-r} 0 A ${r} ${r} 0 1 0 ${r} 0 A ${r} ${r} 0 1 0 ${-r} 0 Z`;
}

function Plane({ points, state, data, onChange }) {
  const svg = useRef();
  const drag = useRef(null);
  const [frame, setFrame] = useState(null); // held while a point is dragged
  const eps = value(state.eps) || 0.1;
  const at = points.map(([x, y]) => [value(x), value(y)]);
  const own = useMemo(() => {
    const xs = at.map(([x]) => x), ys = at.map(([, y]) => y);
    const low = [Math.min(...xs, Infinity), Math.min(...ys, Infinity)], high = [Math.max(...xs, -Infinity), Math.max(...ys, -Infinity)];
    if (!at.length) return { x: 0, y: 0, size: 1 };
    const size = Math.max(high[0] - low[0], high[1] - low[1]) + 2.3 * Math.min(eps, 4 * Math.max(high[0] - low[0], high[1] - low[1], eps)) || 1;
    return { x: (low[0] + high[0] - size) / 2, y: (low[1] + high[1] - size) / 2, size };
  }, [state.points, state.eps]);
  const view = frame || own;
  const scale = SIDE / view.size;
  const px = ([x, y]) => [(x - view.x) * scale, SIDE - (y - view.y) * scale];
  const back = (event) => {
    const box = svg.current.getBoundingClientRect();
    return [view.x + ((event.clientX - box.left) / box.width) * view.size, view.y + (1 - (event.clientY - box.top) / box.height) * view.size];
  };
  const digits = Math.max(2, 3 - Math.floor(Math.log10(view.size)));
  const text = (pair) => pair.map((x) => String(Number(x.toFixed(digits))));
  const down = (i) => (event) => { event.stopPropagation(); drag.current = { i, moved: false }; setFrame(view); svg.current.setPointerCapture(event.pointerId); };
  const move = (event) => {
    if (!drag.current) return;
    drag.current.moved = true;
    onChange(points.map((point, j) => (j === drag.current.i ? text(back(event)) : point)));
  };
  const up = (event) => {
    const held = drag.current;
    drag.current = null;
    setFrame(null);
    if (held && !held.moved) onChange(points.filter((_, j) => j !== held.i));
    else if (!held && points.length < 200) onChange([...points, text(back(event))]);
  };
  const centers = data ? data.centers : [];
  const chosen = new Set(data?.rows || []);
  const r = eps * scale;
  const ticks = useMemo(() => {
    const step = 10 ** Math.floor(Math.log10(view.size / 3));
    const every = view.size / step > 12 ? 5 * step : view.size / step > 5 ? 2 * step : step;
    const from = (start) => Array.from({ length: Math.floor((start + view.size) / every) - Math.ceil(start / every) + 1 }, (_, i) => (Math.ceil(start / every) + i) * every);
    return { x: from(view.x), y: from(view.y) };
  }, [view]);
  return html`<svg class="plane" ref=${svg} viewBox="0 0 ${SIDE} ${SIDE}" role="img" aria-label=${`${points.length} points; ${centers.length} balls cover them`}
      onPointerMove=${move} onPointerUp=${up}>
    ${ticks.x.map((x) => html`<g key=${`x${x}`}><line class="grid" x1=${px([x, 0])[0]} x2=${px([x, 0])[0]} y1="0" y2=${SIDE} /><text class="tick" x=${px([x, 0])[0] + 3} y=${SIDE - 4}>${num(x, 3)}</text></g>`)}
    ${ticks.y.map((y) => html`<g key=${`y${y}`}><line class="grid" y1=${px([0, y])[1]} y2=${px([0, y])[1]} x1="0" x2=${SIDE} /><text class="tick" x="3" y=${px([0, y])[1] - 3}>${num(y, 3)}</text></g>`)}
    ${at.map((pair, i) => !chosen.has(i) && html`<path key=${`b${i}`} class="other" d=${ball(state.p, r)} transform="translate(${px(pair).join(" ")})" />`)}
    ${centers.map((pair, i) => html`<path key=${`c${i}`} class="chosen" d=${ball(state.p, r)} transform="translate(${px(pair).join(" ")})" />`)}
    ${at.map((pair, i) => html`<circle key=${`p${i}`} class=${chosen.has(i) ? "point center" : "point"} cx=${px(pair)[0]} cy=${px(pair)[1]} r="6" onPointerDown=${down(i)} />`)}
    ${!chosen.size && centers.map((pair, i) => html`<path key=${`x${i}`} class="outside" d="M -6 0 H 6 M 0 -6 V 6" transform="translate(${px(pair).join(" ")})" />`)}
  </svg>`;
}

function PointTable({ points, centers, onChange }) {
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState("");
  const add = () => {
    const point = draft.split(/[,;\s]+/).filter(Boolean);
    const wide = points[0]?.length || point.length;
    if (!point.length || point.length !== wide || point.some((x) => !Number.isFinite(value(x)))) {
      setProblem(`a point is ${points.length ? wide : "a few"} numbers with commas between them, such as 0.4, 0.25`);
      return;
    }
    setProblem("");
    setDraft("");
    onChange([...points, point]);
  };
  return html`<${Card} title="Points">
    <form class="row" onSubmit=${(e) => { e.preventDefault(); add(); }}>
      <input class="code short" type="text" value=${draft} placeholder="0.4, 0.25" aria-label="New point" onInput=${(e) => setDraft(e.target.value)} />
      <button type="submit">Add</button></form>
    <${Problem}>${problem}<//>
    ${points.length > 0 && html`<div class="scroll tall" tabindex="0" role="group" aria-label="table"><table><thead><tr><th scope="col">point</th><th scope="col" class="words">coordinates</th><th scope="col" class="words">role</th><th scope="col"><span class="unseen">remove</span></th></tr></thead>
      <tbody>${points.map((point, i) => html`<tr key=${i}><td>${i}</td><td class="words code">(${point.join(", ")})</td><td class="words">${centers?.includes(i) ? html`<b class="good">centre</b>` : "covered"}</td>
        <td><${Button} kind="plain" label=${`remove point ${i}`} onClick=${() => onChange(points.filter((_, j) => j !== i))}>remove<//></td></tr>`)}</tbody></table></div>`}
  <//>`;
}
