// The state of a page lives in its address, so that a link restores it.
import { useCallback, useEffect, useRef, useState } from "./vendor/preact-htm.js";

function parsed(text, like) {
  if (typeof like === "number") {
    const number = Number(text);
    return Number.isFinite(number) && text.trim() !== "" ? number : like;
  }
  if (typeof like === "boolean") return text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : like;
  return text;
}

/** The values in the address, each of the type of its default. */
export function readAddress(defaults) {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(
    Object.entries(defaults).map(([name, like]) => [name, given.has(name) ? parsed(given.get(name), like) : like]),
  );
}

/** Write what differs from the defaults into the address, without a new entry in the history. */
export function writeAddress(state, defaults) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name in defaults && value !== defaults[name]) query.set(name, String(value));
  }
  const text = query.toString();
  try {
    history.replaceState(null, "", location.pathname + (text ? `?${text}` : "") + location.hash);
  } catch { /* a browser that forbids it to files */ }
}

/** [state, set]: a page's state, kept in the address. `set` takes the values that change. */
export function useAddress(defaults) {
  const [state, setState] = useState(() => readAddress(defaults));
  const timer = useRef(0);
  const path = useRef(location.pathname);
  useEffect(() => {
    clearTimeout(timer.current);
    // Browsers allow few changes of the address per second; a slider makes many.
    timer.current = setTimeout(() => {
      if (location.pathname === path.current) writeAddress(state, defaults);
    }, 120);
    return () => clearTimeout(timer.current);
  }, [state]);
  const set = useCallback((change) => setState((old) => ({ ...old, ...change })), []);
  return [state, set];
}
