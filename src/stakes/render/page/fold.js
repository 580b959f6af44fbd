// Folding: what a long page leaves out until it is asked for, and the heights that it reserves.

const FIRST_MODELS = 10; // models that a long table shows initially
const CHARTED_MODELS = 5; // models that the charts show initially if there are many
const MANY_SYSTEMS = SYSTEMS.filter((system) => !system.added).length > 8;
const CROWDED = MODELS.length > FIRST_MODELS;
const unfolded = new Set(); // models whose rules are all shown
let allModelsShown = false;
let searchText = "";

/** Models sorted by the cost of their best system in the report. */
function modelsByCost() {
  const least = MODELS.map((_, i) => {
    const costs = SYSTEMS.filter((system) => system.model === i && system.candidate).map((system) => system.reported[0]);
    return Math.min(Infinity, ...costs.filter(Number.isFinite));
  });
  return range(MODELS.length).sort((a, b) => least[a] - least[b] || a - b || 0);
}

/**
 * The systems that the table shows, and buttons that unfold the other rules of a model. Each model
 * has its best rule and, if unfolded, the others below it. Bounds come last.
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
  if (CROWDED) byId("fold-note").textContent = `${listedModels.length} of ${MODELS.length} models shown, the cheapest first.`;
  const isBound = (system) => bounds.includes(system);
  return { shown: [...systems.filter((system) => !isBound(system)), ...systems.filter(isBound)], buttons };
}

/** Whether a model is in the table: it matches the search, or is among the first. */
const isListed = (model, rank) =>
  searchText ? MODELS[model].name.toLowerCase().includes(searchText) : allModelsShown || rank < FIRST_MODELS;

/** The table after the reader asked for more or fewer rows: no height is kept. */
function showOtherSystems() {
  byId("systems").style.minHeight = "";
  showSystems();
}

/** A button that shows or hides the other rules of a model. */
function unfoldButton(model, more) {
  const open = unfolded.has(model);
  const rules = `${more} other rule${more === 1 ? "" : "s"}`;
  const button = html(
    "button",
    { type: "button", class: "fold", "aria-expanded": String(open), title: `${rules} of ${MODELS[model].name}`, "aria-label": `${rules} of ${MODELS[model].name}` },
    open ? "fold" : `+${more}`,
  );
  button.addEventListener("click", () => {
    if (!unfolded.delete(model)) unfolded.add(model);
    showOtherSystems();
    [...byId("systems").querySelectorAll(".fold")].find((other) => other.ariaLabel === button.ariaLabel)?.focus();
  });
  return button;
}

/** A search field and a button that shows all models, if there are many. */
function buildFilter() {
  if (!CROWDED) return;
  const box = html("input", { type: "search", "aria-label": "find a model", placeholder: "find a model" });
  box.addEventListener("input", () => {
    searchText = box.value.trim().toLowerCase();
    showOtherSystems();
  });
  const toggle = html("button", { type: "button", class: "button quiet" }, `Show all ${MODELS.length}`);
  toggle.addEventListener("click", () => {
    allModelsShown = !allModelsShown;
    toggle.textContent = allModelsShown ? `Show the first ${FIRST_MODELS}` : `Show all ${MODELS.length}`;
    showOtherSystems();
  });
  byId("filter").replaceChildren(box, toggle, html("span", { id: "fold-note", class: "muted", role: "status" }));
}

const FIRST_ROWS = 15; // rows that a long table shows initially

/** Hide all but the first rows of a long table behind a button; paper says how many it leaves out. */
function foldLongTable(host) {
  const rows = [...host.querySelectorAll("tbody tr")].slice(FIRST_ROWS);
  if (rows.length < 6) return;
  const button = html("button", { type: "button", class: "button quiet fold-all" }, `Show ${rows.length} more`);
  const note = html("p", { class: "hint on-paper" }, `${rows.length} more are on the page and in its CSV.`);
  button.addEventListener("click", () => {
    rows.forEach((row) => (row.hidden = false));
    button.remove();
    note.remove();
  });
  rows.forEach((row) => (row.hidden = true));
  host.after(button, note);
}

/** With many models, charts show the few cheapest until the reader adds others. */
function hideCostlyModels() {
  if (MODELS.length <= LOOKS) return;
  const shown = modelsByCost().filter((i) => MODELS[i].hull || MODELS[i].class_bins).slice(0, CHARTED_MODELS);
  range(MODELS.length).filter((i) => !shown.includes(i)).forEach((i) => hidden.add(i));
}

// What the verdict of the report says below its sentences, if there is room that a change will need
const MOVE = "Move any number below: these lines ";
const INVITED = [
  `${MOVE}then say what the verdict was and what it is, how sure that is, and what it costs.`,
  " Reset brings the report back.",
  " Copy link keeps what you set.",
  " Save as TOML writes it for the next evaluation.",
  " The figures, the rule and the nearest change in this box follow, too.",
  " So do the tables and charts below, unless they say that they stay as reported.",
];
const INVITATIONS = [
  ...INVITED.map((_, i) => INVITED.slice(0, INVITED.length - i).join("")),
  `${MOVE}then say what changes, and how sure that is.`,
  `${MOVE}follow.`,
];

/** The same outcome as if it deployed a model, which takes more words and figures than to deploy none. */
function asIfDeployed({ inference, ...outcome }) {
  const unsure = ([value, low, high]) => [Math.abs(value), -Math.abs(low), Math.abs(high)];
  const saving = () => unsure(inference.saving());
  return { ...outcome, namesModel: true, verdict: { kind: "try", doubt: "not yet shown to pay by these cases" }, inference: inference && { ...inference, saving } };
}

const TRIAL_VOLUME = 12345678; // cases: long totals need the most room

/**
 * Reserve the heights of the verdict and of all else that follows the stakes, measured on trials of
 * two changes and of a number of cases, so that nothing jumps when the reader first moves a slider. In the verdict an invitation
 * fills the room until then. Flips and zones, which take a search, reserve theirs when it ends.
 */
function reserveRoom() {
  const card = byId("verdict-title").parentNode;
  const [stack, invitation] = [card.querySelector(".stack"), byId("invitation")];
  const current = copyOf(state);
  const step = 0.01 * largest(numbers(current.costs).flat(2));
  const more = (cost) => (Array.isArray(cost) ? [more(cost[0]), ...cost.slice(1)] : cost + step);
  const raised = (costs) => costs.map((row, k) => row.map((cost, d) => (k + d ? cost : more(cost))));
  const nearlySame = (cost) => (Array.isArray(cost) ? cost.map(nearlySame) : 1.001 * cost);
  for (const part of [card, stack, ...HELD]) part.style.minHeight = "";
  invitation.textContent = "";
  reminder = null;
  reserveRuleRoom();
  const volume = DATA.volume;
  const trials = [{ costs: nearlySame(current.costs) }, { costs: raised(current.costs) }, current, current].map((stakes, i) => {
    DATA.volume = volume ?? (i < 3 ? TRIAL_VOLUME : volume); // a number of cases adds a figure and a column
    setStakes(stakes);
    if (result.changed && !result.namesModel) result = asIfDeployed(result);
    PARTS.filter(([id]) => id !== "controls" && id !== "flips").forEach(([, show]) => show());
    const sentences = byId("verdict-changed");
    const aroundThem = card.offsetHeight - stack.offsetHeight;
    return { sentences: sentences.offsetHeight, length: sentences.textContent.length, aroundThem, heights: heightsOf(HELD) };
  });
  const reported = byId("verdict-reported").offsetHeight;
  const changed = Math.max(...trials.map(({ sentences }) => sentences));
  const aroundThem = Math.max(...trials.map((trial) => trial.aroundThem));
  // other stakes may need slightly longer sentences
  const spare = parseFloat(getComputedStyle(stack).lineHeight);
  const below = Math.floor(innerHeight - card.getBoundingClientRect().top - scrollY - aroundThem - reported);
  const growth = below < 0 ? Infinity : below; // the card stays on the first screen if it fits there now
  const height = Math.max(reported, changed, Math.min(changed + spare, reported + growth));
  stack.style.minHeight = `${height}px`;
  card.style.minHeight = `${height + aroundThem}px`;
  hold(HELD, HELD.map((_, i) => Math.max(...trials.map(({ heights }) => heights[i]))));
  // the figures beside the sentences may need more room than these
  longestThatFits(invitation, INVITATIONS, byId("verdict-reported"), stack.offsetHeight);
  reserveReminder(Math.max(...trials.map(({ length }) => length)), height - changed - spare);
}

/** Write the first of some texts that keeps an element within a height; none if all are too long. */
function longestThatFits(node, texts, part, height) {
  for (const text of [...texts, ""]) {
    node.textContent = text;
    if (part.offsetHeight <= height) return text;
  }
  return "";
}

let reminder = null; // what the verdict under changed stakes says of the report, if there is room

/** Choose how much of the verdict of the report fits below the one under changed stakes. */
function reserveReminder(length, height) {
  const sentences = [...byId("verdict-reported").querySelectorAll("p:not([id])")].map((node) => node.textContent);
  const texts = sentences.map((_, i) => `As reported: ${sentences.slice(0, sentences.length - i).join(" ")}`);
  const trial = html("p", { class: "reminder" });
  byId("verdict-changed").replaceChildren(html("p", {}), trial); // hidden, but laid out
  reminder = { length, text: longestThatFits(trial, texts, trial, height - 12) };
  byId("verdict-changed").replaceChildren();
}

/** The reminder as a paragraph, unless the sentences above it are longer than usual. */
function reminderOf(paragraphs) {
  const length = paragraphs.join("").length;
  return reminder && reminder.text && length <= reminder.length + 40 ? [html("p", { class: "reminder" }, reminder.text)] : [];
}

/** Reserve the height of the longest explanation of a rule, but at most one line more than now. */
function reserveRuleRoom() {
  const host = byId("rule-meaning");
  host.style.minHeight = "";
  const heightOf = (system) => {
    host.textContent = ruleMeaning(system);
    return host.offsetHeight;
  };
  const longest = Math.max(0, ...SYSTEMS.filter((system) => !system.added).map(heightOf));
  const line = parseFloat(getComputedStyle(host).lineHeight);
  host.style.minHeight = `${Math.min(longest, heightOf(result.best) + line)}px`;
}

const HELD = [...document.querySelectorAll(".held")]; // what follows the stakes, and may need more lines or fewer

/** Heights of elements, not in whole pixels: a shift of half a pixel repaints all below. */
const heightsOf = (nodes) => nodes.map((node) => node.getBoundingClientRect().height);

/** Let elements not become lower than these heights. */
const hold = (nodes, heights) => nodes.forEach((node, i) => (node.style.minHeight = `${heights[i]}px`));

/** Keep the heights of what follows the stakes: it may grow, but never shrinks under the reader. */
function keepHeights() {
  const parts = [byId("verdict-title").parentNode, ...HELD];
  hold(parts, heightsOf(parts)); // all are read before any is written: one layout, not one for each
}

/** Show some content in an element; until the first change with room for what may follow it. */
function showWithRoom(node, content, roomFor) {
  if (!result.changed) {
    node.replaceChildren(...roomFor);
    hold([node], heightsOf([node]));
  }
  node.replaceChildren(...content);
}
