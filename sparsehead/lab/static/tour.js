// The tour: seven steps through three pages, in two minutes. Its step is in the address, after "#tour=".
import { html, useEffect, useState } from "./vendor/preact-htm.js";

const found = (selector) => Boolean(document.querySelector(selector));
// One head without LayerNorm and MLP: what it learns has a proof that the page Check can check.
const LEARN = "f=x5+%26+x20+%26+x30&T=50&on=true&steps=100&lr=0.01&check=2&more=mlp%3D0%26norm%3Dfalse";

/** href: the page of a step, null to stay; done: whether what it asks for has happened. */
const STEPS = [
  {
    title: "Flip a bit", href: "/build?f=x2+%26+x5+%26+x11&T=16", done: () => document.querySelector("[data-predicts]")?.textContent === "1",
    text: "This attention head was written down so that it computes x2 AND x5 AND x11. Press the three blue bits: with the third, the output crosses the mark. Then press a grey one: almost nothing moves.",
  },
  {
    title: "Starve it of samples", href: `/learn?${LEARN}&m=14`, done: () => found(".job[data-state=running], .job[data-state=done]"),
    text: "Now a head has to find three of fifty bits by itself, from 14 labelled inputs. Press Train.",
  },
  {
    title: "Watch it fail", href: null, done: () => found("[data-solved=false]"),
    text: "It gets every training sample right and new inputs wrong: with so few samples, its attention settles on bits that do not matter.",
  },
  {
    title: "Give it more", href: `/learn?${LEARN}&m=300`, done: () => found("[data-solved=true]"),
    text: "The same head, 300 samples. Press Train and watch the attention move to x5, x20 and x30.",
  },
  {
    title: "Read the formula", href: null, done: () => found("[data-formula]"),
    text: "The formula in large type was read back from the weights: nobody told the model which bits matter, nor how they combine.",
  },
  {
    title: "See the proof", href: null, done: () => location.pathname === "/check",
    text: "It says that the formula is proved on all 2^50 inputs. Press “Check its proof”.",
  },
  {
    title: "Check it", href: "/check", stay: "/check", done: () => found("[data-holds=true]"),
    text: "This page has checked the proof with whole numbers alone, pattern by pattern, and does not trust the program that found it. That is the tour; every page takes your own functions and files.",
  },
];

export const FIRST = `${STEPS[0].href}#tour=1`;

/** The number of the step in the address, 0 without a tour. */
export function stepOf(hash) {
  const step = Number(/^#tour=(\d)$/.exec(hash)?.[1] || 0);
  return step <= STEPS.length ? step : 0;
}

/** The panel of a step; `go` opens an address. */
export function Tour({ step, go }) {
  const [done, setDone] = useState(false);
  const { title, text, done: isDone } = STEPS[step - 1];
  useEffect(() => {
    setDone(isDone());
    const timer = setInterval(() => setDone((old) => old || isDone()), 300);
    return () => clearInterval(timer);
  }, [step]);
  // Asked for at the click: a page writes its state into the address a moment after this panel was drawn.
  const here = () => location.pathname + location.search;
  const to = (n) => {
    const { href, stay } = STEPS[n - 1];
    // Going back to a page shows it as the step before left it.
    const same = href === null || n < step || location.pathname === stay;
    const target = n < step ? STEPS.slice(0, n).reverse().find((one) => one.href).href : href;
    const proof = stay && !same ? document.querySelector('a[href^="/check?run="]')?.getAttribute("href") : null;
    go(`${proof || (same && n > step ? here() : target)}#tour=${n}`);
  };
  return html`<aside class="tour" aria-label="Tour">
    <p class="tour-title"><b>${title}</b> <span class="soft">${step} of ${STEPS.length}</span></p>
    <p aria-live="polite">${text}</p>
    <div class="row">
      ${step > 1 && html`<button type="button" onClick=${() => to(step - 1)}>Back</button>`}
      ${step < STEPS.length && html`<button type="button" class=${done ? "main" : ""} onClick=${() => to(step + 1)}>Next</button>`}
      <button type="button" class="plain" onClick=${() => go(here())}>${step < STEPS.length ? "End the tour" : "Done"}</button>
      <span class="good" role="status">${done ? "✓ seen" : ""}</span>
    </div>
  </aside>`;
}
