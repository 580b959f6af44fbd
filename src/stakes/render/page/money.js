// Money: what each cell and each class contributes to the cost of a system.

let pickedSystem = null; // name of the system whose cells are shown; null for the cheapest

// Cells -------------------------------------------------------------------------------------------

/** Connect the list of systems whose cells can be shown. */
function buildPicker() {
  byId("money").addEventListener("scroll", fadeMoney);
  const offered = SYSTEMS.filter((system) => !system.added);
  const options = offered.map((system, i) => html("option", { value: i }, system.name));
  const picker = byId("money-pick");
  picker.append(html("option", { value: "" }), ...options);
  picker.addEventListener("change", () => {
    pickedSystem = picker.value === "" ? null : offered[Number(picker.value)].name;
    showMoney();
  });
}

/**
 * What each cell contributes to the cost of a system. Gains have no share of a cost: with them, shares
 * are those of the regret or, where cases have their own costs or the cost is undefined, amounts are
 * shown without shares.
 */
function cellParts(system) {
  const gains = system.costs.flat().some((cost) => cost < 0);
  const byRegret = gains && !TERMS;
  const parts = costParts(system.counts, byRegret ? regretOf(system.costs) : system.costs, result.prior);
  const total = sum(parts.flat());
  const cells = classes.flatMap((_, k) => decisions.map((__, d) => ({ k, d, part: parts[k][d], share: parts[k][d] / total })));
  const peak = Math.max(...cells.map(({ part }) => Math.abs(part) || 0)) || 1;
  return { parts, total, cells, peak, quantity: byRegret ? "regret" : "cost", amountsOnly: (gains && Boolean(TERMS)) || Number.isNaN(total) };
}

/** What the numbers in the cells are. */
function cellsHint({ running }, { quantity, amountsOnly }) {
  const shown = {
    regret: "Each cell’s share of the regret, its cost above the best decision of the class, once deployed",
    cost: `${amountsOnly ? "What each cell costs per case" : "Each cell’s share of the cost"}, once deployed${running ? ", running costs apart" : ""}`,
  }[quantity];
  return `${shown}; below it the cases that were counted.`;
}

/** Show the counts of a system and the share of its cost that each cell has. */
function showMoney() {
  const system = result.systems.find((other) => other.name === pickedSystem) || result.best;
  const breakdown = cellParts(system);
  const { parts, cells, peak, quantity, amountsOnly } = breakdown;
  const rates = decisionRates(system.counts);
  const tooltipLines = ({ k, d, part, share }) => [
    ["cases", exact(system.counts[k][d])],
    ["share of the class", exactPercent(rates[k][d])],
    [TERMS ? "mean cost of each" : "cost of each", money(system.costs[k][d])],
    [`${quantity} per case`, exact(part)],
    [`share of the ${quantity}`, exactPercent(share)],
  ];
  byId("money-pick").options[0].textContent = bestInWords();
  byId("money-hint").textContent = cellsHint(system, breakdown);
  byId("money").replaceChildren(cellTable(system, breakdown, tooltipLines));
  byId("money-name").textContent = tied(`${system.name}: ${costInSentence(system.cost)} per case`);
  showCostliestCells(cells, peak, tooltipLines, amountsOnly);
  showClassCosts(system, parts, quantity);
  fadeMoney();
  saved.classes = classCostsToSave;
  saved.decisions = decisionsToSave;
}

/** Let the table fade at the side where it goes on: its coloured cells would cover a shadow. */
function fadeMoney() {
  const host = byId("money");
  host.classList.toggle("goes-on", host.scrollLeft + host.clientWidth < host.scrollWidth - 1);
}

/** Classes by decisions: the share or the amount in each cell, and the share of each class. */
function cellTable({ counts }, { parts, total, cells, peak, quantity, amountsOnly }, tooltipLines) {
  const cellOf = (cell) => {
    const { k, d, part, share } = cell;
    const node = html(
      "td",
      { class: "cell" },
      html("b", { class: share < 0.01 ? "slight" : null }, part ? (amountsOnly ? costText(part) : partText(share)) : "–"),
      html("small", {}, short(counts[k][d])),
    );
    node.style.setProperty("--heat", (Math.abs(part || 0) / peak).toFixed(3));
    return withTip(node, `${decisions[d]} for ${classes[k]}`, tooltipLines(cell));
  };
  const body = classes.map((label, k) =>
    html(
      "tr",
      {},
      html("th", { scope: "row", title: label }, shortened(label, 26)),
      cells.filter((cell) => cell.k === k).map(cellOf),
      amountsOnly ? null : html("td", { class: "of-class" }, total ? partText(sum(parts[k]) / total) : "–"),
    ),
  );
  const names = decisions.map((name) => html("th", { scope: "col", title: name }, shortened(name, 26)));
  const head = [html("td", {}), names, amountsOnly ? null : html("th", { scope: "col" }, `of the ${quantity}`)];
  return withArrowKeys(html("table", { class: "cells" }, headOf(head), html("tbody", {}, body)));
}

/** Cells that the list of the costliest has: on paper it may have to do without its table. */
const mostCells = () => (onPaper ? 24 : 6);

/** The cells that cost the most, in descending order. */
function showCostliestCells(cells, peak, tooltipLines, amountsOnly) {
  const costly = cells.filter(({ part }) => part > 0).sort((a, b) => b.part - a.part);
  const rows = costly.slice(0, mostCells()).map((cell) => {
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
        tied(amountsOnly ? costText(cell.part) : `${costText(cell.part)} · ${partText(cell.share)}`),
      ),
      bar,
    );
    return withTip(row, `${decisions[cell.d]} for ${classes[cell.k]}`, tooltipLines(cell));
  });
  byId("costliest").replaceChildren(...rows);
}

/** Rows of the download: counts and costs by system, class and decision. */
function decisionsToSave() {
  const head = ["system", "class", "decision", "cases", "share of class", "cost of each", "part of cost per case"];
  const rows = result.systems.flatMap((system) => {
    const rates = decisionRates(system.counts);
    const parts = costParts(system.counts, system.costs, result.prior);
    return classes.flatMap((label, k) =>
      decisions.map((decision, d) =>
        [system.name, label, decision, system.counts[k][d], rates[k][d], system.costs[k][d], parts[k][d]],
      ),
    );
  });
  return [head, ...rows];
}

// Classes, if there are more than two -------------------------------------------------------------

/** What every class contributes to the cost per case, the costliest first. */
function classParts(parts) {
  const byClass = parts.map((row, k) => ({ k, part: sum(row) }));
  return byClass.sort((a, b) => b.part - a.part || a.k - b.k);
}

const FIRST_CLASSES = 12; // classes that the list shows at first
let allClassesShown = false;

/** A bar for every true class: what its cases contribute to the cost, and what one of them costs. */
function showClassCosts({ counts }, parts, quantity) {
  byId("class-costs-part").hidden = TWO;
  if (TWO) return;
  const byCost = classParts(parts);
  const total = sum(byCost.map(({ part }) => part));
  const largestPart = Math.max(...byCost.map(({ part }) => Math.abs(part) || 0)) || 1;
  const shown = allClassesShown ? byCost : byCost.slice(0, FIRST_CLASSES);
  const rows = shown.map(({ k, part }) => {
    const bar = html("i", {});
    bar.style.width = `${(100 * Math.abs(part || 0)) / largestPart}%`;
    const share = total > 0 && part >= 0 ? ` · ${partText(part / total)}` : "";
    const row = html("li", {}, html("b", {}, classes[k]), html("span", { class: "amount" }, tied(costText(part) + share)), bar);
    return withTip(row, classes[k], [
      ["cases counted", exact(sum(counts[k]))],
      ["prior", exactPercent(result.prior[k])],
      [`${quantity} of one such case`, exact(part / result.prior[k])],
      [`part of the ${quantity} per case`, exact(part)],
    ]);
  });
  byId("class-costs").replaceChildren(...rows);
  byId("class-costs-name").textContent = inUnit(`What each class adds to the ${quantity} per case`);
  const button = byId("class-costs-all");
  button.hidden = byCost.length <= FIRST_CLASSES;
  byId("class-costs-rest").textContent = shown.length < byCost.length ? `${byCost.length - shown.length} more are on the page and in its CSV.` : "";
  button.textContent = allClassesShown ? `Show the first ${FIRST_CLASSES}` : `Show all ${byCost.length} classes`;
}

/** Rows of the download: every system and class. */
function classCostsToSave() {
  const rows = result.systems.flatMap(({ name, counts, costs }) =>
    costParts(counts, costs, result.prior).map((row, k) =>
      [name, classes[k], sum(counts[k]), result.prior[k], dot(costs[k], decisionRates(counts)[k]), sum(row)],
    ),
  );
  return [["system", "class", "cases", "prior", "cost of one such case", "part of cost per case"], ...rows];
}

/** Connect the button that shows all classes. */
function buildClassCosts() {
  byId("class-costs-all").addEventListener("click", () => {
    allClassesShown = !allClassesShown;
    showMoney();
  });
}
