// Files dropped anywhere on the window: the page that is open takes them if it can, else the page for their kind opens.
const takers = new Set(); // { accepts: endings, take } of the pages that are open
const HOMES = { ".safetensors": "/read", ".json": "/check", ".csv": "/cover" };
let waiting = null; // a file for a page that is not open yet

/** The page for a file that the open page does not take: a CSV with named columns and 20 rows or more is a table of data. */
async function homeOf(file) {
  if (ending(file) !== ".csv") return HOMES[ending(file)];
  const lines = (await file.text()).trim().split("\n");
  return lines.length > 20 && /[a-df-z]/i.test(lines[0]) ? "/data" : HOMES[".csv"]; // "1e5" is a number
}

const ending = (file) => (/\.[a-z]+$/.exec(file.name.toLowerCase()) || [""])[0];

/** Offer to take files with these endings, such as ".csv,.json"; returns the function that ends it. */
export function takeFiles(accept, take) {
  const taker = { accepts: accept.split(","), take };
  takers.add(taker);
  if (waiting && taker.accepts.includes(ending(waiting))) {
    const file = waiting;
    waiting = null;
    take(file);
  }
  return () => takers.delete(taker);
}

/** Hand a file on; `open` opens a page, `refuse` is told why nobody takes the file. */
async function hand(file, open, refuse) {
  const taker = [...takers].find((one) => one.accepts.includes(ending(file)));
  if (taker) { taker.take(file); return; }
  const home = await homeOf(file);
  if (!home) { refuse(`${file.name} is no file that a page takes: these are ${Object.keys(HOMES).join(", ")}.`); return; }
  waiting = file;
  open(home);
}

/** Take what is dropped outside the boxes for files; returns the function that ends it. */
export function watchDrops(open, refuse) {
  const over = (event) => { if ([...event.dataTransfer.types].includes("Files")) event.preventDefault(); };
  const drop = (event) => {
    if (event.defaultPrevented || !event.dataTransfer.files.length) return;
    event.preventDefault();
    [...event.dataTransfer.files].forEach((file) => hand(file, open, refuse));
  };
  addEventListener("dragover", over);
  addEventListener("drop", drop);
  return () => { removeEventListener("dragover", over); removeEventListener("drop", drop); };
}
