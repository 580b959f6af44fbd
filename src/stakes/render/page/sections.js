// Sections: the verdict and the systems. `saved` has the rows of each download, or a function that
// computes them on demand.

const saved = {};
const CHANCE_HEAD = "chance of being cheapest";
// whether chances are shown: a single candidate is always the cheapest
const COMPARED = SYSTEMS.filter((system) => system.candidate && !system.added).length > 1;
const THRESHOLDED = BINARY && SYSTEMS.some((system) => Number.isFinite(system.threshold));
const TONED = decisions.length <= TONES; // each decision has a colour of its own
const savedRows = (name) => (typeof saved[name] === "function" ? saved[name]() : saved[name]);

// Verdict -----------------------------------------------------------------------------------------

/** The rule of a system in words, with its cuts if it has some. */
function ruleText(system) {
  if (system.rule === DATA.as_decided) return "its own decisions";
  const cuts = cutsInWords(system);
  return cuts ? `${system.rule} (${cuts})` : system.rule;
}

/** Whether the decisions of a system depend on the stakes; a model that decides by itself has none. */
const dependsOnStakes = (system) => system.rule !== DATA.as_decided;

const REPORTED_TAG = byId("verdict-tag").textContent;

/** Show the verdict with its key figures: that of the report, or the one under changed stakes. */
function showVerdict() {
  const { best, unaided, namesModel, changed } = result;
  document.body.classList.toggle("changed", changed);
  byId("verdict-reported").hidden = changed;
  byId("verdict-changed").hidden = !changed;
  byId("verdict-tag").textContent = changed ? `for your stakes${clarityOf(result)}` : REPORTED_TAG;
  byId("verdict-tag").title = byId("verdict-tag").textContent;
  const paragraphs = changed ? changedParagraphs(result) : [];
  byId("verdict-changed").replaceChildren(...paragraphs.map((text) => html("p", {}, tied(text))), ...(changed ? reminderOf(paragraphs) : []));
  byId("facts").replaceChildren(...factsOf(result).map(factNode));
  byId("rule-meaning").textContent = ruleMeaning(systemInUse(result));
  const [name, cost] = namesModel
    ? [best.name, expectedOf(result)]
    : result.verdict.keep
      ? [result.verdict.keep, incumbentOf(result).cost]
      : [unaided.name ?? "not known", [unaided.cost]];
  const amount = Number.isNaN(cost[0]) ? "" : amountOf(cost);
  byId("now").replaceChildren(
    html("span", {}, "cheapest now"),
    html("b", { title: name }, name),
    html("span", { class: "now-cost", title: amount }, amount),
    howSure(result),
  );
}

/** The level and the bounds of an interval, or nothing where there is none. */
const noteOf = (interval) => (Number.isFinite(interval[1]) ? `${percent(DATA.level)}: ${intervalText(interval)}` : "");

/** The interval of the cost of the recommendation and how clear it is, in as few words as a box beside the sliders has room for. */
function howSure(outcome) {
  const { keep } = outcome.verdict;
  if (!outcome.namesModel) return html("small", {}, keep ? `keep ${keep}` : "deploy none of the models");
  const interval = expectedOf(outcome);
  const bounds = noteOf(interval) || "no interval";
  const clarity = outcome.changed ? clarityOf(outcome) : REPORTED_TAG.replace(/^as reported/, "");
  const { size, of } = numberOfContenders(outcome);
  const rivals = size > 1 ? [`: ${size} of ${of}`, html("span", { class: "off-phone" }, " may be the cheapest")] : [];
  return html("small", {}, tied(bounds + clarity), rivals);
}

/** How many systems cannot be told from the cheapest, of how many; NaN if that is not known under these stakes. */
function numberOfContenders({ changed, inference, systems }) {
  const names = changed ? inference?.contenders() : DATA.contenders;
  return { size: names ? names.length : NaN, of: systems.filter((system) => system.candidate).length };
}

/** How clear the choice of the model, that of its rule and its saving are under changed stakes, if known. */
function clarityOf({ inference, verdict }) {
  if (verdict.kind === "none") return verdict.keep ? ` · keep ${verdict.keep}` : " · deploy none";
  if (verdict.doubt) return ` · try: ${verdict.doubt}`;
  if (!COMPARED || !inference) return "";
  const names = inference.contenders().filter((name, i, all) => !all.slice(0, i).some((other) => isSameChoice(name, other)));
  const models = new Set(names.map((name) => SYSTEMS.find((system) => system.name === name)?.model ?? name));
  if (models.size > 1) return " · a close call";
  const clear = MODELS.length > 1 ? " · a clear model, " : " · ";
  return names.length === 1 ? " · a clear call" : `${clear}its rule is close`;
}

/** Expected cost and saving of the best system, with intervals. */
function expectedOf({ changed, inference, best }) {
  if (!changed) return numbers(DATA.expected);
  // what always decides the same costs what that decision costs, and no luck was in the choice
  return inference && !inference.isConstant(best.name) ? inference.expected() : [best.cost, NaN, NaN];
}
const savingOf = ({ changed, inference, best, unaided }) =>
  !changed ? numbers(DATA.saving) : inference ? inference.saving() : [unaided.cost - best.cost, NaN, NaN];

/** What the incumbent costs, and what the best system saves against it; of an earlier report as reported. */
function incumbentOf({ changed, inference, best, systems }) {
  const { name, paired, cost, saving } = DATA.baseline;
  if (!changed || !paired) return { cost: numbers(cost), saving: numbers(saving) };
  const costNow = systems.find((system) => system.name === name).cost;
  if (!inference) return { cost: [costNow, NaN, NaN], saving: [costNow - best.cost, NaN, NaN] };
  return { cost: inference.cost(name), saving: best.name === name ? [0, NaN, NaN] : inference.against(name) };
}

/** The key figures beside the verdict. */
function factsOf(outcome) {
  const { unaided, namesModel, verdict } = outcome;
  const { size, of: rivals } = numberOfContenders(outcome);
  const measure = (name, value, interval) => {
    const hasBounds = Number.isFinite(value) && Number.isFinite(interval[1]);
    const note = hasBounds ? noteOf(interval) : "";
    return { name: inUnit(name), value, note, text: hasBounds ? measured(interval)[0] : costText(value) };
  };
  const costLabel = namesModel ? "cost per case" : "cost per case of the best model";
  const contenders = {
    name: "may be the cheapest",
    value: size,
    text: Number.isNaN(size) ? "–" : `${size} of ${rivals}`,
    note: Number.isNaN(size) ? "not known under your stakes" : `system${rivals === 1 ? "" : "s"} that the data cannot tell from the cheapest`,
  };
  if (verdict.keep) {
    const incumbent = incumbentOf(outcome);
    const kept = measure(`cost of ${verdict.keep}`, incumbent.cost[0], incumbent.cost);
    const isBest = outcome.best.name === verdict.keep || (outcome.changed && !DATA.baseline.paired);
    return isBest ? [kept] : [kept, measure(`${outcome.best.name} saves`, incumbent.saving[0], incumbent.saving)];
  }
  const expected = expectedOf(outcome);
  const saving = savingOf(outcome);
  return [
    ...(namesModel || !unaided.name ? [] : [measure(`cost of ${unaided.name}`, unaided.cost, [unaided.cost, NaN, NaN])]),
    measure(costLabel, expected[0], expected),
    ...(namesModel && unaided.name ? [savedShare(measure(`saved against ${unaided.name}`, saving[0], saving), saving, unaided)] : []),
    ...(namesModel && rivals > 1 ? [contenders] : []),
  ];
}

/** A saving as a share of the cost without a model, if it lies between 0 and 1. */
function savedShare(fact, [saving], { name, cost }) {
  if (!(saving > 0 && saving <= cost)) return fact;
  const amount = `${withUnit(fact.text)} per case`;
  return { ...fact, name: `saved against ${name}`, value: saving / cost, formatExact: exactPercent, text: wholePercent(saving / cost), note: fact.note ? `${amount}\n${fact.note}` : amount };
}

/** Explanation of the rule of a system; empty for a model that decides by itself. */
const ruleMeaning = (system) => DATA.rules[system.rule] || "";

/** A key figure as an element. */
const factNode = ({ name, value, note, text, formatExact = exact }) =>
  html(
    "div",
    { class: "fact" },
    html("span", { class: "fact-name" }, name),
    withTip(html("b", {}, tied(text)), formatExact(value), []),
    html("small", {}, tied(note)),
  );

// Systems -----------------------------------------------------------------------------------------

/** References below the systems: options without a model, and perfect decisions if known. */
function referencesOf({ noModel, naive, unaided, cheapestConstant, perfect }) {
  const withoutInterval = (name, cost, normalized) => ({
    name,
    cost,
    normalized,
    reported: [cost, NaN, NaN],
    reportedShare: [normalized, NaN, NaN],
  });
  const [whole, none] = naive.cost === perfect ? [NaN, NaN] : [1, 0];
  return [
    ...(noModel ? [noModel] : []),
    ...(unaided.name && keepsLimits(naive.decision) ? [withoutInterval(`always ${decisions[naive.decision]}`, naive.cost, whole)] : []),
    ...(keepsLimits(cheapestConstant.decision)
      ? []
      : [withoutInterval(`always ${decisions[cheapestConstant.decision]} (breaks a limit)`, cheapestConstant.cost, whole)]),
    ...(Number.isNaN(number(DATA.perfect)) ? [] : [withoutInterval("perfect decisions", perfect, Number.isNaN(perfect) ? NaN : none)]),
  ];
}

/** Cost of a system with its interval; NaN bounds if it is unknown under these stakes. */
function intervalOf(system, { changed, inference }) {
  if (!changed) return system.added ? [system.cost, NaN, NaN] : system.reported;
  return inference && "model" in system && system.candidate ? inference.cost(system.name) : [system.cost, NaN, NaN];
}

/** Columns of text: costs with their intervals, normalized costs, totals. */
function costColumns(rows, outcome) {
  const { changed } = outcome;
  const intervals = rows.map((system) => intervalOf(system, outcome));
  const anyInterval = intervals.some(([, low]) => Number.isFinite(low));
  const shares = (system) => (changed || system.added ? [system.normalized, NaN, NaN] : system.reportedShare);
  const times = (value) => (DATA.volume || 0) * value;
  if (!anyInterval) {
    return [
      rows.map((system) => [costText(system.cost), "", ""]),
      rows.map((system) => [metricText(system.normalized)]),
      rows.map((system) => [totalText(times(system.cost))]),
    ];
  }
  return [
    measuredColumn(intervals),
    changed ? rows.map((system) => [metricText(system.normalized)]) : measuredColumn(rows.map(shares)),
    measuredColumn(intervals.map((interval) => interval.map(times))),
  ];
}

/** A total over all cases of a period, with as many significant digits as the cost per case. */
const totalText = (value) =>
  result.places === null ? short(value) : fixed(value, result.places - powerOf(DATA.volume || 1));

/** Show the table of systems, bounds and references. */
function showSystems() {
  const { ranked, bounds, namesModel } = result;
  const { shown, buttons } = foldedSystems(ranked);
  const references = referencesOf(result);
  const entries = [...shown, ...references];
  const costAndUpper = (system) => [system.cost, intervalOf(system, result)[2]];
  const top = Math.max(...entries.flatMap(costAndUpper).filter(Number.isFinite), 1e-300);
  const inferenceHead = [percent(DATA.level), ...(COMPARED ? [CHANCE_HEAD] : [])];
  const normalizedHead = hasNormalized() ? ["normalised"] : [];
  const head = ["system", "", "cost", ...inferenceHead, ...normalizedHead, ...periodHead(), ...(TONED ? ["decisions"] : [])];
  if (THRESHOLDED) head.push("threshold");
  const [costs, shares, totals] = costColumns(entries, result);
  const rows = entries.map((system, i) => {
    const total = knownCell((DATA.volume || 0) * system.cost, null, totals[i][0]);
    const furtherCells = [
      ...normalizedHead.map(() => knownCell(system.normalized, null, shares[i][0])),
      ...periodHead().map(() => total),
    ];
    return systemRow(system, top, costs[i], furtherCells, buttons.get(system) || []);
  });
  const rowsOf = (wanted) => rows.filter((_, i) => i < shown.length && wanted(shown[i]));
  const isBroken = (system) => LIMITED && DATA.broken.includes(system.name);
  const isBound = (system) => bounds.includes(system) && !isBroken(system);
  const rivals = rowsOf((system) => !isBound(system) && !isBroken(system));
  const withoutModel = rows.slice(shown.length).filter((_, i) => references[i].name !== "perfect decisions");
  const perfectRows = rows.slice(shown.length + withoutModel.length);
  const mainRows = [...(namesModel ? [rivals, withoutModel] : [withoutModel, rivals]).flat(), ...perfectRows];
  const groups = [
    { title: "Bounds: tuned on these very cases, not to be deployed", rows: rowsOf(isBound) },
    { title: "These clearly break a limit, and cannot be recommended", rows: rowsOf(isBroken) },
  ];
  byId("systems").replaceChildren(tableOf(head, mainRows, groups));
  saved.systems = systemsToSave;
  showFoldedChance(shown);
}

/** Say what chance the systems have that the table folds away, so that its chances do not seem to be all. */
function showFoldedChance(shown) {
  const folded = result.systems.filter((system) => system.candidate && !shown.includes(system));
  const chance = sum(folded.map((system) => chanceOf(system, result) ?? 0));
  if (byId("chance-note")) byId("chance-note").textContent = chance > 0 ? tied(`The systems that are folded away have ${chanceText(chance)} together.`) : "";
}

/** Whether normalised costs mean something: not where the best constant decision breaks a limit. */
const hasNormalized = () =>
  keepsLimits(result.cheapestConstant.decision) && !(TERMS && Number.isNaN(SYSTEMS[0].reportedShare[0]));

/** A number, or a dash where costs that differ between cases were changed: it is not known then. */
const knownCell = (value, look, text) =>
  TERMS && result.changed && Number.isNaN(value) ? UNKNOWN_CELL : numberCell(value, look, text);

/** Widths of the pictures in the table: a total, and with it a threshold, take room from them. */
const pictureWidths = () =>
  !DATA.volume ? { bar: BINARY ? 84 : 124, mix: BINARY ? 66 : 84 } : THRESHOLDED ? { bar: 58, mix: 48 } : { bar: 72, mix: 58 };

const periodHead = () => (DATA.volume ? [DATA.period ? `per ${DATA.period}` : "in all"] : []);

/** Rows of the download: every system and reference, with all digits. */
function systemsToSave() {
  const boundOf = (system, position) => {
    const bound = intervalOf(system, result)[position];
    return Number.isFinite(bound) ? bound : "";
  };
  const total = (system) => (DATA.volume ? [DATA.volume * system.cost] : []);
  return [
    [
      ...["system", "model", "rule", "cost per case", "low", "high", "normalized cost"],
      ...[CHANCE_HEAD, "threshold", "may be deployed", ...periodHead()],
    ],
    ...result.ranked.map((system) => [
      ...[system.name, MODELS[system.model].name, system.rule, system.cost],
      ...[boundOf(system, 1), boundOf(system, 2), hasNormalized() ? system.normalized : ""],
      ...[system.candidate ? chanceOf(system, result) ?? "" : "", system.threshold, system.candidate],
      ...total(system),
    ]),
    ...referencesOf(result)
      .filter((reference) => reference.name !== "perfect decisions")
      .map((reference) => [reference.name, "", "", reference.cost, "", "", hasNormalized() ? reference.normalized : "", "", "", "", ...total(reference)]),
  ];
}

/** The probability of being the cheapest; null if it is unknown under these stakes. */
function chanceOf(system, { changed, inference }) {
  if (!changed) return system.added ? null : system.chance;
  return inference ? inference.chance(system.name) : null;
}

/** A one-character mark, so that rows keep their heights; the hint below the table explains it. */
const noteMark = (text) =>
  html("em", { class: "mark-of", title: text, role: "img", "aria-label": text }, { approximate: "≈", "decisions of the report": "=" }[text]);

/** Which decisions follow when the stakes move, and what the marks of the others mean. */
function followingText() {
  const ways = new Set(SYSTEMS.filter((system) => !system.added).map(({ way }) => way));
  if (TERMS || (ways.size === 1 && ways.has("fixed"))) return "When you move the stakes, all decisions stay as they were made for those of the report.";
  const bayes = [...ways].some((way) => way !== "fixed" && way !== "tuned");
  const followers = [...(bayes ? ["Bayes decisions"] : []), ...(ways.has("tuned") ? ["thresholds tuned on these cases"] : [])];
  return [
    `When you move the stakes, ${followers.join(" and ")} follow.`,
    ways.has("fixed") ? "A system marked “=” keeps the decisions of the report." : "",
    SYSTEMS.some(isBinned) ? "A system marked “≈” is approximate: it decides by bins of scores." : "",
  ].filter(Boolean).join(" ");
}

/** A system or a reference as a row of the table. */
function systemRow(entry, top, cost, furtherCells, buttons) {
  const { best, naive, unaided, namesModel, verdict, changed } = result;
  const [, low, high] = intervalOf(entry, result);
  const keepsDecisions = changed && entry.way === "fixed" && !TERMS;
  const isSystem = "model" in entry;
  const approximate = changed && !keepsDecisions && isSystem && isBinned(entry);
  const notes = keepsDecisions || approximate ? [noteMark(approximate ? "approximate" : "decisions of the report")] : [];
  const probability = isSystem && entry.candidate ? chanceOf(entry, result) : null;
  const missing = isSystem && entry.candidate ? UNKNOWN_CELL : "";
  const chance = probability !== null ? chanceText(probability) : missing;
  const look = entry.look || "plain";
  const bar = drawBar({ value: entry.cost, low, high, reference: naive.cost, top, look, width: pictureWidths().bar });
  const boundsCell = Number.isFinite(low) || isSystem ? boundsText([entry.cost, low, high], cost) : "";
  const cells = [
    isSystem ? nameWithSwatch(entry.name, entry.look, notes, ...buttons) : entry.name,
    entry.name === "perfect decisions" ? "" : bar,
    isSystem ? numberCell(entry.cost, "strong", cost[0]) : knownCell(entry.cost, null, cost[0]),
    boundsCell,
    ...(COMPARED ? [chance] : []),
    ...furtherCells,
    ...(TONED ? [entry.counts ? decisionMix(entry) : ""] : []),
  ];
  const formatExact = isSystem && entry.change && (entry.change.percent || !entry.change.on_column) ? exactPercent : exact;
  if (THRESHOLDED) cells.push(isSystem ? numberCell(entry.threshold, "cut", thresholdText(entry), formatExact) : "");
  if (!isSystem) return { look: `reference-row${!namesModel && !verdict.keep && entry.name === unaided.name ? " best" : ""}`, cells };
  const isBest = namesModel ? entry === best : entry.name === verdict.keep;
  return { look: isBest ? "best" : entry.candidate ? null : "barred", cells };
}

/** Share of the cases that will receive each decision once deployed, as a thin stacked bar. */
function decisionMix(system) {
  const shares = deployedShares(system.counts, result.prior);
  const starts = shares.map((_, d) => sum(shares.slice(0, d)));
  const { mix: width } = pictureWidths();
  const label = decisions.map((name, d) => `${name} ${wholePercent(shares[d])}`).join(", ");
  const bars = shares.map((share, d) =>
    svg("rect", {
      class: `area ${tone(d)}`,
      x: width * starts[d] || 0,
      y: 4,
      width: width * share || 0,
      height: 10,
    }),
  );
  const lines = decisions.map((name, d) => {
    const cases = short(sum(system.counts.map((row) => row[d])));
    return [name, `${wholePercent(shares[d])}, ${cases} cases`, tone(d)];
  });
  const picture = svg(
    "svg",
    { class: "mix", width, height: 18, role: "img", "aria-label": label },
    bars,
  );
  return withTip(picture, system.name, lines.slice(0, 14));
}

/** Legend of the decision colours. */
function buildKey() {
  if (!TONED) return;
  const entries = decisions.map((name, d) =>
    html("span", { title: name }, html("i", { class: `block ${tone(d)}` }), shortened(name, 48)),
  );
  byId("key").replaceChildren("Decisions, once deployed: ", ...entries);
}
