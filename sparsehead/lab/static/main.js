// The frame around the pages: navigation without reloading, and the token out of the address.
import { html, render, useEffect, useState } from "./vendor/preact-htm.js";
import { watchDrops } from "./drops.js";
import { Problem } from "./parts.js";
import { FIRST, Tour, stepOf } from "./tour.js";

const PAGES = {
  learn: "Learn", data: "Data", build: "Build", law: "Law", bound: "Bound", cover: "Cover", read: "Read", probe: "Probe", check: "Check", claims: "Claims",
};
const START = "build";
const visited = new Map(); // the address of each page as it was left

function pageOf(path) {
  const name = path.replace(/^\//, "");
  return name in PAGES ? name : START;
}

// The cookie has the token now; the address, which is copied and kept in the history, must not.
const given = new URLSearchParams(location.search);
if (given.has("token") || location.pathname === "/") {
  given.delete("token");
  const rest = given.toString();
  history.replaceState(null, "", `/${pageOf(location.pathname)}${rest ? `?${rest}` : ""}${location.hash}`);
}

/** [large, toggle]: whether everything is drawn larger, for a projector; this browser remembers it. */
function useLarge() {
  const [large, setLarge] = useState(() => { try { return localStorage.getItem("large") === "yes"; } catch { return false; } });
  useEffect(() => {
    document.documentElement.classList.toggle("large", large);
    try { localStorage.setItem("large", large ? "yes" : "no"); } catch { /* a browser that remembers nothing */ }
  }, [large]);
  return [large, () => setLarge((old) => !old)];
}

function Lab() {
  const [shown, setShown] = useState({ name: pageOf(location.pathname), page: null, visit: 0 });
  const [problem, setProblem] = useState("");
  const [step, setStep] = useState(stepOf(location.hash));
  const [large, toggleLarge] = useLarge();
  const { name, page, visit } = shown;
  const [go, setGo] = useState(() => () => {});
  useEffect(() => {
    let asked = 0;
    let here = location.pathname + location.search;
    // A page is mounted once its module is there: the one before it would take the new address for its own.
    const show = async () => {
      const next = pageOf(location.pathname);
      const mine = (asked += 1);
      setStep(stepOf(location.hash));
      here = location.pathname + location.search;
      try {
        const module = await import(`./pages/${next}.js`);
        if (mine !== asked) return; // another link was followed meanwhile
        setShown((old) => ({ name: next, page: module.default, visit: old.visit + 1 }));
        setProblem("");
      } catch (error) {
        setProblem(`this page could not be loaded: ${error.message}`);
      }
    };
    const open = (target) => {
      visited.set(pageOf(location.pathname), location.pathname + location.search);
      here = location.pathname + location.search;
      history.pushState(null, "", target);
      setStep(stepOf(location.hash));
      if (location.pathname + location.search === here) return; // only the step of the tour changed
      show();
      scrollTo(0, 0);
    };
    const follow = (event) => {
      const link = event.target.closest?.("a[data-page]");
      if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const target = link.getAttribute("href");
      const known = target.includes("?") ? target : visited.get(link.dataset.page) || target;
      open(known.includes("#") ? known : known + (stepOf(location.hash) ? location.hash : ""));
    };
    addEventListener("popstate", show);
    document.addEventListener("click", follow);
    setGo(() => open);
    const undrop = watchDrops(open, setProblem);
    show();
    return () => { removeEventListener("popstate", show); document.removeEventListener("click", follow); undrop(); };
  }, []);
  useEffect(() => { document.title = `${PAGES[name]} · sparsehead lab`; }, [name]);
  return html`
    <a class="skip" href="#main">Skip to the page</a>
    <nav class="top" aria-label="Pages">
      <a class="brand" href="/build" data-page="build"><img src="/static/icon.svg" alt="" width="22" height="22" /> sparsehead</a>
      <ul>${Object.entries(PAGES).map(([key, text]) => html`<li key=${key}><a href=${`/${key}`} data-page=${key}
        aria-current=${key === name ? "page" : null}>${text}</a></li>`)}</ul>
      <span class="tools"><a href=${FIRST} data-page="build">Tour</a>
        <button type="button" class="plain" aria-pressed=${large} title="Everything larger, for a projector" onClick=${toggleLarge}>Large</button></span>
    </nav>
    <main id="main" tabindex="-1">
      <${Problem}>${problem}<//>
      ${page && html`<${page} key=${`${name} ${visit}`} />`}
    </main>
    <footer class="foot">On your own machine; nothing leaves it. <a href="/api/openapi.json">The endpoints behind these pages</a></footer>
    ${step > 0 && html`<${Tour} step=${step} go=${go} />`}`;
}

const root = document.getElementById("lab");
root.replaceChildren();
render(html`<${Lab} />`, root);
