// Smallest covers of points in the page, for pages that are files: exact, on whole numbers. The server has its own.

const RATIONAL = /^([+-]?)(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?(?:\/(\d+))?$/i;

/** A text such as "0.5", "-3e-4" or "1/3" as [numerator, denominator]. */
function rational(text) {
  const [, sign, whole, part = "", power = "0", below = "1"] = RATIONAL.exec(text.trim().replace(/^([+-]?)\./, "$10.")) || [];
  if (whole === undefined || BigInt(below) === 0n) throw new Error(`${text} is no number; such as 0.5, 3e-4 or 1/3.`);
  const shift = Number(power) - part.length;
  const up = BigInt(`${sign}${whole}${part}`) * 10n ** BigInt(Math.max(0, shift));
  return [up, BigInt(below) * 10n ** BigInt(Math.max(0, -shift))];
}

const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return a < 0n ? -a : a; };
const size = (x) => (x < 0n ? -x : x);

/** Whether q lies within the radius of p, both as whole numbers over one denominator. */
function within(p, q, radius, norm) {
  const gaps = p.map((x, i) => size(x - q[i]));
  if (norm === "inf") return gaps.every((gap) => gap <= radius);
  if (norm === "1") return gaps.reduce((sum, gap) => sum + gap, 0n) <= radius;
  return gaps.reduce((sum, gap) => sum + gap * gap, 0n) <= radius * radius;
}

/** Centres that suffice when they may lie anywhere in the plane: [x, y, below], a point x / below, y / below. */
function candidates(points, radius, norm) {
  const found = points.map(([x, y]) => [x, y, 1n]);
  if (norm !== "2") {
    // In the maximum norm each ball can be moved until points lie on its left and lower side; the 1-norm is that, turned.
    const turned = norm === "inf" ? points : points.map(([x, y]) => [x + y, x - y]);
    for (const [u] of turned) {
      for (const [, v] of turned) found.push(norm === "inf" ? [u + radius, v + radius, 1n] : [u + v + 2n * radius, u - v, 2n]);
    }
    return found;
  }
  // Points that fit into a disc fit into the smallest one around them, which two or three of them determine.
  points.forEach(([ax, ay], i) => points.slice(0, i).forEach(([bx, by], j) => {
    found.push([ax + bx, ay + by, 2n]);
    points.slice(0, j).forEach(([cx, cy]) => {
      const [ux, uy, vx, vy] = [bx - ax, by - ay, cx - ax, cy - ay];
      const below = 2n * (ux * vy - uy * vx);
      if (below === 0n) return;
      const [u, v] = [ux * ux + uy * uy, vx * vx + vy * vy];
      found.push([ax * below + vy * u - uy * v, ay * below + ux * v - vx * u, below]);
    });
  }));
  return found;
}

/** The positions of the bits that are set. */
function bitsOf(mask) {
  const found = [];
  for (let i = 0; mask; i += 1, mask >>= 1n) if (mask & 1n) found.push(i);
  return found;
}

const count = (mask) => { let n = 0; for (let rest = mask; rest; rest &= rest - 1n) n += 1; return n; };

function greedy(sets, all) {
  const chosen = [];
  for (let left = all; left;) {
    let best = 0;
    sets.forEach((set, i) => { if (count(set & left) > count(sets[best] & left)) best = i; });
    chosen.push(best);
    left &= ~sets[best];
  }
  return chosen;
}

/** { best, lower, exact }: a smallest choice of sets that contain all points, by branch and bound until the deadline. */
function smallest(sets, all, start, deadline) {
  const of = bitsOf(all).map((t) => sets.map((set, i) => [set, i]).filter(([set]) => (set >> BigInt(t)) & 1n));
  const near = of.map((some) => some.reduce((sum, [set]) => sum | set, 0n)); // points that some set holds together with t
  let best = start, late = false;
  // Points no two of which one set holds need a set each; the point with the fewest sets comes first.
  const apart = (left) => {
    let found = 0;
    for (let rest = left; rest; found += 1) {
      const t = bitsOf(rest).reduce((a, b) => (of[b].length < of[a].length ? b : a));
      rest &= ~near[t];
    }
    return found;
  };
  const lower = apart(all);
  const search = (left, chosen) => {
    if (!left) { if (chosen.length < best.length) best = chosen; return; }
    if (late || best.length === lower || chosen.length + apart(left) >= best.length) return;
    if (performance.now() > deadline) { late = true; return; }
    const t = bitsOf(left).reduce((a, b) => (of[b].length < of[a].length ? b : a));
    const useful = of[t].map(([set, i]) => [count(set & left), set, i]).sort((a, b) => b[0] - a[0]);
    for (const [, set, i] of useful) search(left & ~set, [...chosen, i]);
  };
  search(all, []);
  return { best, lower, exact: !late || best.length === lower };
}

/** The record of `sparsehead cover --json` for a request of the page, without the linear relaxation. */
export function covered({ points: texts, eps: text, p, external }, seconds = 4) {
  const numbers = texts.map((point) => point.map(rational)), [up, down] = rational(text);
  const below = numbers.flat().reduce((all, [, d]) => (all * d) / gcd(all, d), down);
  const radius = (up * below) / down;
  const points = numbers.map((point) => point.map(([n, d]) => (n * below) / d));
  if (points.some((point) => point.length !== points[0].length)) throw new Error("points of different numbers of coordinates.");
  if (radius <= 0n) throw new Error("eps is a number above 0.");
  const most = p === "2" ? 30 : 60;
  if (external && (points[0].length !== 2 || points.length > most)) {
    throw new Error(`with centres anywhere this file takes up to ${most} points of the plane; the lab takes more.`);
  }
  const centers = external ? candidates(points, radius, p) : points.map((point) => [...point, 1n]);
  const holds = ([...center]) => {
    const scale = center.pop();
    return points.reduce((mask, point, i) => (within(point.map((x) => x * scale), center, radius * size(scale), p) ? mask | (1n << BigInt(i)) : mask), 0n);
  };
  // Of candidates that hold the same points, one is enough; and one that holds fewer than another is not needed.
  const unique = new Map(centers.map((center, i) => [holds(center), i]).reverse());
  let sets = [...unique.entries()].sort((a, b) => a[1] - b[1]);
  if (external) sets = sets.filter(([mask]) => !sets.some(([other]) => other !== mask && (mask & other) === mask));
  const masks = sets.map(([mask]) => mask);
  const all = (1n << BigInt(points.length)) - 1n;
  const first = greedy(masks, all);
  const { best, lower, exact } = smallest(masks, all, first, performance.now() + 1000 * seconds);
  const chosen = best.map((i) => sets[i][1]).sort((a, b) => a - b);
  // exact to 2^-53, whatever the size of the whole numbers
  const real = (x, scale) => Number((x * 10n ** 17n) / (scale * below)) / 1e17;
  return {
    size: exact ? best.length : null, exact, lower: exact ? best.length : lower, upper: best.length,
    centers: chosen.map((i) => centers[i].slice(0, -1).map((x) => real(x, centers[i].at(-1)))),
    rows: external ? null : chosen, greedy: first.length, packing: lower, lp: null, points: points.length,
  };
}
