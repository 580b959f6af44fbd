// Folding: many systems show the best rule of each model, the first ten models, and what is looked for.

const FIRST = 10; // models that a long table shows at first
const CHOSEN = 5; // models that the charts show at first where there are many
const LONG = SYSTEMS.filter((one) => !one.added).length > 8;
const CROWDED = MODELS.length > FIRST;
const unfolded = new Set(); // models whose rules are all shown
let everyModel = false;
let lookedFor = "";

/** Models in the order of what their best system cost in the report. */
function modelsByCost() {
  const least = MODELS.map((_, i) => {
    const costs = SYSTEMS.filter((one) => one.model === i && one.candidate).map((one) => one.reported[0]);
    return Math.min(Infinity, ...costs.filter(Number.isFinite));
  });
  return range(MODELS.length).sort((a, b) => least[a] - least[b] || a - b || 0);
}

/** Hide rows of the table of systems; the best rule of a model can unfold the others. */
function foldSystems() {
  if (!LONG) return;
  const known = new Map(result.systems.map((one) => [upright(one.name), one]));
  const heads = new Map(); // the first row of each model, and the last that stands below it
  for (const row of place("systems").querySelectorAll("tbody tr")) {
    const one = known.get(row.querySelector("th .name")?.title);
    if (!one) continue;
    const head = heads.get(one.model);
    if (!head) {
      heads.set(one.model, { row, last: row, more: 0 });
      row.hidden = !isShown(one.model, heads.size - 1);
      continue;
    }
    row.hidden = head.row.hidden || !unfolded.has(one.model);
    if (row.closest("tbody") !== head.row.closest("tbody")) continue; // bounds stand apart
    head.last.after(row);
    head.last = row;
    head.more += 1;
  }
  for (const [model, head] of heads) if (head.more) head.row.querySelector("th").append(unfolder(model, head.more));
  for (const group of place("systems").querySelectorAll("tbody.apart")) {
    const rows = [...group.rows].slice(1);
    group.hidden = rows.every((row) => row.hidden);
  }
  const shown = [...heads.values()].filter(({ row }) => !row.hidden).length;
  if (CROWDED) place("fold-note").textContent = `${shown} of ${MODELS.length} models shown, the cheapest first.`;
}

const isShown = (model, rank) =>
  lookedFor ? MODELS[model].name.toLowerCase().includes(lookedFor) : everyModel || rank < FIRST;

function unfolder(model, more) {
  const open = unfolded.has(model);
  const rules = `${more} other rule${more === 1 ? "" : "s"}`;
  const button = html(
    "button",
    { type: "button", class: "fold", "aria-expanded": String(open), "aria-label": `${rules} of ${MODELS[model].name}` },
    open ? "fold" : `+${more}`,
  );
  button.addEventListener("click", () => {
    if (!unfolded.delete(model)) unfolded.add(model);
    showFolded();
    [...place("systems").querySelectorAll(".fold")].find((one) => one.ariaLabel === button.ariaLabel)?.focus();
  });
  return button;
}

function showFolded() {
  showSystems();
  foldSystems();
}

/** A filter, and a button for all, where there are many models. */
function buildFilter() {
  if (!CROWDED) return;
  const box = html("input", { type: "search", "aria-label": "find a model", placeholder: "find a model" });
  box.addEventListener("input", () => {
    lookedFor = box.value.trim().toLowerCase();
    showFolded();
  });
  const all = html("button", { type: "button", class: "button quiet" }, `Show all ${MODELS.length}`);
  all.addEventListener("click", () => {
    everyModel = !everyModel;
    all.textContent = everyModel ? `Show the first ${FIRST}` : `Show all ${MODELS.length}`;
    showFolded();
  });
  place("filter").replaceChildren(box, all, html("span", { id: "fold-note", class: "muted", role: "status" }));
}

const SHORT = 15; // rows that a long table shows at first

/** The first rows of a long table, and a button for the others. */
function shorten(host) {
  const rows = [...host.querySelectorAll("tbody tr, p")].slice(SHORT);
  if (rows.length < 6) return;
  const button = html("button", { type: "button", class: "button quiet fold-all" }, `Show ${rows.length} more`);
  const fold = (folded) => rows.forEach((row) => (row.hidden = folded));
  button.addEventListener("click", () => {
    fold(false);
    button.remove();
  });
  addEventListener("beforeprint", () => button.isConnected && button.click());
  fold(true);
  host.after(button);
}

/** Charts show the cheapest few of many models, until the reader adds others. */
function chooseFew() {
  if (MODELS.length <= LOOKS) return;
  const shown = modelsByCost().filter((i) => MODELS[i].hull).slice(0, CHOSEN);
  range(MODELS.length).filter((i) => !shown.includes(i)).forEach((i) => hidden.add(i));
}

/** Room for the verdict of changed stakes, before there is one: nothing jumps at the first touch. */
function reserveRoom() {
  const card = place("verdict-title").parentNode;
  const now = copyOf(state);
  const step = 0.01 * largest(numbers(now.costs).flat(2));
  const raised = (costs) => costs.map((row, k) => row.map((cost, d) => (k + d || Array.isArray(cost) ? cost : cost + step)));
  const nearly = (cost) => (Array.isArray(cost) ? cost.map(nearly) : 1.001 * cost);
  card.style.minHeight = place("flips").style.minHeight = "";
  const stack = card.querySelector(".stack");
  stack.style.minHeight = "";
  const heights = [{ costs: nearly(now.costs) }, { costs: raised(now.costs) }, now].map((given) => {
    setStakes(given);
    showVerdict();
    showTotal();
    if (RULED) showRule();
    return [stack.offsetHeight, card.offsetHeight];
  });
  const [sentences, all] = [0, 1].map((i) => Math.max(...heights.map((height) => height[i])));
  const slack = 2 * parseFloat(getComputedStyle(stack).lineHeight); // for words that are a little longer
  stack.style.minHeight = `${sentences + slack}px`;
  card.style.minHeight = `${all + slack}px`;
}

/** The verdict and the flips keep their heights: they may grow, but what is below never comes up. */
function holdRoom() {
  for (const part of [place("verdict-title").parentNode, place("flips")])
    part.style.minHeight = `${part.offsetHeight}px`;
}

const PAPER = { width: 660, letters: 0.88 }; // pixels of a narrow sheet, and how much smaller its letters are

/** Wide tables become small enough for paper: no column is lost. */
function fitPaper() {
  for (const table of document.querySelectorAll(".scroll > table")) {
    table.style.minWidth = 0; // as wide as its cells ask for
    const size = Math.min(1, PAPER.width / (PAPER.letters * table.scrollWidth));
    table.style.minWidth = "";
    table.style.setProperty("--shrink", size.toFixed(3));
  }
}

// What is in view comes first -----------------------------------------------------------------------

let waiting = []; // what is still to be shown after a change

/** Whether a part of the page is in view, or nearly. */
function isInView(id) {
  const box = place(id).getBoundingClientRect();
  return box.bottom > -100 && box.top < innerHeight + 100;
}

/** Show what is in view now, and the rest in idle moments, one part at a time. */
function showSoon(parts) {
  const [now, later] = [true, false].map((wanted) => parts.filter(([id]) => isInView(id) === wanted));
  const begun = waiting.length > 0;
  now.forEach(([, show]) => show());
  waiting = later;
  if (!begun && later.length) setTimeout(showNext);
}

function showNext() {
  waiting.shift()?.[1]();
  if (waiting.length) setTimeout(showNext);
}

/** Show at once what is still to be shown. */
function finishShowing() {
  waiting.splice(0).forEach(([, show]) => show());
}
