// Sections: the verdict, the systems, and where the money goes. `saved` holds rows for downloads.

const saved = {};
let picked = null; // the system whose cells are shown; null: the cheapest

// Verdict -----------------------------------------------------------------------------------------

function ruleText(one) {
  if (one.rule === DATA.as_decided) return "its own decisions";
  const has = BINARY && one.threshold !== null && Number.isFinite(one.threshold);
  return has ? `${one.rule} (${decisions[1]} above ${pointText(one.threshold, 4)})` : one.rule;
}

/** The verdict in sentences; at the stakes of the report those of the report stand instead. */
function verdictSentences({ best, rival, looking }) {
  if (Number.isNaN(best.cost)) {
    return ["No system can be recommended: the costs are undefined at these stakes."];
  }
  return [
    ...(looking ? winnerSentences(result) : notLookingSentences(result)),
    ...(best.way === "fixed" && isRemade(best)
      ? ["Decisions made anew for your stakes may cost less: evaluate again with these costs."]
      : []),
    ...(rival
      ? [
          `The runner-up${looking ? "" : " among the models"}, ${rival.name}, costs ${spent(rival.cost - best.cost)} more per case.`,
        ]
      : []),
    "These costs are not corrected for the choice of the cheapest; what to expect, intervals and chances hold for the stakes of the report only. Reset to see them.",
  ];
}

/** Whether a system would decide otherwise under other stakes; some decide whatever these are. */
const isRemade = (one) => one.rule !== DATA.as_decided;

function winnerSentences({ best, naive }) {
  const model = MODELS[best.model].name;
  const always = `always deciding ${decisions[naive.decision]}, which costs ${spent(naive.cost)} per case`;
  const cost = `${spent(best.cost)} per case`;
  const stays = best.way === "fixed" && isRemade(best);
  const saving = naive.cost - best.cost;
  const it = stays ? "these decisions save" : "it saves";
  const normal = `its normalised cost is ${metricText(best.normalized)}`;
  return [
    stays
      ? `The decisions that ${best.name} made for the stakes of the report would cost ${cost}, the least of all.`
      : `Deploy ${model} with ${ruleText(best)}: it costs ${cost}.`,
    `Against ${always}, ${it} ${spent(saving)} per case; ${stays ? normal.replace("its", "their") : normal}.`,
  ];
}

function notLookingSentences({ best, naive }) {
  const [decision, price] = [decisions[naive.decision], `${spent(naive.cost)} per case`];
  const ties = best.cost - naive.cost <= TIE * Math.abs(naive.cost);
  const always = ties
    ? `always deciding ${decision} costs as little, ${price}, and needs no model`
    : `always deciding ${decision}, which costs ${price}, is cheaper`;
  const more = ties ? "" : `, ${spent(best.cost - naive.cost)} more`;
  const cost = `${spent(best.cost)} per case${more}`;
  if (best.way === "fixed" && isRemade(best)) {
    return [
      `Deploy none of these decisions: ${always}.`,
      `The best of them, which ${best.name} made for the stakes of the report, would cost ${cost}.`,
    ];
  }
  const how = `${MODELS[best.model].name} with ${ruleText(best)}`;
  return [`Deploy none of these models: ${always}.`, `The best of them, ${how}, costs ${cost}.`];
}

function showVerdict() {
  const { best, naive, looking, changed } = result;
  const calls = { true: "as reported · a clear call", false: "as reported · a close call" };
  const told = looking ? calls[DATA.told_apart] : "as reported · deploy none";
  document.body.classList.toggle("changed", changed);
  place("verdict-reported").hidden = changed;
  place("verdict-changed").hidden = !changed;
  place("verdict-tag").textContent = changed ? "for your stakes" : told || "as reported";
  const sentences = changed ? verdictSentences(result) : [];
  place("verdict-changed").replaceChildren(...sentences.map((text) => html("p", {}, tied(text))));
  place("facts").replaceChildren(...factsOf(result).map(factOf));
  const [name, cost] = looking
    ? [best.name, changed ? best.cost : number(DATA.expected[0])]
    : [`always ${decisions[naive.decision]}`, naive.cost];
  place("now").replaceChildren(
    html("span", {}, "cheapest now"),
    html("b", { title: name }, name),
    html("span", { class: "now-cost", title: spent(cost) }, spent(cost)),
  );
}

function factsOf({ best, naive, looking, changed }) {
  const rivals = SYSTEMS.filter((one) => one.candidate && !one.added).length;
  const measure = (name, value, interval, said = costText) => {
    const known = !changed && Number.isFinite(interval[1]);
    const note = known ? `${percent(DATA.level)}: ${ends(interval)}` : said === costText ? unit : "";
    return { name, value, note: note || "", text: known ? measured(interval)[0] : said(value) };
  };
  const always = `always ${decisions[naive.decision]}`;
  const own = looking ? "cost per case" : "cost per case of the best model";
  const contenders = {
    name: "may be the cheapest",
    value: DATA.contenders.length,
    text: `${DATA.contenders.length} of ${rivals}`,
    note: `system${rivals === 1 ? "" : "s"} that the data cannot tell from the cheapest`,
  };
  const expected = changed ? best.reported : numbers(DATA.expected);
  const saving = changed ? [naive.cost - best.cost, NaN, NaN] : numbers(DATA.saving);
  const shares = changed ? [best.normalized, NaN, NaN] : numbers(DATA.normalized);
  return [
    ...(looking ? [] : [measure(`cost of ${always}`, naive.cost, [naive.cost, NaN, NaN])]),
    measure(own, changed ? best.cost : expected[0], expected),
    ...(looking ? [measure(`saved against ${always}`, saving[0], saving)] : []),
    {
      ...measure("normalised cost", shares[0], shares, metricText),
      note: "1 is not looking, 0 is perfect",
    },
    ...(changed || !looking ? [] : [contenders]),
  ];
}

const factOf = ({ name, value, note, text }) =>
  html(
    "div",
    { class: "fact" },
    html("span", { class: "fact-name" }, name),
    explain(html("b", {}, tied(text)), exact(value), []),
    html("small", {}, tied(note)),
  );

/** Which decision a probability of the positive class leads to. */
function showRule() {
  const parts = decisionRanges(result.costs);
  const bound = parts.length > 1 ? parts[parts.length - 2].high : 1;
  const top = bound < 0.4 ? roundUp(1.6 * bound) : 1;
  const upTo = top < 1 ? `, up to ${percent(top)}` : "";
  const title = `Bayes decision at each probability of ${classes[1]}${upTo}`;
  place("rule-name").textContent = tied(title);
  drawBand(place("rule"), {
    title,
    ends: [0, top],
    parts: parts.map((part) => ({
      ...part,
      label: decisions[part.decision],
      look: tone(part.decision),
      edge: pointText(part.high, 4),
      lines: [
        ["from", exact(part.low)],
        ["to", exact(part.high)],
      ],
    })),
  });
}

// Systems -----------------------------------------------------------------------------------------

/** Costs with their ends and normalised costs as text, below each other. */
function costColumns(systems, { naive, perfect, changed }) {
  const own = (one, interval, value) => (one.added ? [value, NaN, NaN] : interval);
  const known = (value) => [value, NaN, NaN];
  const shares = [...systems.map((one) => one.normalized), 1, 0];
  const costs = [...systems.map((one) => one.cost), naive.cost, perfect];
  if (changed) {
    return [costs.map((cost) => [costText(cost)]), shares.map((share) => [metricText(share)])];
  }
  return [
    measuredColumn([
      ...systems.map((one) => own(one, one.reported, one.cost)),
      ...costs.slice(-2).map(known),
    ]),
    measuredColumn([
      ...systems.map((one) => own(one, one.reportedShare, one.normalized)),
      known(1),
      known(0),
    ]),
  ];
}

function showSystems() {
  const { ranked, bounds, naive, perfect, looking, changed } = result;
  const reach = (one) => [one.cost, changed ? NaN : one.reported[2]];
  const top = Math.max(...[naive.cost, ...ranked.flatMap(reach)].filter(Number.isFinite), 1e-300);
  const level = changed ? "" : percent(DATA.level);
  const sureness = changed ? [] : [level, "shrunk chance"];
  const head = ["system", "", "cost", ...sureness, "normalised", "decisions"];
  if (BINARY) head.push("threshold");
  const [costs, shares] = costColumns(ranked, result);
  const made = ranked.map((one, i) => systemRow(one, top, costs[i], shares[i]));
  const blank = (size) => range(size).map(() => "");
  const bar = drawBar({ value: naive.cost, reference: naive.cost, top, look: "plain" });
  const always = `always ${decisions[naive.decision]}`;
  const reference = (name, picture, value, i, look) => ({
    look,
    cells: [
      ...[name, picture, figure(value, null, costs[i][0]), ...blank(sureness.length)],
      ...[shares[i][0], ...blank(BINARY ? 2 : 1)],
    ],
  });
  const look = looking ? "reference-row" : "reference-row best";
  const blind = reference(always, bar, naive.cost, ranked.length, look);
  const last = reference("perfect decisions", "", perfect, ranked.length + 1, "reference-row");
  const size = ranked.length - bounds.length;
  const rivals = made.slice(0, size);
  const rows = looking ? [...rivals, blind, last] : [blind, ...rivals, last];
  const apart = { title: "Bounds: tuned on these very cases, not to be deployed", rows: made.slice(size) };
  place("systems").replaceChildren(tableOf(head, rows, [apart]));
  const sure = (one, value) => (changed || one.added ? "" : value);
  saved.systems = [
    [
      "system",
      "model",
      "rule",
      "cost per case",
      "low",
      "high",
      "normalized cost",
      "shrunk chance",
      "threshold",
      "may win",
    ],
    ...ranked.map((one) => [
      ...[one.name, MODELS[one.model].name, one.rule, one.cost],
      ...[sure(one, one.reported[1]), sure(one, one.reported[2]), one.normalized],
      ...[one.candidate ? sure(one, one.chance) : "", one.threshold, one.candidate],
    ]),
    [always, "", "", naive.cost, "", "", 1, "", "", ""],
  ];
}

function systemRow(one, top, cost, share) {
  const { best, naive, looking, changed } = result;
  const [, low, high] = changed || one.added ? [NaN, NaN, NaN] : one.reported;
  const notes = changed && one.way === "fixed" ? [html("em", {}, "as tallied")] : [];
  const chance = one.candidate ? chanceText(one.chance) : "";
  const cells = [
    swatched(one.name, one.look, notes),
    drawBar({ value: one.cost, low, high, reference: naive.cost, top, look: one.look }),
    figure(one.cost, "strong", cost[0]),
    ...(changed ? [] : [endsOf([one.cost, low, high], cost), chance]),
    figure(one.normalized, null, share[0]),
    decisionMix(one),
  ];
  if (BINARY) cells.push(figure(one.threshold, null, pointText(one.threshold, 4)));
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
    picked = picker.value === "" ? null : own[Number(picker.value)].name;
    showMoney();
  });
}

function showMoney() {
  const one = result.systems.find((system) => system.name === picked) || result.best;
  const below = result.costs.flat().some((cost) => cost < 0); // gains have no share of a cost
  const what = below ? "regret" : "cost";
  const basis = below ? regretOf(result.costs) : result.costs;
  const parts = costParts(one.counts, basis, result.prior);
  const total = sum(parts.flat());
  const cells = classes.flatMap((_, k) =>
    decisions.map((__, d) => ({ k, d, part: parts[k][d], share: parts[k][d] / total })),
  );
  place("money-hint").textContent = below
    ? "Each cell’s share of the regret, its cost above the best decision of the class, once deployed; below it the cases that were counted."
    : "Each cell’s share of the cost, once deployed; below it the cases that were counted.";
  const peak = Math.max(...cells.map(({ part }) => Math.abs(part) || 0)) || 1;
  const rates = decisionRates(one.counts);
  const linesOf = ({ k, d, part, share }) => [
    ["cases", exact(one.counts[k][d])],
    ["share of the class", exact(rates[k][d])],
    ["cost of each", money(result.costs[k][d])],
    [`${what} per case`, exact(part)],
    [`share of the ${what}`, exact(share)],
  ];
  const cellOf = (cell) => {
    const { k, d, part, share } = cell;
    const made = html(
      "td",
      { class: "cell" },
      html("b", {}, part ? wholePercent(share) : "–"),
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
    ),
  );
  const head = ["", ...decisions].map((name) =>
    html("th", { scope: "col", title: name }, middle(name, 26)),
  );
  place("money").replaceChildren(
    readable(
      html(
        "table",
        { class: "cells" },
        html("thead", {}, html("tr", {}, head)),
        html("tbody", {}, body),
      ),
    ),
  );
  place("money-name").textContent = tied(`${one.name}: ${spent(one.cost)} per case`);
  showDearest(cells, peak, linesOf);
  saveDecisions();
}

/** The cells that cost most, in order. */
function showDearest(cells, peak, linesOf) {
  const dear = cells.filter(({ part }) => part > 0).sort((a, b) => b.part - a.part);
  const rows = dear.slice(0, 6).map((cell) => {
    const bar = html("i", {});
    bar.style.width = `${(100 * cell.part) / peak}%`;
    const name = html("span", {}, html("b", {}, classes[cell.k]), ` → ${decisions[cell.d]}`);
    const row = html(
      "li",
      {},
      name,
      html("span", { class: "amount" }, tied(`${costText(cell.part)} · ${wholePercent(cell.share)}`)),
      bar,
    );
    return explain(row, `${decisions[cell.d]} for ${classes[cell.k]}`, linesOf(cell));
  });
  place("dearest").replaceChildren(...rows);
}

function saveDecisions() {
  saved.decisions = [
    [
      "system",
      "class",
      "decision",
      "cases",
      "share of class",
      "cost of each",
      "part of cost per case",
    ],
  ];
  for (const one of result.systems) {
    const rates = decisionRates(one.counts);
    const parts = costParts(one.counts, result.costs, result.prior);
    classes.forEach((label, k) =>
      decisions.forEach((decision, d) =>
        saved.decisions.push([
          one.name,
          label,
          decision,
          one.counts[k][d],
          rates[k][d],
          result.costs[k][d],
          parts[k][d],
        ]),
      ),
    );
  }
}
