// Folding: many systems show the best rule of each model, the first ten models, and what is looked for.

const FIRST_MODELS = 10; // models that a long table shows at first
const CHARTED_MODELS = 5; // models that the charts show at first where there are many
const MANY_SYSTEMS = SYSTEMS.filter((system) => !system.added).length > 8;
const CROWDED = MODELS.length > FIRST_MODELS;
const unfolded = new Set(); // models whose rules are all shown
let allModelsShown = false;
let searchText = "";

/** Models in the order of what their best system cost in the report. */
function modelsByCost() {
  const least = MODELS.map((_, i) => {
    const costs = SYSTEMS.filter((system) => system.model === i && system.candidate).map((system) => system.reported[0]);
    return Math.min(Infinity, ...costs.filter(Number.isFinite));
  });
  return range(MODELS.length).sort((a, b) => least[a] - least[b] || a - b || 0);
}

/**
 * The systems that the table shows, and buttons that unfold the other rules of a model: of each
 * model the best rule, below it the others where they are unfolded. Bounds stand last.
 */
function foldedSystems(ranked) {
  const buttons = new Map();
  if (!MANY_SYSTEMS) return { shown: ranked, buttons };
  const { bounds } = result;
  const groups = new Map(); // systems of each model, the cheapest first
  for (const system of ranked) groups.set(system.model, [...(groups.get(system.model) || []), system]);
  const listedModels = [...groups.keys()].filter((model, rank) => isListed(model, rank));
  const systems = listedModels.flatMap((model) => {
    const [head, ...others] = groups.get(model);
    const below = others.filter((system) => bounds.includes(system) === bounds.includes(head));
    if (below.length) buttons.set(head, [unfoldButton(model, below.length)]);
    return unfolded.has(model) ? [head, ...others] : [head];
  });
  if (CROWDED) place("fold-note").textContent = `${listedModels.length} of ${MODELS.length} models shown, the cheapest first.`;
  const isBound = (system) => bounds.includes(system);
  return { shown: [...systems.filter((system) => !isBound(system)), ...systems.filter(isBound)], buttons };
}

const isListed = (model, rank) =>
  searchText ? MODELS[model].name.toLowerCase().includes(searchText) : allModelsShown || rank < FIRST_MODELS;

function unfoldButton(model, more) {
  const open = unfolded.has(model);
  const rules = `${more} other rule${more === 1 ? "" : "s"}`;
  const button = html(
    "button",
    { type: "button", class: "fold", "aria-expanded": String(open), "aria-label": `${rules} of ${MODELS[model].name}` },
    open ? "fold" : `+${more}`,
  );
  button.addEventListener("click", () => {
    if (!unfolded.delete(model)) unfolded.add(model);
    showSystems();
    [...place("systems").querySelectorAll(".fold")].find((other) => other.ariaLabel === button.ariaLabel)?.focus();
  });
  return button;
}

/** A filter, and a button for all, where there are many models. */
function buildFilter() {
  if (!CROWDED) return;
  const box = html("input", { type: "search", "aria-label": "find a model", placeholder: "find a model" });
  box.addEventListener("input", () => {
    searchText = box.value.trim().toLowerCase();
    showSystems();
  });
  const toggle = html("button", { type: "button", class: "button quiet" }, `Show all ${MODELS.length}`);
  toggle.addEventListener("click", () => {
    allModelsShown = !allModelsShown;
    toggle.textContent = allModelsShown ? `Show the first ${FIRST_MODELS}` : `Show all ${MODELS.length}`;
    showSystems();
  });
  place("filter").replaceChildren(box, toggle, html("span", { id: "fold-note", class: "muted", role: "status" }));
}

const FIRST_ROWS = 15; // rows that a long table shows at first

/** The first rows of a long table, and a button for the others. */
function foldLongTable(host) {
  const rows = [...host.querySelectorAll("tbody tr, p")].slice(FIRST_ROWS);
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
function hideCostlyModels() {
  if (MODELS.length <= LOOKS) return;
  const shown = modelsByCost().filter((i) => MODELS[i].hull || MODELS[i].class_bins).slice(0, CHARTED_MODELS);
  range(MODELS.length).filter((i) => !shown.includes(i)).forEach((i) => hidden.add(i));
}

/** Room for the verdict of changed stakes, before there is one: nothing jumps at the first touch. */
function reserveRoom() {
  const card = place("verdict-title").parentNode;
  const current = copyOf(state);
  const step = 0.01 * largest(numbers(current.costs).flat(2));
  const raised = (costs) => costs.map((row, k) => row.map((cost, d) => (k + d || Array.isArray(cost) ? cost : cost + step)));
  const nearly = (cost) => (Array.isArray(cost) ? cost.map(nearly) : 1.001 * cost);
  card.style.minHeight = place("flips").style.minHeight = "";
  const stack = card.querySelector(".stack");
  stack.style.minHeight = "";
  reserveRuleRoom();
  const heights = [{ costs: nearly(current.costs) }, { costs: raised(current.costs) }, current].map((stakes) => {
    setStakes(stakes);
    showVerdict();
    showTotal();
    if (RULED) showRule();
    return [stack.offsetHeight, card.offsetHeight];
  });
  const [stackHeight, cardHeight] = [0, 1].map((i) => Math.max(...heights.map((height) => height[i])));
  const [stackNow, cardNow] = heights[heights.length - 1];
  const spareLines = innerWidth > 700 ? 1 : 2;
  const spare = spareLines * parseFloat(getComputedStyle(stack).lineHeight); // for words that are a little longer
  const left = Math.floor(innerHeight - card.getBoundingClientRect().top - scrollY - cardNow);
  const growth = left < 0 ? Infinity : left; // what fits on the first screen stays on it
  stack.style.minHeight = `${Math.max(stackHeight, stackNow + Math.min(growth, stackHeight + spare - stackNow))}px`;
  card.style.minHeight = `${Math.max(cardHeight, cardNow + Math.min(growth, cardHeight + spare - cardNow))}px`;
}

/** Room for the longest sentence about a rule of the report. */
function reserveRuleRoom() {
  const host = place("rule-meaning");
  host.style.minHeight = "";
  const heights = SYSTEMS.filter((system) => !system.added).map((system) => {
    host.textContent = ruleMeaning(system);
    return host.offsetHeight;
  });
  host.style.minHeight = `${Math.max(0, ...heights)}px`;
}

/** The verdict and the flips keep their heights: they may grow, but what is below never comes up. */
function keepHeights() {
  const parts = [place("verdict-title").parentNode, place("flips")];
  const heights = parts.map((part) => part.offsetHeight); // all before the first is written
  parts.forEach((part, i) => (part.style.minHeight = `${heights[i]}px`));
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
let pause = null; // the timer of the next of these
const QUIET = 80; // milliseconds without a change, after which parts out of view follow

/** Whether a part of the page is in view, or nearly. */
function isInView(id) {
  const node = place(id);
  const box = node.getBoundingClientRect();
  return node.checkVisibility() && box.bottom > -100 && box.top < innerHeight + 100;
}

const ALWAYS_SHOWN = 3; // the first parts: inputs, verdict and facts

/**
 * Show what is in view now, and the rest once the stakes rest, one part at a time. What is in view
 * is asked before anything is written, so that the browser lays the page out once.
 */
function showSoon(parts) {
  const now = new Set(parts.filter(([id], i) => i < ALWAYS_SHOWN || isInView(id)));
  keepHeights();
  now.forEach(([, show]) => show());
  waiting = parts.filter((part) => !now.has(part));
  clearTimeout(pause);
  pause = setTimeout(showNext, QUIET);
}

function showNext() {
  waiting.shift()?.[1]();
  if (waiting.length) pause = setTimeout(showNext);
}

/** Show at once what is still to be shown. */
function finishShowing() {
  waiting.splice(0).forEach(([, show]) => show());
}
