// Classes: for more than two, how reliable the probabilities of each are, and what each costs.

const BINNED_CLASSES = MODELS.some((model) => model.class_bins);
let classShown = null; // the class whose reliability is shown; null: the one that costs most

// What each class costs ---------------------------------------------------------------------------

/** What every class contributes to the cost per case, the costliest first. */
function classParts(parts) {
  const each = parts.map((row, k) => ({ k, part: sum(row) }));
  return each.sort((a, b) => b.part - a.part || a.k - b.k);
}

const FIRST_CLASSES = 12; // classes that the list shows at first
let everyClass = false;

/** A bar for every true class: what its cases contribute to the cost, and what one of them costs. */
function showClassCosts({ counts }, parts, what) {
  byId("class-costs-part").hidden = TWO;
  if (TWO) return;
  const each = classParts(parts);
  const total = sum(each.map(({ part }) => part));
  const most = Math.max(...each.map(({ part }) => Math.abs(part) || 0)) || 1;
  const shown = everyClass ? each : each.slice(0, FIRST_CLASSES);
  const rows = shown.map(({ k, part }) => {
    const bar = html("i", {});
    bar.style.width = `${(100 * Math.abs(part || 0)) / most}%`;
    const share = total > 0 && part >= 0 ? ` · ${wholePercent(part / total)}` : "";
    const row = html("li", {}, html("b", {}, classes[k]), html("span", { class: "amount" }, tied(costText(part) + share)), bar);
    return withTip(row, classes[k], [
      ["cases counted", exact(sum(counts[k]))],
      ["prior", exactPercent(result.prior[k])],
      [`${what} of one such case`, exact(part / result.prior[k])],
      [`part of the ${what} per case`, exact(part)],
    ]);
  });
  byId("class-costs").replaceChildren(...rows);
  byId("class-costs-name").textContent = tied(withUnit(`What each class adds to the ${what} per case`).replace(/ (\S+)$/, unit ? ", $1" : " $1"));
  const button = byId("class-costs-all");
  button.hidden = each.length <= FIRST_CLASSES;
  button.textContent = everyClass ? `Show the first ${FIRST_CLASSES}` : `Show all ${each.length} classes`;
}

/** The rows of a download: every system and class. */
function classCostsToSave() {
  const rows = result.systems.flatMap(({ name, counts, costs }) =>
    costParts(counts, costs, result.prior).map((row, k) =>
      [name, classes[k], sum(counts[k]), result.prior[k], dot(costs[k], decisionRates(counts)[k]), sum(row)],
    ),
  );
  return [["system", "class", "cases", "prior", "cost of one such case", "part of cost per case"], ...rows];
}

// How reliable the probabilities of a class are ---------------------------------------------------

/** A share of cases with Wilson's interval, as in Python's `wilson_bounds`. */
function wilson(hits, cases, level = DATA.level) {
  const threshold = normalQuantile((1 - level) / 2) ** 2;
  const rate = hits / cases;
  const centre = (hits + threshold / 2) / (cases + threshold);
  const reach = Math.sqrt(threshold * (cases * rate * (1 - rate) + threshold / 4)) / (cases + threshold);
  return [rate, rate === 0 ? 0 : centre - reach, rate === 1 ? 1 : centre + reach];
}

const binnedModels = () => MODELS.filter((model, i) => model.class_bins && !hidden.has(i));

/** The class that is shown: the reader's choice, or the one that costs most under the best system. */
function shownClass() {
  if (classShown !== null) return classShown;
  return classParts(costParts(result.best.counts, regretOf(result.best.costs), result.prior))[0].k;
}

/** Show how reliable the probabilities of one class are, model by model. */
function showClassReliability() {
  const k = shownClass();
  const models = binnedModels();
  const best = models.includes(MODELS[result.best.model]) ? MODELS[result.best.model] : models[0];
  byId("class-pick").value = String(k);
  byId("class-chips").replaceChildren(...modelChips(showClassReliability, (model) => model.class_bins));
  const line = (model) => ({
    name: model.name,
    label: model.name,
    look: model.look,
    points: model.class_bins[k].map(([, cases, hits, mean]) => [mean, hits / cases]),
  });
  const bins = best ? best.class_bins[k].map(binOf) : [];
  const most = Math.max(...bins.map(({ cases }) => cases));
  byId("class-reliability-note").textContent = tied(classNote(k, best, most));
  drawChart(byId("class-reliability"), {
    title: `Observed share over the probability of ${classes[k]}`,
    x: shareAxis(`probability of ${classes[k]}`, [0, 1]),
    y: shareAxis(`share that is ${classes[k]}; below: cases`, [0, 1]),
    ratio: 0.55,
    cases: bins.map(({ low, high, cases }) => ({ low, high, share: cases / most, cases })),
    counted: true,
    whiskers: BANDED ? bins.map((bin) => binWhisker(bin, best.look)) : [],
    series: [{ look: "plain", points: [[0, 0], [1, 1]] }, ...models.map(line)],
    marks: [],
    dots: models.flatMap((model) => model.class_bins[k].map((bin) => binDot(model.name, binOf(bin), model.look, BANDED))),
  });
  saved.reliability = reliabilityToSave;
}

/** A tenth of the probabilities, from its embedded form: `share` is observed and has an interval. */
function binOf([b, cases, hits, mean]) {
  const [share, ...bounds] = wilson(hits, cases);
  return { low: b / 10, high: (b + 1) / 10, cases, mean, share, bounds };
}

/** Explanation of the diagram of one class. */
function classNote(k, best, most) {
  if (!best) return "No model is shown.";
  const whiskers = BANDED ? ` Whiskers: ${percent(DATA.level)} intervals of ${best.name}.` : "";
  return (
    `How often a case was ${classes[k]} where its probability was in each tenth; calibrated probabilities follow the diagonal.` +
    ` Bars: cases of ${best.name} in each tenth, at most ${short(most)}.${whiskers}` +
    " On these cases, with the probabilities as they came: neither costs nor prior move it."
  );
}

const binWhisker = ({ mean, bounds }, look) => ({ x: mean, bounds, look });

/** The observed share of a bin as a dot; the tooltip has its interval if it is known. */
function binDot(name, { low, high, cases, mean, share, bounds }, look, known) {
  const lines = [
    ["mean probability", exactPercent(mean)],
    ["observed share", exactPercent(share)],
    ["cases", exact(cases)],
    ...(known ? [[percent(DATA.level), bounds.map((end) => probabilityText(end)).join(" to ")]] : []),
  ];
  return { x: mean, y: share, look, title: `${name}, ${probabilityText(low)} to ${probabilityText(high)}`, lines };
}

/** Rows of the download: every model, class and tenth of the probabilities. */
function reliabilityToSave() {
  const rows = MODELS.filter((model) => model.class_bins).flatMap((model) =>
    model.class_bins.flatMap((bins, k) =>
      bins.map(binOf).map(({ low, high, cases, mean, share, bounds }) => [model.name, classes[k], low, high, cases, mean, share, ...(BANDED ? bounds : ["", ""])]),
    ),
  );
  return [["model", "class", "from", "to", "cases", "mean probability", "observed share", "low", "high"], ...rows];
}

/** Connect the list of classes and the button that shows all of them. */
function buildClasses() {
  byId("class-costs-all").addEventListener("click", () => {
    everyClass = !everyClass;
    showMoney();
  });
  if (!BINNED_CLASSES) return;
  const picker = byId("class-pick");
  picker.append(...classes.map((label, k) => html("option", { value: k }, label)));
  picker.addEventListener("change", () => {
    classShown = Number(picker.value);
    showClassReliability();
  });
}
