// Sections: the verdict, the systems, and where the money goes. `saved` holds the rows of downloads,
// or functions that make them when they are asked for.

const saved = {};
const CHANCE_HEAD = "chance of being cheapest";
const COMPARED = SYSTEMS.filter((one) => one.candidate && !one.added).length > 1; // one alone is always the cheapest
const THRESHOLDED = BINARY && SYSTEMS.some((one) => Number.isFinite(one.threshold));
const savedRows = (name) => (typeof saved[name] === "function" ? saved[name]() : saved[name]);
let pickedSystem = null; // the system whose cells are shown; null: the cheapest

// Verdict -----------------------------------------------------------------------------------------

function ruleText(one) {
  if (one.rule === DATA.as_decided) return "its own decisions";
  const has = BINARY && one.threshold !== null && Number.isFinite(one.threshold);
  return has ? `${one.rule} (${decisions[1]} above ${thresholdText(one)})` : one.rule;
}

/** Whether a system would decide otherwise under other stakes; some decide whatever these are. */
const dependsOnStakes = (one) => one.rule !== DATA.as_decided;

function showVerdict() {
  const { best, unaided, looking, changed } = result;
  const told = `as reported${looking ? reportedClarity() : " · deploy none"}`;
  const yours = `for your stakes${clarityOf(result)}`;
  document.body.classList.toggle("changed", changed);
  place("verdict-reported").hidden = changed;
  place("verdict-changed").hidden = !changed;
  place("verdict-tag").textContent = changed ? yours : told;
  const sentences = changed ? changedSentences(result) : [];
  place("verdict-changed").replaceChildren(...sentences.map((text) => html("p", {}, tied(text))));
  place("facts").replaceChildren(...factsOf(result).map(factNode));
  place("rule-meaning").textContent = ruleMeaning(best);
  const [name, cost] = looking
    ? [best.name, expectedOf(result)[0]]
    : [unaided.name, unaided.cost];
  place("now").replaceChildren(
    html("span", {}, "cheapest now"),
    html("b", { title: name }, name),
    html("span", { class: "now-cost", title: costInSentence(cost) }, costInSentence(cost)),
  );
}

/** Whether it is a clear call, where that is known. */
function clarityOf({ sure, looking }) {
  if (!looking || !sure || !COMPARED) return looking ? "" : " · deploy none";
  const names = sure.possible();
  const models = new Set(names.map((name) => SYSTEMS.find((one) => one.name === name)?.model ?? name));
  return clarity(models.size === 1, names.length);
}

/** The same of the report, which says whether one model has all contenders; null where one is alone. */
const reportedClarity = () =>
  DATA.told_apart === null ? "" : clarity(DATA.told_apart, DATA.contenders.length);

/** How clear a choice is: of the model, and of its rule. */
const clarity = (oneModel, systems) =>
  !oneModel ? " · a close call" : systems === 1 ? " · a clear call" : " · a clear model, its rule is close";

/** What the best system is expected to cost, and to save, with intervals. */
const expectedOf = ({ changed, sure, best }) =>
  !changed ? numbers(DATA.expected) : sure ? sure.expected() : [best.cost, NaN, NaN];
const savingOf = ({ changed, sure, best, unaided }) =>
  !changed ? numbers(DATA.saving) : sure ? sure.saving() : [unaided.cost - best.cost, NaN, NaN];

function factsOf(given) {
  const { unaided, looking, changed, sure } = given;
  const rivals = result.systems.filter((one) => one.candidate).length;
  const measure = (name, value, interval, said = costText) => {
    const known = Number.isFinite(interval[1]);
    const note = known ? `${percent(DATA.level)}: ${intervalText(interval)}` : said === costText ? unit : "";
    return { name, value, note: note || "", text: known ? measured(interval)[0] : said(value) };
  };
  const always = unaided.name;
  const own = looking ? "cost per case" : "cost per case of the best model";
  const left = changed && sure ? sure.contenders() : DATA.contenders;
  const contenders = {
    name: "may be the cheapest",
    value: left.length,
    text: changed && !sure ? "–" : `${left.length} of ${rivals}`,
    note: changed && !sure ? "not known under your stakes" : `system${rivals === 1 ? "" : "s"} that the data cannot tell from the cheapest`,
  };
  const expected = expectedOf(given);
  const saving = savingOf(given);
  return [
    ...(looking ? [] : [measure(`cost of ${always}`, unaided.cost, [unaided.cost, NaN, NaN])]),
    measure(own, expected[0], expected),
    ...(looking ? [savedShare(measure(`saved against ${always}`, saving[0], saving), saving, unaided)] : []),
    ...(looking && rivals > 1 ? [contenders] : []),
  ];
}

/** A saving as a share of what not looking costs, where it is one. */
function savedShare(fact, [saving], { cost }) {
  if (!(saving > 0 && saving <= cost)) return fact;
  const amount = `${withUnit(fact.text)} per case`;
  return { ...fact, value: saving / cost, tell: exactPercent, text: wholePercent(saving / cost), note: fact.note ? `${amount}, ${fact.note}` : amount };
}

/** What the rule of a system means; nothing for a model that decides by itself. */
const ruleMeaning = (one) => DATA.rules[one.rule] || "";

const factNode = ({ name, value, note, text, tell = exact }) =>
  html(
    "div",
    { class: "fact" },
    html("span", { class: "fact-name" }, name),
    explain(html("b", {}, tied(text)), tell(value), []),
    html("small", {}, tied(note)),
  );

// Systems -----------------------------------------------------------------------------------------

/** What is shown below the systems: what needs no model, and perfect decisions where known. */
function referencesOf({ noModel, naive, perfect }) {
  const known = (name, cost, normalized) => ({
    name,
    cost,
    normalized,
    reported: [cost, NaN, NaN],
    reportedShare: [normalized, NaN, NaN],
  });
  return [
    ...(noModel ? [noModel] : []),
    known(`always ${decisions[naive.decision]}`, naive.cost, 1),
    ...(Number.isNaN(perfect) ? [] : [known("perfect decisions", perfect, 0)]),
  ];
}

/** Cost of a system with its ends, where they are known under these stakes. */
function intervalOf(one, { changed, sure }) {
  if (!changed) return one.added ? [one.cost, NaN, NaN] : one.reported;
  return sure && "model" in one && one.candidate ? sure.cost(one.name) : [one.cost, NaN, NaN];
}

/** Costs with their ends, normalised costs and totals as text, below each other. */
function costColumns(rows, given) {
  const { changed, places } = given;
  const own = rows.map((one) => intervalOf(one, given));
  const known = own.some(([, low]) => Number.isFinite(low));
  const shares = (one) => (changed || one.added ? [one.normalized, NaN, NaN] : one.reportedShare);
  const times = (value) => (DATA.volume || 0) * value;
  if (!known || places === null) {
    return [
      rows.map((one) => [costText(one.cost), "", ""]),
      rows.map((one) => [metricText(one.normalized)]),
      rows.map((one) => [totalText(times(one.cost))]),
    ];
  }
  return [
    measuredColumn(own),
    changed ? rows.map((one) => [metricText(one.normalized)]) : measuredColumn(rows.map(shares)),
    measuredColumn(own.map((interval) => interval.map(times))),
  ];
}

/** A total of all cases to come, as exact as the cost per case. */
const totalText = (value) =>
  result.places === null ? short(value) : fixed(value, result.places - powerOf(DATA.volume || 1));

function showSystems() {
  const { ranked, bounds, looking } = result;
  const { shown, buttons } = foldedSystems(ranked);
  const references = referencesOf(result);
  const every = [...shown, ...references];
  const reach = (one) => [one.cost, intervalOf(one, result)[2]];
  const top = Math.max(...every.flatMap(reach).filter(Number.isFinite), 1e-300);
  const sureness = [percent(DATA.level), ...(COMPARED ? [CHANCE_HEAD] : [])];
  const normal = Number.isNaN(ranked[0].normalized) && TERMS ? [] : ["normalised"];
  const head = ["system", "", "cost", ...sureness, ...normal, ...periodHead(), "decisions"];
  if (THRESHOLDED) head.push("threshold");
  const [costs, shares, totals] = costColumns(every, result);
  const rows = every.map((one, i) => {
    const total = numberCell((DATA.volume || 0) * one.cost, null, totals[i][0]);
    const more = [
      ...normal.map(() => numberCell(one.normalized, null, shares[i][0])),
      ...periodHead().map(() => total),
    ];
    return systemRow(one, top, costs[i], more, buttons.get(one) || []);
  });
  const size = shown.filter((one) => !bounds.includes(one)).length;
  const rivals = rows.slice(0, size);
  const blind = rows.slice(shown.length).filter((_, i) => references[i].name !== "perfect decisions");
  const last = rows.slice(shown.length + blind.length);
  const inOrder = looking ? [...rivals, ...blind, ...last] : [...blind, ...rivals, ...last];
  const apart = {
    title: "Bounds: tuned on these very cases, not to be deployed",
    rows: rows.slice(size, shown.length),
  };
  place("systems").replaceChildren(tableOf(head, inOrder, [apart]));
  saved.systems = systemsToSave;
}

const periodHead = () => (DATA.volume ? [DATA.period ? `per ${DATA.period}` : "in all"] : []);

/** Every system and what needs no model, with all digits. */
function systemsToSave() {
  const end = (one, at) => (Number.isFinite(intervalOf(one, result)[at]) ? intervalOf(one, result)[at] : "");
  const total = (one) => (DATA.volume ? [DATA.volume * one.cost] : []);
  return [
    [
      ...["system", "model", "rule", "cost per case", "low", "high", "normalized cost"],
      ...[CHANCE_HEAD, "threshold", "may win", ...periodHead()],
    ],
    ...result.ranked.map((one) => [
      ...[one.name, MODELS[one.model].name, one.rule, one.cost],
      ...[end(one, 1), end(one, 2), one.normalized],
      ...[one.candidate ? chanceOf(one, result) ?? "" : "", one.threshold, one.candidate],
      ...total(one),
    ]),
    ...referencesOf(result)
      .filter((one) => one.name !== "perfect decisions")
      .map((one) => [one.name, "", "", one.cost, "", "", one.normalized, "", "", "", ...total(one)]),
  ];
}

/** The chance of being the cheapest; null where it is not known under these stakes. */
function chanceOf(one, { changed, sure }) {
  if (!changed) return one.added ? null : one.chance;
  return sure ? sure.chance(one.name) : null;
}

/** A mark that takes no room of its own, so that rows keep their heights; the hint explains it. */
const noteMark = (text) =>
  html("em", { class: "mark-of", title: text, role: "img", "aria-label": text }, { approximate: "≈", "as tallied": "=" }[text]);

/** A system, or what stands below the systems, as a row of the table. */
function systemRow(one, top, cost, more, buttons) {
  const { best, naive, unaided, looking, changed } = result;
  const [, low, high] = intervalOf(one, result);
  const remains = changed && one.way === "fixed" && !TERMS;
  const system = "model" in one;
  const rough = changed && !remains && system && isApproximate(one);
  const notes = remains || rough ? [noteMark(rough ? "approximate" : "as tallied")] : [];
  const likely = system && one.candidate ? chanceOf(one, result) : null;
  const chance = likely !== null ? chanceText(likely) : system && one.candidate ? { text: "–", look: "unknown" } : "";
  const look = one.look || "plain";
  const bar = drawBar({ value: one.cost, low, high, reference: naive.cost, top, look });
  const ends = Number.isFinite(low) || system ? boundsText([one.cost, low, high], cost) : "";
  const cells = [
    system ? fragmentOf(nameWithSwatch(one.name, one.look, notes), ...buttons) : one.name,
    one.name === "perfect decisions" ? "" : bar,
    numberCell(one.cost, system ? "strong" : null, cost[0]),
    ends,
    ...(COMPARED ? [chance] : []),
    ...more,
    one.counts ? decisionMix(one) : "",
  ];
  if (THRESHOLDED) cells.push(system ? numberCell(one.threshold, null, thresholdText(one), byProbability(one) ? exactPercent : exact) : "");
  if (!system) return { look: `reference-row${!looking && one.name === unaided.name ? " best" : ""}`, cells };
  return { look: one === best && looking ? "best" : one.candidate ? null : "barred", cells };
}

/** Share of the cases that get each decision, once deployed, as a thin stacked bar. */
function decisionMix(one) {
  const rates = decisionRates(one.counts);
  const part = (d) => sum(result.prior.map((share, k) => (share > 0 ? share * rates[k][d] : 0)));
  const shares = decisions.map((_, d) => part(d));
  const starts = shares.map((_, d) => sum(shares.slice(0, d)));
  const width = BINARY ? 66 : 84;
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
    const cases = short(sum(one.counts.map((row) => row[d])));
    return [name, `${wholePercent(shares[d])}, ${cases} cases`, tone(d)];
  });
  const picture = svg(
    "svg",
    { class: "mix", width, height: 18, role: "img", "aria-label": label },
    bars,
  );
  return explain(picture, one.name, lines.slice(0, 14));
}

/** The colours of the decisions, where there are few enough to have one each. */
function buildKey() {
  if (decisions.length > TONES) return;
  const entries = decisions.map((name, d) =>
    html("span", { title: name }, html("i", { class: `block ${tone(d)}` }), middle(name, 48)),
  );
  place("key").replaceChildren("Decisions, once deployed: ", ...entries);
}

// Where the money goes ----------------------------------------------------------------------------

function buildPicker() {
  const own = SYSTEMS.filter((one) => !one.added);
  const options = own.map((one, i) => html("option", { value: i }, one.name));
  const picker = place("money-pick");
  picker.append(html("option", { value: "" }, "the cheapest system"), ...options);
  picker.addEventListener("change", () => {
    pickedSystem = picker.value === "" ? null : own[Number(picker.value)].name;
    showMoney();
  });
}

function showMoney() {
  const one = result.systems.find((system) => system.name === pickedSystem) || result.best;
  const gains = one.costs.flat().some((cost) => cost < 0); // which have no share of a cost
  const below = gains && !TERMS;
  const what = below ? "regret" : "cost";
  const basis = below ? regretOf(one.costs) : one.costs;
  const parts = costParts(one.counts, basis, result.prior);
  const total = sum(parts.flat());
  const cells = classes.flatMap((_, k) =>
    decisions.map((__, d) => ({ k, d, part: parts[k][d], share: parts[k][d] / total })),
  );
  const apart = one.running ? ", running costs apart" : "";
  place("money-hint").textContent = below
    ? "Each cell’s share of the regret, its cost above the best decision of the class, once deployed; below it the cases that were counted."
    : gains
      ? `What each cell costs per case, once deployed${apart}; below it the cases that were counted.`
      : `Each cell’s share of the cost, once deployed${apart}; below it the cases that were counted.`;
  const peak = Math.max(...cells.map(({ part }) => Math.abs(part) || 0)) || 1;
  const rates = decisionRates(one.counts);
  const linesOf = ({ k, d, part, share }) => [
    ["cases", exact(one.counts[k][d])],
    ["share of the class", exactPercent(rates[k][d])],
    [TERMS ? "mean cost of each" : "cost of each", money(one.costs[k][d])],
    [`${what} per case`, exact(part)],
    [`share of the ${what}`, exactPercent(share)],
  ];
  const cellOf = (cell) => {
    const { k, d, part, share } = cell;
    const made = html(
      "td",
      { class: "cell" },
      html("b", {}, part ? (gains && TERMS ? costText(part) : wholePercent(share)) : "–"),
      html("small", {}, short(one.counts[k][d])),
    );
    made.style.setProperty("--heat", (Math.abs(part || 0) / peak).toFixed(3));
    return explain(made, `${decisions[d]} for ${classes[k]}`, linesOf(cell));
  };
  const body = classes.map((label, k) =>
    html(
      "tr",
      {},
      html("th", { scope: "row", title: label }, middle(label, 26)),
      cells.filter((cell) => cell.k === k).map(cellOf),
      gains && TERMS ? null : html("td", { class: "of-class" }, total ? wholePercent(sum(parts[k]) / total) : "–"),
    ),
  );
  const head = decisions.map((name) => html("th", { scope: "col", title: name }, middle(name, 26)));
  place("money").replaceChildren(
    withArrowKeys(
      html(
        "table",
        { class: "cells" },
        headOf([
          html("td", {}),
          head,
          gains && TERMS ? null : html("th", { scope: "col" }, `of the ${what}`),
        ]),
        html("tbody", {}, body),
      ),
    ),
  );
  place("money-name").textContent = tied(`${one.name}: ${costInSentence(one.cost)} per case`);
  showCostliestCells(cells, peak, linesOf, gains && TERMS);
  showClassCosts(one, parts, what);
  saved.classes = classCostsToSave;
  saved.decisions = decisionsToSave;
}

/** The cells that cost most, in order. */
function showCostliestCells(cells, peak, linesOf, bare) {
  const dear = cells.filter(({ part }) => part > 0).sort((a, b) => b.part - a.part);
  const rows = dear.slice(0, 6).map((cell) => {
    const bar = html("i", {});
    bar.style.width = `${(100 * cell.part) / peak}%`;
    const name = html("span", {}, html("b", {}, classes[cell.k]), ` → ${decisions[cell.d]}`);
    const row = html(
      "li",
      {},
      name,
      html(
        "span",
        { class: "amount" },
        tied(bare ? costText(cell.part) : `${costText(cell.part)} · ${wholePercent(cell.share)}`),
      ),
      bar,
    );
    return explain(row, `${decisions[cell.d]} for ${classes[cell.k]}`, linesOf(cell));
  });
  place("dearest").replaceChildren(...rows);
}

/** What every system decided about the cases of each class, and what that costs. */
function decisionsToSave() {
  const head = ["system", "class", "decision", "cases", "share of class", "cost of each", "part of cost per case"];
  const rows = result.systems.flatMap((one) => {
    const rates = decisionRates(one.counts);
    const parts = costParts(one.counts, one.costs, result.prior);
    return classes.flatMap((label, k) =>
      decisions.map((decision, d) =>
        [one.name, label, decision, one.counts[k][d], rates[k][d], one.costs[k][d], parts[k][d]],
      ),
    );
  });
  return [head, ...rows];
}
