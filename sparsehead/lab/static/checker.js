// The second checker of certificates, written apart from certify/check.py: it reads a model and a certificate and says
// whether the certificate holds. Whole numbers (BigInt) alone decide; nothing is sent anywhere, nothing is imported.
// What a certificate is, and why it proves what it says, is told at the head of certify/check.py.

const BITS = 256; // weights and values are enclosed between multiples of 2^-BITS
const FORMAT = "certificate of sparsehead, version 1";
const MOST_DEPTH = 900; // of nested JSON

/** Why a certificate does not hold. Any other error means that a file cannot be read. */
export class Refused extends Error {}

function needs(condition, reason) {
  if (!condition) throw new Refused(reason);
}

/** {holds, sentence} for the bytes of a model file and of a certificate. */
export function verdict(model, certificate) {
  const steps = check(model, certificate);
  for (;;) {
    const step = settled(() => steps.next());
    if (step.sentence) return step;
    if (step.done) return { holds: true, sentence: step.value };
  }
}

/** The same without blocking the page; `proved` is called with the patterns that are proved so far, and their number. */
export async function verdictInSteps(model, certificate, proved) {
  const steps = check(model, certificate), rows = [];
  for (let paused = performance.now(); ;) {
    const step = settled(() => steps.next());
    if (step.sentence) return { ...step, rows };
    if (step.done) return { holds: true, sentence: step.value, rows };
    if (step.value) rows.push(step.value);
    if (performance.now() - paused > 30) {
      proved([...rows]);
      await new Promise((resume) => setTimeout(resume, 0));
      paused = performance.now();
    }
  }
}

function settled(run) {
  try {
    return run();
  } catch (error) {
    if (error instanceof Refused) return { holds: false, sentence: `does not hold: ${error.message}.` };
    return { holds: false, sentence: `cannot be read: ${error.message}`, unreadable: true };
  }
}

/** Yields each pattern when it is proved, and nothing in between; returns one sentence that says what holds. */
function* check(raw, text) {
  const certificate = parseJson(decoded(text));
  needs(certificate instanceof Map, "the certificate is not a JSON object");
  needs(certificate.get("format") === FORMAT, `the certificate's format is not '${FORMAT}'`);
  needs(hasKeys(certificate, ["format", "model", "support", "max_error", "patterns"]), "the certificate has unknown or missing entries");
  needs(certificate.get("model") === sha256(raw), "the certificate belongs to another model");
  const support = certificate.get("support"), rows = list(certificate.get("patterns"));
  const error = hexNumber(certificate.get("max_error"));
  const model = readModel(raw);
  const { T } = model.encoding, s = support?.length;
  const ascending = Array.isArray(support) && support.every((x, i) => whole(x, 0, T - 1) && (i === 0 || support[i - 1] < x));
  needs(ascending && s <= 30, "the support is not a list of ascending positions, at most 30");
  const complete = rows.length === 2 ** s && rows.every((row, i) => get(row, "bits") === bitsOf(i, s));
  needs(complete, "the certificate does not hold every pattern of the support once, in ascending order");
  const heads = [];
  for (let h = 0; h < model.layers[0].W_Q.shape[0]; h += 1) heads.push(yield* readHead(model, h));
  const places = support.map(Number);
  for (const row of rows) {
    const bits = row.get("bits"), value = get(row, "value");
    needs(whole(value, 0, 1) && hasKeys(row, ["bits", "value", "bounds"]), `row ${bits} is malformed`);
    const pattern = new Map(places.map((t, j) => [t, Number(bits[j])]));
    const [low, high] = yield* provedRange(model, heads, row, pattern);
    const outputs = `pattern ${bits}: outputs from ${digits(low, false)} to ${digits(high, true)}`;
    const right = value === 1n ? less(model.threshold, low) : !less(model.threshold, high);
    needs(right, `${outputs} do not all predict ${value}`);
    const f = { m: value, e: 0 }, above = subtract(high, f), below = subtract(f, low), far = less(above, below) ? below : above;
    needs(!less(error, far), `${outputs} exceed the claimed error`);
    yield { bits, value: Number(value), error: digits(far, true), of: rows.length };
  }
  const ones = rows.filter((row) => row.get("value") === 1n).map((row) => row.get("bits"));
  const where = `(${support.map((t) => `x${t}`).join(", ")}) is ${ones.slice(0, 8).join(" or ")}${ones.length > 8 ? " .." : ""}`;
  const f = ones.length === 0 ? "0" : ones.length === rows.length ? "1" : `1 where ${where}, else 0`;
  const claim = `|output - f| <= ${digits(error, true)} and the prediction is f`;
  return `holds: on all 2^${T} inputs ${claim}, in exact arithmetic, with f = ${f}.`;
}

const bitsOf = (i, s) => (s ? i.toString(2).padStart(s, "0") : "");

/** The output's range from the certificate's bounds, each of which is checked where it is used. */
function* provedRange(model, heads, row, pattern) {
  const claims = list(get(row, "bounds"));
  let used = 0;
  const proved = (parts, U) => {
    const tables = parts.map(([h, g], i) => gains(heads[h], g, U[i], pattern));
    return tables.every(neverExceeds) || sumNeverExceeds(tables);
  };
  function* bounds(parts) {
    const taken = claims.slice(used, used + parts.length).map(list), where = `pattern ${row.get("bits")}, heads [${parts.map(([h]) => h).join(", ")}]`;
    used += parts.length;
    needs(taken.length === parts.length && taken.every((claim) => claim.length === 2), `${where}: a bound is missing`);
    const [L, U] = [0, 1].map((side) => taken.map((claim) => hexNumber(claim[side])));
    yield;
    needs(proved(parts, U), `${where}: the upper bound is not proved`);
    yield;
    needs(proved(parts.map(([h, g]) => [h, g.map(negated)]), L.map(negated)), `${where}: the lower bound is not proved`);
    return [L.reduce(add, ZERO), U.reduce(add, ZERO)];
  }
  const found = yield* outputRange(model, bounds);
  needs(used >= claims.length, `pattern ${row.get("bits")} has more bounds than the proof needs`);
  return found;
}

// ---- exact numbers: {m, e} is m 2^e, m a BigInt ----

const ZERO = { m: 0n, e: 0 };
const words = new DataView(new ArrayBuffer(8));

/** A float64 number. */
function exact(x) {
  if (x === 0) return ZERO;
  if (!Number.isFinite(x)) throw new Error("a number is NaN or infinite");
  words.setFloat64(0, x);
  const bits = words.getBigUint64(0), power = Number((bits >> 52n) & 2047n);
  let m = Number(bits & (2n ** 52n - 1n)) + (power ? 2 ** 52 : 0), e = (power || 1) - 1075;
  while (m % 2 === 0) { m /= 2; e += 1; }
  return { m: BigInt(x < 0 ? -m : m), e };
}

function add(a, b) {
  if (a.m === 0n) return b;
  if (b.m === 0n) return a;
  return a.e <= b.e ? { m: a.m + (b.m << BigInt(b.e - a.e)), e: a.e } : { m: b.m + (a.m << BigInt(a.e - b.e)), e: b.e };
}
const multiply = (a, b) => ({ m: a.m * b.m, e: a.e + b.e });
const negated = (a) => ({ m: -a.m, e: a.e });
const subtract = (a, b) => add(a, negated(b));
const less = (a, b) => subtract(a, b).m < 0n;

/** [p, q] with a = p / q. */
const asRatio = (a) => (a.e >= 0 ? [a.m << BigInt(a.e), 1n] : [a.m, 1n << BigInt(-a.e)]);

/** The same number for equal values: m is odd, or 0. */
function reduced(a) {
  if (a.m === 0n) return ZERO;
  const zeros = (a.m & -a.m).toString(2).length - 1;
  return { m: a.m >> BigInt(zeros), e: a.e + zeros };
}

/** The multiples of 2^-BITS next to a, from below and from above. */
function enclosed({ m, e }) {
  if (e + BITS >= 0) { const exactly = m << BigInt(e + BITS); return [exactly, exactly]; }
  const shift = BigInt(-e - BITS);
  return [m >> shift, -(-m >> shift)];
}

/** A number written as float64 in hexadecimal, such as 0x1.8p+1. */
function hexNumber(text) {
  if (typeof text !== "string") throw new Error("a number of the certificate is not text");
  const found = /^(-?)0x([01])\.([0-9a-f]{1,13})p([+-][0-9]{1,4})$/.exec(text);
  needs(found && found[0].length === text.length, "a number of the certificate is not written like 0x1.8p+1");
  const [, sign, ahead, behind, exponent] = found, m = BigInt(`0x${ahead}${behind}`);
  return { m: sign ? -m : m, e: Number(exponent) - 4 * behind.length };
}

/** a in three digits, rounded up or down. */
function digits(a, up) {
  if (a.m === 0n) return "0";
  const [signed, q] = asRatio(a), p = signed < 0n ? -signed : signed;
  let power = String(p).length - String(q).length;
  const times = (n) => (n >= 0 ? [10n ** BigInt(n), 1n] : [1n, 10n ** BigInt(-n)]);
  const [over, under] = times(-power);
  if (p * over < q * under) power -= 1;
  const [top, bottom] = times(2 - power);
  let three = (p * top) / (q * bottom);
  if (three * q * bottom !== p * top && up === signed > 0n) three += 1n;
  if (three === 1000n) { three = 100n; power += 1; }
  const text = String(three);
  return `${signed < 0n ? "-" : ""}${text[0]}.${text.slice(1)}e${power < 0 ? "-" : "+"}${Math.abs(power)}`;
}

// ---- the head ----

/** Weights and values of every token; rows of two tokens, the last [CLS]'s twice if it is attended to. */
function* readHead(model, h) {
  const layer = model.layers[0], { encoding } = model, { cls } = encoding;
  const [, d, k] = layer.W_Q.shape, v = layer.W_V.shape[2];
  const row = (tensor, i, n) => (tensor ? Array.from(tensor.data.subarray(i * n, i * n + n), exact) : Array(n).fill(ZERO));
  const column = (tensor, j, n) => Array.from({ length: d }, (_, i) => exact(tensor.data[(h * d + i) * n + j]));
  // The temperature divides the scores where they enter exp.
  const b_Q = row(layer.b_Q, h, k);
  const query = b_Q.map((b, j) => add(dot(cls.data, column(layer.W_Q, j, k)), b));
  const keys = Array.from({ length: d }, (_, i) => dot(layer.W_K.data.subarray((h * d + i) * k, (h * d + i + 1) * k), query));
  const columns = [keys, ...Array.from({ length: v }, (_, j) => column(layer.W_V, j, v))];
  const shift = [row(layer.b_K, h, k).reduce((sum, b, j) => add(sum, multiply(b, query[j])), ZERO), ...row(layer.b_V, h, v)];
  const times = (vector) => columns.map((c) => dot(vector, c));
  const ends = [0, 1].map((b) => times(encoding.E.data.subarray(b * d, b * d + d)));
  const table = [];
  for (let t = 0; t < encoding.T; t += 1) {
    if (t % 64 === 0) yield;
    // Without P, positions are one-hot behind three reserved coordinates.
    const place = encoding.P ? times(encoding.P.data.subarray(t * d, t * d + d)) : columns.map((c) => c[3 + t]);
    table.push(encoding.kind === "bag" ? [columns.map(() => ZERO), place] : ends.map((end) => plus(place, end)));
  }
  if (model.attends_cls) table.push([times(cls.data), times(cls.data)]);
  const tokens = table.map((pair) => pair.map((token) => plus(token, shift)));
  let top = tokens[0][0][0];
  for (const [[a], [b]] of tokens) { if (less(top, a)) top = a; if (less(top, b)) top = b; }
  const known = new Map(), weights = [];
  for (const pair of tokens) {
    if (weights.length % 64 === 0) yield;
    weights.push(pair.map(([score]) => {
      const below = reduced(subtract(score, top)), key = `${below.m} ${below.e}`;
      if (!known.has(key)) known.set(key, expBounds(below, layer.temperature));
      return known.get(key);
    }));
  }
  return { weights, values: tokens.map((pair) => pair.map((token) => token.slice(1))) };
}

const plus = (a, b) => a.map((x, i) => add(x, b[i]));

/** The sum of the products of float64 numbers with exact ones. */
function dot(numbers, others) {
  let sum = ZERO;
  for (let i = 0; i < others.length; i += 1) {
    if (numbers[i] !== 0 && others[i].m !== 0n) sum = add(sum, multiply(exact(numbers[i]), others[i]));
  }
  return sum;
}

/** exp(x / temperature) for x <= 0, between multiples of 2^-BITS; the error bound is derived in certify/check.py. */
function expBounds(x, temperature) {
  const [a, b] = asRatio(x), [c, d] = asRatio(temperature), p = -a * d, q = b * c; // |x| / temperature = p / q
  const size = p / q;
  if (size >= 2048n) return [0n, 1n];
  const n = BigInt(size === 0n ? 1 : size.toString(2).length + 1), P = BigInt(BITS + 64);
  const z = (p << P) / (q << n);
  let term = 1n << P, total = 0n, k = 0n;
  while (term) {
    total += k % 2n ? -term : term;
    k += 1n;
    term = ((term * z) >> P) / k;
  }
  let low = total - 4n * k - 4n, high = total + 4n * k + 4n;
  for (let i = 0n; i < n; i += 1n) [low, high] = [(low * low) >> P, -((-high * high) >> P)];
  return [low > 0n ? low >> 64n : 0n, -(-high >> 64n)];
}

/** For each position the bits that the pattern allows: {gain, weight} with gain at least g . v - U, weight its two ends. */
function gains(head, g, U, pattern) {
  const [low] = enclosed(U);
  return head.values.map((pair, t) => (pattern.has(t) ? [pattern.get(t)] : [0, 1]).map((b) => {
    const form = pair[b].reduce((sum, x, j) => add(sum, multiply(x, g[j])), ZERO);
    return { gain: enclosed(form)[1] - low, weight: head.weights[t][b] };
  }));
}

const largest = (numbers) => numbers.reduce((a, b) => (b > a ? b : a));
const least = (numbers) => numbers.reduce((a, b) => (b < a ? b : a));
const total = (numbers) => numbers.reduce((a, b) => a + b, 0n);

/** Whether no input of the pattern has g . m > U: the sum over t of the larger of w (g . v - U) over b is at most 0. */
function neverExceeds(table) {
  return total(table.map((pair) => largest(pair.map(({ gain, weight }) => gain * weight[gain > 0n ? 1 : 0])))) <= 0n;
}

/** Whether no input of the pattern has sum g_h . m_h > sum U_h, by all heads at once; certify/check.py has the reason. */
function sumNeverExceeds(tables) {
  const shares = [];
  for (const table of tables) {
    const few = total(table.map((pair) => least(pair.map(({ weight }) => weight[0]))));
    const many = total(table.map((pair) => largest(pair.map(({ weight }) => weight[1]))));
    if (few === 0n) return false;
    // Division of BigInt rounds towards 0, which is up for a negative gain; a positive one is rounded up by hand.
    shares.push(table.map((pair) => pair.map(({ gain, weight }) => (gain > 0n ? (gain * weight[1] + few - 1n) / few : (gain * weight[0]) / many))));
  }
  return total(shares[0].map((pair, t) => largest(pair.map((_, b) => total(shares.map((share) => share[t][b])))))) <= 0n;
}

// ---- what follows the attention ----

/** The chain behind the mixed values: {W, width, b, relu}; without W it is the identity. */
function stages(model) {
  const layer = model.layers[0], { mlp } = layer, { cls } = model.encoding;
  needs(model.layers.length === 1, "this checker knows models of one layer");
  const plain = !layer.norm_attention && !layer.norm_mlp && !model.final_norm && !layer.project;
  needs(plain, "this checker knows models without LayerNorm and projection");
  const known = ["identity", "relu"].includes(layer.sigma) && (!mlp || mlp.activation === "relu");
  needs(known, "this checker knows ReLU and the identity as activations");
  needs(!mlp || !layer.residual, "this checker knows no residual around an MLP");
  const [H, v, d] = layer.W_C.shape;
  const offset = Array.from(cls.data, (x, i) => add(layer.residual ? exact(x) : ZERO, layer.b_C ? exact(layer.b_C.data[i]) : ZERO));
  const affine = (W, b, relu) => ({ W: W.data, shape: W.shape, b: Array.from(b.data, exact), relu });
  const chain = layer.sigma === "relu" ? [{ W: null, relu: true }] : [];
  chain.push({ W: layer.W_C.data, shape: [H * v, d], b: offset, relu: false });
  if (mlp) chain.push(affine(mlp.W_1, mlp.b_1, true), affine(mlp.W_2, mlp.b_2, false));
  for (const dense of model.decoder) chain.push(affine(dense.W, dense.b, true));
  chain.push({ W: model.w.data, shape: [model.w.shape[0], 1], b: [model.bias], relu: false });
  let width = H * v;
  for (const { W, shape, b } of chain) {
    needs(!W || (shape[0] === width && shape[1] === b.length), "the model's matrices do not fit together");
    width = W ? b.length : width;
  }
  return chain;
}

/** The output over all inputs of a pattern, from the bounds of the forms that it needs, asked in a fixed order. */
function* outputRange(model, bounds) {
  const chain = stages(model), [H, , k] = model.layers[0].W_V.shape;
  let forms = new Map(Array.from({ length: H * k }, (_, i) => [i, { terms: new Map([[i, { m: 1n, e: 0 }]]), low: ZERO, high: ZERO }]));
  const needed = [[0]]; // from the output backwards: the coordinates that matter
  for (const { W, shape } of [...chain].reverse()) {
    const last = needed[0];
    const rows = () => Array.from({ length: shape[0] }, (_, a) => a).filter((a) => last.some((c) => W[a * shape[1] + c] !== 0));
    needed.unshift(W ? rows() : last);
  }
  for (const [i, { W, shape, b, relu }] of chain.entries()) {
    if (W) {
      const inner = forms;
      forms = new Map(needed[i + 1].map((c) => [c, combined(inner, (a) => W[a * shape[1] + c], shape[0], b[c])]));
    }
    if (relu) {
      for (const [c, form] of forms) {
        const [low, high] = yield* rangeOf(form, k, bounds);
        if (low.m < 0n) forms.set(c, { terms: new Map(), low: ZERO, high: high.m > 0n ? high : ZERO });
      }
    }
  }
  return yield* rangeOf(forms.get(0), k, bounds);
}

function combined(forms, weight, n, bias) {
  const terms = new Map();
  let low = bias, high = bias;
  for (let a = 0; a < n; a += 1) {
    if (weight(a) === 0) continue;
    const w = exact(weight(a)), inner = forms.get(a);
    for (const [place, x] of inner.terms) terms.set(place, add(terms.get(place) || ZERO, multiply(w, x)));
    const ends = [multiply(w, inner.low), multiply(w, inner.high)];
    low = add(low, ends[w.m < 0n ? 1 : 0]);
    high = add(high, ends[w.m < 0n ? 0 : 1]);
  }
  for (const [place, x] of terms) if (x.m === 0n) terms.delete(place);
  return { terms, low, high };
}

function* rangeOf({ terms, low, high }, k, bounds) {
  const heads = [...new Set([...terms.keys()].map((place) => Math.floor(place / k)))].sort((a, b) => a - b);
  const [L, U] = yield* bounds(heads.map((h) => [h, Array.from({ length: k }, (_, j) => terms.get(h * k + j) || ZERO)]));
  return [add(low, L), add(high, U)];
}

// ---- the model file ----

// The fields of each part: a number of axes stands for a tensor, a part's name for a part, a name in brackets for a
// list of parts, a function for the values that it accepts. "?" marks what may be null.
const isText = ["str", (x) => typeof x === "string"], isTruth = ["bool", (x) => typeof x === "boolean"];
const isWhole = ["int", (x) => typeof x === "bigint" && x <= 2n ** 53n && x >= -(2n ** 53n)];
const isNumber = ["float", (x) => Number.isFinite(x) || isWhole[1](x)], isObject = ["dict", (x) => x instanceof Map];
const value = ([name, accepts]) => ({ value: name, accepts });
const PARTS = {
  Model: {
    encoding: "Encoding", layers: ["Layer"], w: 1, bias: value(isNumber), "final_norm?": "LayerNorm", decoder: ["Dense"],
    threshold: value(isNumber), attends_cls: value(isTruth), meta: value(isObject),
  },
  Encoding: { kind: value(isText), T: value(isWhole), E: 2, "P?": 2, cls: 1 },
  Layer: {
    W_Q: 3, W_K: 3, W_V: 3, W_C: 3, "b_Q?": 2, "b_K?": 2, "b_V?": 2, "b_C?": 1, temperature: value(isNumber), sigma: value(isText),
    residual: value(isTruth), "norm_attention?": "LayerNorm", "norm_mlp?": "LayerNorm", "mlp?": "Mlp", project: value(isTruth),
  },
  LayerNorm: { gain: 1, bias: 1, eps: value(isNumber) },
  Mlp: { W_1: 2, b_1: 1, W_2: 2, b_2: 1, activation: value(isText) },
  Dense: { W: 2, b: 1 },
};

function readModel(raw) {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const n = view.getBigUint64(0, true);
  needs(n <= BigInt(raw.length - 8), "the header is longer than the file");
  const start = 8 + Number(n), header = parseJson(decoded(raw.subarray(8, start)));
  const content = parseJson(get(get(header, "__metadata__"), "sparsehead"));
  needs(get(content, "schema") === 2n, "the model file has another schema than 2");
  const tensors = new Map();
  let end = 0;
  for (const [name, entry] of header) {
    if (name === "__metadata__") continue;
    tensors.set(name, readTensor(view, start, entry, end));
    end = Number(get(entry, "data_offsets")[1]);
  }
  needs(end === raw.length - start, "the tensors do not fill the file");
  const model = readPart(get(content, "model"), tensors, "Model", "model");
  checkShapes(model.encoding, model.layers[0]);
  return model;
}

/** {shape, data}: the numbers as float64. */
function readTensor(view, start, entry, begin) {
  const widths = { F64: 8, F32: 4 }, dtype = get(entry, "dtype"), offsets = list(get(entry, "data_offsets")), sides = list(get(entry, "shape"));
  if (!Object.hasOwn(widths, dtype) || offsets.length !== 2) throw new Error("a tensor is neither F64 nor F32");
  const [first, end] = offsets;
  needs(whole(end, 0) && whole(first, begin, begin), "tensors overlap, or are not one after the other");
  needs(sides.every((side) => whole(side, 1)), "a tensor's shape is not a list of positive numbers");
  const size = sides.reduce((product, side) => product * side, 1n);
  needs(size * BigInt(widths[dtype]) === end - first, "a tensor's shape does not fit its size");
  if (start + Number(end) > view.byteLength) throw new Error("a tensor lies behind the end of the file");
  const data = new Float64Array(Number(size)), width = widths[dtype];
  for (let i = 0; i < data.length; i += 1) {
    const at = start + begin + i * width;
    data[i] = width === 8 ? view.getFloat64(at, true) : view.getFloat32(at, true);
    if (!Number.isFinite(data[i])) throw new Error("a weight is NaN or infinite");
  }
  return { shape: sides.map(Number), data };
}

function readPart(node, tensors, kind, name) {
  const keys = Array.isArray(kind) ? ["tuple"] : typeof kind === "string" ? ["part", "fields"] : typeof kind === "number" ? ["tensor"] : ["value"];
  needs(hasKeys(node, keys), `${name} is malformed`);
  if (Array.isArray(kind)) return list(node.get("tuple")).map((inner) => readPart(inner, tensors, kind[0], "model"));
  if (typeof kind === "string") {
    const fields = node.get("fields"), wanted = Object.entries(PARTS[kind]).map(([key, inner]) => [key.replace("?", ""), inner, key.endsWith("?")]);
    needs(node.get("part") === kind && hasKeys(fields, wanted.map(([key]) => key)), `${name} is not a ${kind}`);
    return Object.fromEntries(wanted.map(([key, inner, may]) => {
      const found = fields.get(key), lacks = may && hasKeys(found, ["value"]) && found.get("value") === null;
      return [key, lacks ? null : readPart(found, tensors, inner, key)];
    }));
  }
  if (typeof kind === "number") {
    const tensor = get(tensors, node.get("tensor"));
    needs(tensor.shape.length === kind, `${name} has not ${kind} axes`);
    return tensor;
  }
  const found = node.get("value");
  needs(kind.accepts(found), `${name} is not of type ${kind.value}`);
  if (kind.value === "int") return Number(found);
  return kind.value === "float" ? exact(Number(found)) : found;
}

function checkShapes(encoding, layer) {
  const { T } = encoding, d = encoding.cls.shape[0], [H, , k] = layer.W_Q.shape, v = layer.W_V.shape[2];
  const known = {
    E: [2, d], P: [T, d], W_Q: [H, d, k], W_K: [H, d, k], W_V: [H, d, v], W_C: [H, v, d], b_Q: [H, k], b_K: [H, k], b_V: [H, v], b_C: [d],
  };
  for (const [name, part] of [...Object.entries(encoding), ...Object.entries(layer)]) {
    needs(!known[name] || part === null || String(part.shape) === String(known[name]), `${name} has a wrong shape`);
  }
  needs(T >= 1 && (encoding.P || d === T + 3), "T does not fit the encoding");
  needs(layer.temperature.m > 0n, "the temperature is not positive");
  needs(["positional", "random", "trainable", "bag"].includes(encoding.kind), "the encoding is not known");
}

// ---- JSON, with whole numbers as BigInt and objects as Map; JSON.parse rounds the first and lets keys repeat ----

const decoded = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const whole = (x, least, most = 2 ** 53) => typeof x === "bigint" && x >= BigInt(least) && x <= BigInt(most);
const hasKeys = (x, keys) => x instanceof Map && x.size === keys.length && keys.every((key) => x.has(key));

function list(x) {
  if (!Array.isArray(x)) throw new Error("a list is missing");
  return x;
}

function get(x, key) {
  if (!(x instanceof Map) || !x.has(key)) throw new Error(`${key} is missing`);
  return x.get(key);
}

function parseJson(text) {
  if (typeof text !== "string") throw new Error("JSON is missing");
  const token = /[ \t\n\r]*([{}[\],:]|"[^"\\\u0000-\u001f]*(?:\\[^\u0000-\u001f][^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null)/y;
  const next = () => {
    const found = token.exec(text);
    if (!found) throw new Error("the text is not JSON");
    return found[1];
  };
  const expect = (found, wanted) => { if (!wanted.includes(found)) throw new Error(`the JSON has ${found} in place of ${wanted}`); };
  const read = (found, depth) => {
    if (depth > MOST_DEPTH) throw new Error("the JSON is nested too deeply");
    if (found === "{") return readObject(depth + 1);
    if (found === "[") return readList(depth + 1);
    if (found.length > 4300) expect(found[0], '"'); // Python reads no longer numbers
    if (/^-?[0-9]+$/.test(found)) return BigInt(found);
    return JSON.parse(found);
  };
  const readList = (depth) => {
    const found = [];
    let mark = next();
    if (mark === "]") return found;
    for (;;) {
      found.push(read(mark, depth));
      mark = next();
      if (mark === "]") return found;
      expect(mark, ",");
      mark = next();
    }
  };
  const readObject = (depth) => {
    const found = new Map();
    let mark = next();
    if (mark === "}") return found;
    for (;;) {
      expect(mark[0], '"');
      const key = JSON.parse(mark);
      expect(next(), ":");
      const inner = read(next(), depth);
      needs(!found.has(key), "a key of a JSON object occurs twice");
      found.set(key, inner);
      mark = next();
      if (mark === "}") return found;
      expect(mark, ",");
      mark = next();
    }
  };
  const found = read(next(), 0);
  if (/[^ \t\n\r]/.test(text.slice(token.lastIndex))) throw new Error("there is more behind the JSON");
  return found;
}

// ---- SHA-256 (FIPS 180-4); crypto.subtle is missing from pages that come over plain HTTP ----

/** The first 32 bits of the fractional parts of the roots of the first primes. */
const ROOTS = [64, 8].map((count, i) => {
  const primes = [], found = [];
  for (let x = 2; primes.length < count; x += 1) if (primes.every((p) => x % p)) primes.push(x);
  for (const p of primes) {
    const power = i === 0 ? 3n : 2n, aim = BigInt(p) << (32n * power);
    let root = 0n;
    for (let bit = 1n << 36n; bit; bit >>= 1n) if ((root + bit) ** power <= aim) root += bit;
    found.push(Number(root & 0xffffffffn));
  }
  return found;
});

export function sha256(bytes) {
  const length = bytes.length, padded = new Uint8Array(((length + 8) >> 6 << 6) + 64), words32 = new DataView(padded.buffer);
  padded.set(bytes);
  padded[length] = 0x80;
  words32.setBigUint64(padded.length - 8, BigInt(length) * 8n);
  const [K, start] = ROOTS, hash = Int32Array.from(start), w = new Int32Array(64);
  const turned = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = words32.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ (a >>> 3)) + w[i - 7] + (turned(b, 17) ^ turned(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i += 1) {
      const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { hash[i] += x; });
  }
  return Array.from(hash, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}
