// The frame around the pages: navigation without reloading, and the token out of the address.
import { html, render, useEffect, useState } from "./vendor/preact-htm.js";
import { Problem } from "./parts.js";

const PAGES = {
  learn: "Learn", build: "Build", law: "Law", bound: "Bound", cover: "Cover", read: "Read", probe: "Probe", check: "Check", claims: "Claims",
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
  history.replaceState(null, "", `/${pageOf(location.pathname)}${rest ? `?${rest}` : ""}`);
}

function Lab() {
  const [shown, setShown] = useState({ name: pageOf(location.pathname), page: null, visit: 0 });
  const [problem, setProblem] = useState("");
  const { name, page, visit } = shown;
  useEffect(() => {
    let asked = 0;
    // A page is mounted once its module is there: the one before it would take the new address for its own.
    const show = async () => {
      const next = pageOf(location.pathname);
      const mine = (asked += 1);
      try {
        const module = await import(`./pages/${next}.js`);
        if (mine !== asked) return; // another link was followed meanwhile
        setShown((old) => ({ name: next, page: module.default, visit: old.visit + 1 }));
        setProblem("");
      } catch (error) {
        setProblem(`this page could not be loaded: ${error.message}`);
      }
    };
    const follow = (event) => {
      const link = event.target.closest?.("a[data-page]");
      if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      visited.set(pageOf(location.pathname), location.pathname + location.search);
      const target = link.getAttribute("href");
      const known = target.includes("?") ? target : visited.get(link.dataset.page) || target;
      history.pushState(null, "", known);
      show();
      scrollTo(0, 0);
    };
    addEventListener("popstate", show);
    document.addEventListener("click", follow);
    show();
    return () => { removeEventListener("popstate", show); document.removeEventListener("click", follow); };
  }, []);
  useEffect(() => { document.title = `${PAGES[name]} · sparsehead lab`; }, [name]);
  return html`
    <a class="skip" href="#main">Skip to the page</a>
    <nav class="top" aria-label="Pages">
      <a class="brand" href="/build" data-page="build"><img src="/static/icon.svg" alt="" width="22" height="22" /> sparsehead</a>
      <ul>${Object.entries(PAGES).map(([key, text]) => html`<li key=${key}><a href=${`/${key}`} data-page=${key}
        aria-current=${key === name ? "page" : null}>${text}</a></li>`)}</ul>
    </nav>
    <main id="main" tabindex="-1">
      <${Problem}>${problem}<//>
      ${page && html`<${page} key=${`${name} ${visit}`} />`}
    </main>
    <footer class="foot">On your own machine; nothing leaves it. <a href="/api/openapi.json">The endpoints behind these pages</a></footer>`;
}

const root = document.getElementById("lab");
root.replaceChildren();
render(html`<${Lab} />`, root);
