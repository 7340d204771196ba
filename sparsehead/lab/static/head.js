// The forward pass of one small head, from the tables that the server sends (lab/head.py says what they are).
// The only formula that the page computes itself: a flipped bit is answered without asking the server.

const SIGMAS = {
  identity: (x) => x,
  relu: (x) => Math.max(x, 0),
  tanh: Math.tanh,
};

/** Attention of every head over the T positions and [CLS], which comes last: H lists of T + 1 weights. */
export function attention(head, bits) {
  const { T, H, scores } = head;
  const found = [];
  for (let h = 0; h < H; h += 1) {
    const row = new Float64Array(T + 1);
    let top = -Infinity;
    for (let t = 0; t <= T; t += 1) {
      row[t] = t === T && !head.attends_cls ? -Infinity : scores[t][t < T ? bits[t] : 0][h];
      top = Math.max(top, row[t]);
    }
    let sum = 0;
    for (let t = 0; t <= T; t += 1) {
      row[t] = Math.exp(row[t] - top);
      sum += row[t];
    }
    for (let t = 0; t <= T; t += 1) row[t] /= sum;
    found.push(row);
  }
  return found;
}

/** { weights, output, predicts } for one input, an array of T zeros and ones. */
export function forward(head, bits) {
  const weights = attention(head, bits);
  const sigma = SIGMAS[head.sigma];
  let y = Float64Array.from(head.offset);
  weights.forEach((row, h) => {
    const mixed = new Float64Array(head.mix[h].length);
    for (let t = 0; t <= head.T; t += 1) {
      const value = head.values[t][t < head.T ? bits[t] : 0][h];
      for (let i = 0; i < mixed.length; i += 1) mixed[i] += row[t] * value[i];
    }
    mixed.forEach((x, i) => {
      const on = sigma(x);
      head.mix[h][i].forEach((c, j) => { y[j] += on * c; });
    });
  });
  if (head.relu) y = y.map((x) => Math.max(x, 0));
  for (const { W, b } of head.dense) {
    y = Float64Array.from(b, (start, j) => {
      let sum = start;
      for (let i = 0; i < y.length; i += 1) sum += y[i] * W[i][j];
      return Math.max(sum, 0);
    });
  }
  let output = head.bias;
  head.w.forEach((c, j) => { output += c * y[j]; });
  return { weights, output, predicts: output > head.threshold ? 1 : 0 };
}
