// Heat maps and long rows of bars on a canvas: beyond 200 positions elements would be slow.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";
import { num } from "./parts.js";

function ramp(x) {
  // White to the figures' blue; negative numbers go to the figures' orange.
  const [r, g, b] = x < 0 ? [230, 159, 0] : [0, 114, 178];
  const a = Math.min(1, Math.abs(x));
  return [255 + (r - 255) * a, 255 + (g - 255) * a, 255 + (b - 255) * a];
}

/** A matrix as coloured cells, one pixel each, stretched to `height` CSS pixels. `top` is the number of full colour. */
export function Heat({ rows, height = 120, label, top }) {
  const canvas = useRef();
  useLayoutEffect(() => {
    const wide = rows[0]?.length || 1;
    canvas.current.width = wide;
    canvas.current.height = rows.length;
    canvas.current.style.height = `${height}px`;
    const most = top || Math.max(1e-300, ...rows.map((row) => Math.max(...row.map(Math.abs))));
    const image = new ImageData(wide, rows.length);
    rows.forEach((row, i) => row.forEach((x, j) => {
      const [r, g, b] = ramp(x / most);
      image.data.set([r, g, b, 255], 4 * (i * wide + j));
    }));
    canvas.current.getContext("2d").putImageData(image, 0, 0);
  }, [rows, height, top]);
  return html`<canvas class="heat ink" ref=${canvas} role="img" aria-label=${label}></canvas>`;
}

/** The canvas's width in CSS pixels, 0 before it is known; a new one draws again. */
function useWidth(canvas) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(canvas.current.clientWidth));
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

/** Attention over many positions as bars, with their bits below; a click or the space bar flips one. */
export function ManyBits({ bits, weights, support, onFlip }) {
  const canvas = useRef();
  const [at, setAt] = useState(support[0] || 0);
  const room = useWidth(canvas);
  const read = new Set(support);
  useLayoutEffect(() => {
    const dense = Math.max(1, devicePixelRatio || 1);
    const wide = Math.max(1, Math.round((room || canvas.current.clientWidth) * dense));
    const high = Math.round(190 * dense);
    canvas.current.width = wide;
    canvas.current.height = high;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const ink = colour("--ink"), grey = colour("--grey"), blue = colour("--blue"), orange = colour("--orange");
    const c = canvas.current.getContext("2d");
    const n = bits.length + 1;
    const step = wide / n;
    const floor = high - 44 * dense;
    const most = Math.max(...weights);
    c.clearRect(0, 0, wide, high);
    for (let t = 0; t < n; t += 1) {
      const tall = Math.max(weights[t] > 0 ? dense : 0, (floor - 6 * dense) * (weights[t] / most));
      c.fillStyle = t === n - 1 ? orange : read.has(t) ? blue : grey;
      c.fillRect(t * step, floor - tall, Math.max(read.has(t) ? 2 * dense : dense, step * 0.8), tall);
      if (t < n - 1 && bits[t]) {
        c.fillStyle = read.has(t) ? blue : ink;
        c.fillRect(t * step, floor + 5 * dense, Math.max(dense, step * 0.8), 12 * dense);
      }
    }
    c.fillStyle = grey;
    c.fillRect(0, floor, wide, dense);
    c.strokeStyle = ink;
    c.lineWidth = 1.5 * dense;
    c.strokeRect(at * step - 2 * dense, floor + 3 * dense, Math.max(4 * dense, step + 3 * dense), 16 * dense);
    drawNames(c, { n, step, y: floor + 28 * dense, dense, named: support, ink: colour("--blue-text"), soft: colour("--soft") });
    canvas.current.dataset.drawn = String(Number(canvas.current.dataset.drawn || 0) + 1);
  });
  const go = (t) => setAt(Math.max(0, Math.min(bits.length - 1, t)));
  const keys = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
  const onKey = (event) => {
    if (event.key in keys) go(at + keys[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(bits.length - 1);
    else if (event.key === " " || event.key === "Enter") onFlip(at);
    else return;
    event.preventDefault();
  };
  const onClick = (event) => {
    const t = Math.floor(((event.clientX - canvas.current.getBoundingClientRect().left) / canvas.current.getBoundingClientRect().width) * (bits.length + 1));
    if (t >= 0 && t < bits.length) { setAt(t); onFlip(t); }
  };
  const said = `position ${at}${read.has(at) ? ", read by the function" : ""}: bit ${bits[at]}, attention ${num(weights[at])}`;
  return html`<div>
    <canvas class="many" ref=${canvas} tabindex="0" role="slider" aria-label="Input bits: arrow keys move, space flips"
      aria-valuemin="0" aria-valuemax=${bits.length - 1} aria-valuenow=${at} aria-valuetext=${said} onKeyDown=${onKey} onClick=${onClick}></canvas>
    <p class="hint">${said}. Arrow keys move, space flips; or click.</p>
  </div>`;
}

/** The names of positions below bars: those of `named`, then as many round numbers as fit between them. */
function drawNames(c, { n, step, y, dense, named, ink, soft }) {
  c.font = `${11 * dense}px "Liberation Sans", Arial, sans-serif`;
  c.textBaseline = "top";
  const taken = [];
  const write = (text, t, colour) => {
    const wide = c.measureText(text).width;
    const x = Math.min(n * step - wide, Math.max(0, (t + 0.4) * step - wide / 2));
    if (taken.some(([from, to]) => x < to + 6 * dense && x + wide + 6 * dense > from)) return;
    taken.push([x, x + wide]);
    c.fillStyle = colour;
    c.fillText(text, x, y);
  };
  named.forEach((t) => write(`x${t}`, t, ink));
  write("[CLS]", n - 1, soft);
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((gap) => gap * step > 34 * dense) || 2000;
  for (let t = 0; t < n - 1; t += every) write(`x${t}`, t, soft);
}

/** The weights on their way from the last ones to these, for bars that move; at once where motion is unwanted. */
function useMoving(weights, seconds) {
  const [now, setNow] = useState(weights);
  const last = useRef(weights);
  useEffect(() => {
    const from = last.current;
    if (from === weights || from.length !== weights.length || seconds <= 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      last.current = weights;
      setNow(weights);
      return undefined;
    }
    const start = performance.now();
    let frame = 0;
    const draw = (time) => {
      const x = Math.min(1, Math.max(0, (time - start) / (1000 * seconds)));
      last.current = x < 1 ? weights.map((w, t) => from[t] + x * (w - from[t])) : weights;
      setNow(last.current);
      if (x < 1) frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [weights]);
  return now.length === weights.length ? now : weights;
}

/** Attention as bars, nothing to press: relevant positions blue and named, [CLS] orange. They move while it is `playing`. */
export function Bars({ weights: target, support, height = 140, label, playing = false }) {
  const canvas = useRef();
  const room = useWidth(canvas);
  const weights = useMoving(target, playing ? 0.18 : 0);
  useLayoutEffect(() => {
    const dense = Math.max(1, devicePixelRatio || 1);
    const wide = Math.max(1, Math.round((room || canvas.current.clientWidth) * dense)), high = Math.round(height * dense);
    canvas.current.width = wide;
    canvas.current.height = high;
    canvas.current.style.height = `${height}px`;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const c = canvas.current.getContext("2d");
    const read = new Set(support), n = weights.length, step = wide / n;
    const floor = high - 18 * dense;
    const most = Math.max(0.05, ...weights);
    weights.forEach((w, t) => {
      const tall = Math.max(dense, (floor - 4 * dense) * (w / most));
      c.fillStyle = colour(t === n - 1 ? "--orange" : read.has(t) ? "--blue" : "--grey");
      c.fillRect(t * step, floor - tall, Math.max(read.has(t) ? 2 * dense : dense, step * 0.75), tall);
    });
    c.fillStyle = colour("--line");
    c.fillRect(0, floor, wide, dense);
    drawNames(c, { n, step, y: floor + 5 * dense, dense, named: support, ink: colour("--blue-text"), soft: colour("--soft") });
  }, [weights, support, room, height]);
  return html`<canvas class="wide" ref=${canvas} role="img" aria-label=${label}></canvas>`;
}
