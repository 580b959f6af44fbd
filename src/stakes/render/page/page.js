// The page: builds the inputs, shows every section, and updates them when the stakes change.

/** Parts that depend on the stakes: the id of an element, and the function that updates it. */
const PARTS = [
  ["controls", showInputs],
  ["verdict-title", showVerdict],
  ["facts", showTotal],
  ["nearest-flip", showFlipsAge],
  ...(RULED ? [["rule-figure", showRule]] : []),
  ["systems", showSystems],
  ["money", showMoney],
  ...(EXPLORABLE.length ? [["explorer", showExplorer]] : []),
  ...(DATA.disagreement ? [["disagreement", showDisagreement]] : []),
  ...(TWO && CURVED ? [["curves-section", showCurves]] : []),
  ...(BINNED_CLASSES ? [["classes-section", showClassReliability]] : []),
  ...(TWO && CURVED && !TERMS ? [["implied", showImplied]] : []),
  ["prior-chart", showRegions],
  ["margins", showMargins],
  ["flips", showFlips],
];

/** Update every part at once. */
function showAll() {
  waiting = [];
  rememberStakes();
  PARTS.forEach(([, show]) => show());
}

let frameRequested = false;

/** New stakes from an input: compute at once, update the page with the next animation frame. */
function change(changes) {
  setStakes(changes);
  if (frameRequested) return;
  frameRequested = true;
  requestAnimationFrame(() => {
    frameRequested = false;
    showSoon(PARTS);
    rememberStakes();
  });
}

/** New stakes, with every part updated at once. */
function setNow(changes) {
  setStakes(changes);
  showAll();
}

/** Lay out and draw everything again, for another width. */
function redraw() {
  forgetWidths();
  reserveRoom();
  searchedKey = null; // a search that is running begins again: what it has shown lost its room
  showAll();
}

/** Unhide the sections that this report has data for. */
function showNeededSections() {
  const needed = {
    "rule-figure": RULED,
    "explorer-section": EXPLORABLE.length,
    "quality-section": MODELS.some((model) => model.table || model.losses.length),
    "net-benefit-figure": PROBABLE,
    "reliability-figure": PROBABLE,
    "curves-section": TWO && CURVED,
    "implied-section": TWO && CURVED && !TERMS,
    "cost-curve-figure": !TERMS || STAKED,
    "cost-curve-option": BINARY && !TERMS && PROBABLE,
    "cost-curve-binary": BINARY && !TERMS,
    "cost-curve-other": !BINARY && !TERMS,
    "cost-curve-cases": TERMS,
    "ratio-figure": BINARY && !FACTORS,
    "proportion-figure": BINARY && !FACTORS,
    "disagreement-section": DATA.disagreement,
    "classes-section": BINNED_CLASSES,
    "slices-section": DATA.slices.length,
    "binned-note": MODELS.some((model) => model.binned),
    "whole-option": priorReach() < 1,
  };
  for (const [id, wanted] of Object.entries(needed)) byId(id).hidden = !wanted;
}

/** Links to the sections of the appendix. */
function buildContents() {
  const parts = [...document.querySelectorAll("#appendix ~ section:not([hidden])")];
  const links = parts.map((part, i) => {
    part.id ||= `part-${i}`;
    return html("li", {}, html("a", { href: `#${part.id}` }, part.querySelector("h2").textContent));
  });
  byId("contents").replaceChildren(...links);
}

/** Rows of a table that the page has as text only. */
const writtenRows = (section) => [...section.querySelector("table").rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/[\u2068\u2069]/g, "").trim()));

/** Connect the buttons for downloads, which wait for unfinished work. */
function listenToDownloads() {
  for (const button of document.querySelectorAll("[data-csv]")) {
    button.setAttribute("aria-label", `CSV of “${button.parentNode.querySelector("h2, h3").textContent}”`);
    const { csv } = button.dataset;
    button.addEventListener("click", () => {
      finishShowing();
      finished.then(() => downloadCsv(csv, withStakes(csv, savedRows(csv) ?? writtenRows(button.closest("section")))));
    });
  }
  for (const button of document.querySelectorAll("[data-svg]")) {
    const name = button.dataset.svg;
    button.setAttribute("aria-label", `SVG of “${button.parentNode.querySelector("b").textContent}”`);
    button.addEventListener("click", () => {
      finishShowing();
      finished.then(() => downloadSvg(name, byId(name).querySelector("svg")));
    });
  }
}

/** Connect the buttons, the window and printing. */
function listen() {
  const on = (id, event, handler) => byId(id).addEventListener(event, handler);
  on("reset", "click", () => {
    DATA.volume = REPORTED_VOLUME;
    setNow(copyOf(REPORTED));
  });
  on("toml", "click", () => download("stakes.toml", stakesToml(), "application/toml"));
  on("driven", "change", showCostCurves);
  on("whole", "change", showAll);
  listenToDownloads();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) redraw();
    width = innerWidth;
  });
  listenToPrinting(redraw);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });
}

/** Build the page, apply the stakes in the address, and show everything. */
function startPage() {
  setStakes({});
  reportedChoice = choiceNow();
  document.body.append(tip);
  document.body.classList.add("live", GRIDDED ? "many" : "few");
  (GRIDDED ? buildGrid : buildSliders)(byId("controls"), change);
  showNeededSections();
  buildKey();
  byId("following").prepend(followingText());
  buildPicker();
  buildClassCosts();
  buildClassPicker();
  buildFilter();
  hideCostlyModels();
  if (EXPLORABLE.length) buildExplorer();
  buildReadings();
  buildQuality();
  if (DATA.slices.length) buildSlices();
  ["slices", "quality", "losses"].map(byId).forEach(foldLongTable);
  buildSharing(change);
  listen();
  reserveRoom();
  readAddress();
  showAll();
  buildContents();
  // what tests, and readers at the console, may use
  window.stakesPage = Object.freeze({
    set: setNow,
    state: () => copyOf(state),
    reported: () => copyOf(REPORTED),
    result: () => result,
    finished: () => {
      finishShowing();
      return finished;
    },
    tables: () => {
      finishShowing();
      return Object.fromEntries(Object.keys(saved).map((name) => [name, savedRows(name)]));
    },
    read: readChart,
    bands: readBands,
    whiskers: readWhiskers,
    cases: (id) => drawn[id].cases,
    dots: (id) => drawn[id].dots.map((dot) => [dot.x, dot.y]),
    write: { short, plain, smallAmount, fixed, measured, measuredColumn, proportionText, probabilityText, percent, wholePercent, partText, chanceText },
  });
}

/** Unhide the sections that a page without sliders has data for. */
function showStillSections() {
  const needed = {
    "explorer-section": EXPLORABLE.length,
    "disagreement-section": DATA.disagreement,
    "quality-section": MODELS.some((model) => model.table || model.losses.length),
    "slices-section": DATA.slices.length,
  };
  for (const [id, wanted] of Object.entries(needed)) if (byId(id)) byId(id).hidden = !wanted;
}

/** Update what depends on the number of cases, the only number that can be typed into such a page. */
function showStillParts() {
  byId("facts").replaceChildren(...factsOf(result).map(factNode));
  showTotal();
  showSystems();
  showMoney();
  if (DATA.disagreement) showDisagreement();
  if (EXPLORABLE.length) showExplorer();
}

/** Reserve the room that a number of cases will need: a figure and a column. */
function reserveStillRoom() {
  HELD.forEach((part) => (part.style.minHeight = ""));
  if (DATA.volume) return;
  DATA.volume = TRIAL_VOLUME;
  showStillParts();
  hold(HELD, heightsOf(HELD));
  DATA.volume = null;
}

/** Start a page without sliders: the stakes stay, but thresholds and a number of cases can be tried. */
function startStillPage() {
  setStakes({});
  document.body.append(tip);
  document.body.classList.add("live");
  showStillSections();
  buildKey();
  buildPicker();
  buildClassCosts();
  buildFilter();
  if (EXPLORABLE.length) buildExplorer();
  buildQuality();
  if (DATA.slices.length) buildSlices();
  ["slices", "quality", "losses"].map(byId).forEach(foldLongTable);
  buildSharing(() => {
    showStillParts();
    rememberStakes();
  });
  readAddress();
  listenToDownloads();
  reserveStillRoom();
  showStillParts();
  if (byId("contents")) buildContents();
  const redrawStill = () => {
    forgetWidths();
    reserveStillRoom();
    showStillParts();
  };
  addEventListener("resize", redrawStill);
  listenToPrinting(redrawStill);
  window.stakesPage = Object.freeze({
    finished: () => finished,
    result: () => result,
    tables: () => Object.fromEntries(Object.keys(saved).map((name) => [name, savedRows(name)])),
  });
}

(byId("controls") ? startPage : startStillPage)();
