// Explorer: the distribution of one model's scores in each class, with cuts that the reader can move.

const BARS = 48;
const FAR_LABEL = 90; // pixels from a cut to its value: two at one end of the axis are nearer
const PANEL = { gap: 20, top: 34, bottom: 46, side: 16, widths: [260, 900], get height() { return onPaper ? 56 : 86; } };
let draggedCut = null; // index of the cut being dragged

/** An axis that contains 99 % of the cases and all cuts. */
function scoreAxis({ table, scores, raw }, cuts) {
  const weight = (i) => sum(table.totals.map((total, k) => (total ? table.weights[k][i] / total : 0)));
  const total = sum(range(scores.length).map(weight));
  const quantile = (share) => {
    let below = 0;
    return scores[range(scores.length).findIndex((i) => (below += weight(i)) >= share * total)];
  };
  const [low, high] = [quantile(0.005) ?? 0, quantile(0.995) ?? 1];
  if (!raw) return probabilityAxis([low || 0.001, high === 1 ? 0.999 : high, ...cuts]); // 0 and 1 have no log-odds
  const inner = [low, high, ...cuts].filter(Number.isFinite);
  const [least, most] = [Math.min(...inner), Math.max(...inner)];
  const padding = 0.03 * (most - least) || 1;
  return straight(least - padding, most + padding);
}

/** Share of each class in each bar. */
function histogram({ table, scores, axis }) {
  const step = (axis.high - axis.low) / BARS;
  return table.weights.map((classWeights, k) => {
    const bars = range(BARS).map(() => 0);
    classWeights.forEach((weight, i) => {
      const bar = Math.floor((axis.at(scores[i]) - axis.low) / step);
      if (!Number.isNaN(bar)) bars[Math.max(0, Math.min(BARS - 1, bar))] += weight / (table.totals[k] || 1);
    });
    return bars;
  });
}

const explorerWidth = () => clamped(widthOfHost(byId("explorer")), PANEL.widths);

/** Draw the explorer and its numbers; a focused cut keeps the focus. */
function showExplorer() {
  const view = exploration();
  const host = byId("explorer");
  const focused = [...host.querySelectorAll(".cut")].indexOf(document.activeElement);
  const width = explorerWidth();
  const x = scale([view.axis.low, view.axis.high], [PANEL.side, width - PANEL.side]);
  const height = PANEL.top + 2 * PANEL.height + PANEL.gap + PANEL.bottom;
  const { centres, crowded } = labelCentres(view, x, width);
  host.replaceChildren(
    svg(
      "svg",
      { class: `band explorer${crowded ? " crowded" : ""}`, width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": explorerTitle(view) },
      classPanels(view, x, width),
      explorerAxis(view, x, width, height),
      view.references.map((reference) => cutMarks(view, x, reference, height)),
      view.cuts.map((cut, i) => cutHandle(view, x, i, centres[i], height)),
    ),
  );
  if (focused >= 0) host.querySelectorAll(".cut")[focused]?.focus();
  byId("explorer-name").textContent = explorerTitle(view);
  showButtons(view);
  showExplorerNumbers(view);
}

/** The reference that a button brings; none if it has another number of cuts. */
const referenceOf = (button, { references, cuts }) =>
  references.find((reference) => reference.button === button && reference.cuts.length === cuts.length);

/** Show the buttons of the references that have as many cuts. */
function showButtons(view) {
  for (const button of BUTTONS) {
    const reference = referenceOf(button, view);
    byId(button).hidden = !reference;
    if (reference) byId(button).textContent = reference.label;
  }
}

/** Set the cuts; null returns to those of the rule. */
function setCuts(cuts) {
  movedCuts = cuts;
  showExplorer();
  rememberStakes();
}

const explorerTitle = ({ name, raw, axis, way }) =>
  `Cases of each class by the ${raw ? "score" : `${way === "as is" ? "" : "corrected "}probability of ${classes[1]}`} of ${name}${axis.log ? " (axis of log-odds)" : ""}`;

const tickFormat = ({ raw }) => (raw ? (value) => pointText(value, 4) : probabilityText);

/** A cut as what the model gives there, with the corrected probability in brackets where it is another. */
const cutFormat = ({ raw, way, change, toOwn, model }) => (cut) => {
  if (!toOwn) return `${probabilityText(cut)} corrected`;
  const score = toOwn(cut);
  const digits = Math.max(change?.digits ?? 3, digitsOf([score], model.table));
  if (raw) return pointText(score, digits);
  return way === "as is" ? probabilityText(score, digits) : `${pointText(score, digits)} (${probabilityText(cut)})`;
};

/** A histogram for each class; bars have the colour of the decision that their cases receive. */
function classPanels(view, x, width) {
  const bars = histogram(view);
  const { low, high, at } = view.axis;
  const edges = [low, ...view.cuts.map((cut) => clamped(at(cut), [low, high])), high].map(x);
  const step = (x(high) - x(low)) / BARS;
  return bars.map((shares, k) => {
    const bottom = PANEL.top + (k + 1) * PANEL.height + k * PANEL.gap;
    const peak = Math.max(...shares, 1e-300);
    const outline = shares.map((share, i) => {
      const barTop = bottom - (share / peak) * (PANEL.height - 16);
      return `M${x(low) + i * step} ${bottom}V${barTop}h${step - 0.7}V${bottom}z`;
    });
    const parts = view.order.map((d, i) => [
      svg("clipPath", { id: `explorer-${k}-${i}` }, svg("rect", { x: edges[i], y: 0, width: Math.max(0, edges[i + 1] - edges[i]), height: bottom })),
      svg("path", { class: `area ${tone(d)}`, d: outline.join(""), "clip-path": `url(#explorer-${k}-${i})` }),
    ]);
    return svg(
      "g",
      {},
      parts,
      svg("line", { class: "axis", x1: PANEL.side, x2: width - PANEL.side, y1: bottom, y2: bottom }),
      svg("text", { class: "axis-name", x: PANEL.side, y: bottom - PANEL.height + 11 }, fitted(classes[k], width - 2 * PANEL.side, LABEL)),
    );
  });
}

/** Ticks of the score axis, left out where they would overlap. */
function explorerAxis(view, x, width, height) {
  const { low, high, at, log } = view.axis;
  const odds = [1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999];
  const values = log ? odds.filter((p) => logOdds(p) > low && logOdds(p) < high) : ticks(low, high, 5);
  const format = tickFormat(view);
  let freeFrom = -Infinity;
  return values.map((value) => {
    const text = format(value);
    const [centre, half] = [x(at(value)), widthOf(text, TICK) / 2];
    if (centre - half < Math.max(freeFrom, 0) || centre + half > width) return null;
    freeFrom = centre + half + 6;
    return svg("text", { class: "tick", x: centre, y: height - PANEL.bottom + 16, "text-anchor": "middle" }, text);
  });
}

/** Marks of the cuts of a reference, each with its name unless that would cover the previous one. */
function cutMarks({ axis: { low, high, at } }, x, reference, height) {
  const second = reference.button === BUTTONS[1];
  const half = widthOf(reference.mark, TICK) / 2;
  let freeFrom = 0;
  return reference.cuts.map((cut) => {
    const position = x(clamped(at(cut), [low, high]));
    const centre = clamped(position, [half, x(high) + PANEL.side - half]);
    const named = centre - half >= freeFrom;
    if (named) freeFrom = centre + half + 4;
    return svg(
      "g",
      { class: `cut-mark${second ? " second" : ""}` },
      svg("line", { class: "mark", x1: position, x2: position, y1: PANEL.top, y2: height - PANEL.bottom }),
      named ? svg("text", { class: "tick", x: centre, y: height - PANEL.bottom + (second ? 42 : 29), "text-anchor": "middle" }, reference.mark) : null,
    );
  });
}

/**
 * Where the values of the cuts are written: at their cuts, moved apart where they would overlap. Where
 * that is too far, they are crowded: only the outermost are seen, or that of the cut with the focus.
 */
function labelCentres({ cuts, axis: { low, high, at }, ...view }, x, width) {
  const places = cuts.map((cut) => x(clamped(at(cut), [low, high])));
  const halves = cuts.map((cut) => widthOf(cutFormat(view)(cut), LABEL) / 2 + 3);
  const movedApart = (shown) => {
    let [end, start] = [0, width];
    const centres = [...places];
    for (const i of shown) end = (centres[i] = Math.max(centres[i], end + halves[i])) + halves[i];
    for (const i of shown.reverse()) start = (centres[i] = Math.min(centres[i], start - halves[i])) - halves[i];
    return centres;
  };
  const centres = movedApart(range(cuts.length));
  const crowded = centres.some((centre, i) => Math.abs(centre - places[i]) > FAR_LABEL);
  const inside = (centre, i) => clamped(centre, [halves[i], width - halves[i]]);
  return { crowded, centres: crowded ? movedApart([0, cuts.length - 1]).map(inside) : centres };
}

/** A cut as a slider: dragged, or moved by the arrow keys in steps of a hundredth of the axis. */
function cutHandle(view, x, i, centre, height) {
  const cut = view.cuts[i];
  const { low, high, at, from } = view.axis;
  const position = x(clamped(at(cut), [low, high]));
  const [below, above] = [decisions[view.order[i]], decisions[view.order[i + 1]]];
  const text = cutFormat(view)(cut);
  const node = svg(
    "g",
    {
      class: "cut",
      role: "slider",
      tabindex: 0,
      "aria-label": `cut between ${below} and ${above}`,
      "aria-valuemin": low,
      "aria-valuemax": high,
      "aria-valuenow": clamped(at(cut), [low, high]),
      "aria-valuetext": text,
    },
    svg("rect", { class: "grip", x: position - 12, y: 0, width: 24, height: height - PANEL.bottom }),
    svg("line", { x1: position, x2: position, y1: 18, y2: height - PANEL.bottom }),
    svg("path", { d: `M${position - 8} 16h16l-8 12z` }),
    svg("text", { class: `mark-name${i && i < view.cuts.length - 1 ? "" : " outer"}`, x: centre, y: 12, "text-anchor": "middle" }, text),
  );
  node.addEventListener("pointerdown", (event) => {
    draggedCut = i;
    byId("explorer").setPointerCapture(event.pointerId);
    node.focus();
    event.preventDefault();
  });
  node.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    const ends = { Home: low, End: high };
    if (!(event.key in steps) && !(event.key in ends)) return;
    event.preventDefault();
    const now = clamped(at(cut), [low, high]);
    moveCut(view, i, from(ends[event.key] ?? clamped(now + (steps[event.key] * (high - low)) / 100, [low, high])));
  });
  return node;
}

/** Move a cut; cuts that it would pass are pushed along. */
function moveCut({ cuts }, i, value) {
  movedCuts = cuts.map((cut, j) => (j === i ? value : j < i ? Math.min(cut, value) : Math.max(cut, value)));
  showExplorer();
  rememberStakes();
}

/** Show the cost of the cuts, compared with the references, and their counts. */
function showExplorerNumbers(view) {
  const cost = costOfCuts(view, view.order, view.cuts);
  showCostOfCuts(view, cost);
  byId("explorer-table").replaceChildren(countsTable(view));
  byId("explorer-limits")?.replaceChildren(...DATA.limits.map((limit) => limitLine(limit, view.counts)));
  saved.explorer = () => explorerToSave(view, cost);
}

/** The cost of the cuts as a sentence, compared with that of the references. */
function showCostOfCuts(view, cost) {
  const isRule = !result.changed && view.cuts.every((cut, i) => cut === view.references[0].cuts[i]);
  const about = view.model.binned && !isRule ? "≈ " : ""; // bins end at the cuts of the reported rules, and nowhere else
  const comparisons = view.references.map((reference) => {
    const { name } = reference;
    const excess = withoutNoise(cost - costOfCuts(view, reference.order, reference.cuts), result.naive.cost);
    return Math.abs(excess) <= TIE * Math.abs(cost)
      ? `as much as ${name}`
      : `${about}${costInSentence(Math.abs(excess))} ${excess > 0 ? "more" : "less"} than ${name}`;
  });
  const total = DATA.volume ? ` In all ${withUnit(totalText(DATA.volume * cost))}${DATA.period ? ` per ${DATA.period}` : ""}.` : "";
  byId("explorer-cost").replaceChildren(
    html("b", {}, tied(`${about}${costInSentence(cost)} per case`)),
    tied(`: ${comparisons.join(", ")}.${total}${about ? " Approximate, and so are the counts: the page has scores in bins, and a cut may be off by the cases of one." : ""}`),
  );
}

/** Cases of each decision as whole numbers that add up to all of them; a few are not called none. */
function wholeCases(volume, shares) {
  const cases = shares.map((share) => Math.floor(volume * share));
  const left = Math.round(volume * sum(shares)) - sum(cases);
  const byRemainder = range(shares.length).sort((a, b) => ((volume * shares[b]) % 1) - ((volume * shares[a]) % 1) || a - b);
  byRemainder.slice(0, Math.max(0, left)).forEach((d) => (cases[d] += 1));
  return cases.map((count, d) => (count || !shares[d] ? fixed(count, 0) : "< 1"));
}

/** Counts by class and decision, and the share and the number of cases that receive each decision. */
function countsTable({ counts }) {
  const rates = decisionRates(counts);
  const shares = deployedShares(counts, result.prior);
  const rows = classes.map((label, k) => ({
    cells: [
      label,
      ...decisions.map((_, d) => numberCell(counts[k][d], null, `${short(counts[k][d])} (${wholePercent(rates[k][d])})`)),
    ],
  }));
  const deployedRow = { look: "reference-row", cells: ["of all cases, once deployed", ...shares.map(wholePercent)] };
  const volume = DATA.volume || 1000;
  const period = DATA.volume && DATA.period ? ` per ${DATA.period}` : "";
  const capacityRow = {
    look: "reference-row",
    cells: [`${DATA.volume ? "of" : "per"} ${short(volume)} cases${period}`, ...wholeCases(volume, shares).map((text, d) => numberCell(volume * shares[d], null, text))],
  };
  return tableOf(["class", ...decisions], [...rows, deployedRow, capacityRow]);
}

/** Rows of the download: counts by class and decision, with the cut above which the decision is made. */
function explorerToSave({ name, counts, order, cuts, way, toOwn }, cost) {
  const rates = decisionRates(counts);
  const shares = deployedShares(counts, result.prior);
  return [
    ["model", "class", "decision", "cases", "share of class", "above", "cost per case", "share of all cases", ...(way === "as is" ? [] : ["above, corrected"])],
    ...classes.flatMap((label, k) =>
      order.map((d, i) => {
        const cut = i ? cuts[i - 1] : -Infinity;
        const score = i && toOwn ? toOwn(cut) : i ? NaN : cut;
        return [name, label, decisions[d], counts[k][d], rates[k][d], score, cost, shares[d], ...(way === "as is" ? [] : [cut])];
      }),
    ),
  ];
}

/** Whether the cuts keep a limit on the share of a decision, or on its rate within a class. */
function limitLine({ decision, within, bound, sign, text }, counts) {
  const isDecision = decisions.map((_, d) => Number(d === decision));
  const rows = within === null ? counts : [counts[within]];
  const prior = within === null ? result.prior : [1];
  const value = expectedCost(rows, rows.map(() => isDecision), prior);
  const hasInterval = !DATA.clustered && !DATA.weighted && rows.flat().every(Number.isInteger);
  const bounds = hasInterval ? intervalOfCounts(rows, rows.map(() => isDecision), prior) : [value, value];
  const [nearest, farthest] = [...bounds].sort((a, b) => sign * (a - b));
  const [kept, possible] = [farthest, nearest].map((share) => sign * (share - bound) <= TIE);
  const outcome = kept ? "kept" : possible ? "not shown to be kept" : "broken";
  const interval = hasInterval ? ` (${percent(DATA.level)}: ${intervalText([value, ...bounds].map((share) => 100 * share))} %)` : "";
  return html("li", { class: possible ? null : "worse" }, tied(`${text}; here ${probabilityText(value)}${interval}: ${outcome}.`));
}

/** Connect the list of tables, the buttons and the dragging of cuts. */
function buildExplorer() {
  const picker = byId("explorer-pick");
  picker.append(
    html("option", { value: "" }, "the best model"),
    ...EXPLORABLE.map((option, i) => html("option", { value: i }, option.name)),
  );
  picker.addEventListener("change", () => {
    pickedTable = picker.value === "" ? null : Number(picker.value);
    setCuts(null);
  });
  for (const button of BUTTONS) {
    byId(button).addEventListener("click", () => setCuts(referenceOf(button, exploration()).cuts));
  }
  const host = byId("explorer");
  host.addEventListener("pointermove", (event) => {
    if (draggedCut === null) return;
    const view = exploration();
    const { low, high, from } = view.axis;
    const width = explorerWidth() - 2 * PANEL.side;
    const position = (event.clientX - host.getBoundingClientRect().left - PANEL.side) / width;
    moveCut(view, draggedCut, from(clamped(low + position * (high - low), [low, high])));
  });
  const release = () => (draggedCut = null);
  host.addEventListener("pointerup", release);
  host.addEventListener("pointercancel", release);
}
