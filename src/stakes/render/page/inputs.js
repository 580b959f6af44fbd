// Inputs: a field and a slider for every cost and for the prior.

const inputUpdates = []; // functions that show the state in the inputs
const FIELD_WIDTH = 8; // characters of a field; the style sheet makes them that wide in any font
const GRIDDED = classes.length * decisions.length > 12; // too many numbers for a slider each

/** The terms that a cost is written with; one where it is a number. */
const termsOf = (k, d) =>
  TERMS ? range(TERMS.length).filter((t) => !Number.isNaN(REPORTED.costs[k][d][t])) : [null];
/** How a coefficient is called beside its cost; a matrix for each case has a term for each cost. */
const timesTerm = (k, d, t) => (termName(t) === costName(k, d) ? "× each case’s own" : `× ${termName(t)}`);
/** All numbers of the same kind: costs, or coefficients of one term. */
const reportedNumbers = (t) =>
  REPORTED.costs.flat().map((cost) => (t === null ? cost : cost[t])).filter(Number.isFinite);

/** A share as percent, and back, without digits that only rounding adds. */
const inPercent = (share) => Number((100 * share).toPrecision(15));
const fromPercent = (value) => Number((value / 100).toPrecision(15));

/** A number as a field shows it: all digits where there is room, else as many as there is. */
function fieldText(value) {
  const ways = range(5).flatMap((i) => [
    String(Number(value.toPrecision(5 - i))),
    value.toExponential(4 - i).replace("e+", "e"),
  ]);
  return [String(value), ...ways].find((text) => text.length <= FIELD_WIDTH) ?? ways[ways.length - 1];
}

/** A number field and a slider for one value, which `read` and `write` reach. */
function control({ name, read, write, slider, field }) {
  const limits = slider.limits(read());
  const line = html("input", { type: "range", class: "slide", "aria-label": name, ...limits });
  const box = html("input", {
    type: "number",
    class: "figure",
    step: "any",
    "aria-label": name,
    ...field,
  });
  box.addEventListener("input", () => {
    if (Number.isFinite(box.valueAsNumber)) write(box.valueAsNumber);
  });
  const fillBox = () => {
    const value = read();
    box.value = document.activeElement === box ? value : fieldText(value);
    box.title = exact(value); // the state keeps all digits
  };
  box.addEventListener("change", fillBox);
  box.addEventListener("focus", () => {
    fillBox();
    box.select();
  });
  box.addEventListener("blur", () => requestAnimationFrame(fillBox));
  line.addEventListener("input", () => write(slider.from(line.valueAsNumber)));
  let shown = null; // most of many fields stay as they are
  inputUpdates.push(() => {
    const value = read();
    if (shown === `${value} ${result.changed}`) return;
    shown = `${value} ${result.changed}`;
    if (document.activeElement !== box || box.valueAsNumber !== value) fillBox();
    const position = slider.to(value);
    const reach = result.changed ? line : limits; // stretched until the stakes are the report's
    line.min = Math.min(reach.min, position);
    line.max = Math.max(reach.max, position);
    line.value = position;
    line.setAttribute("aria-valuetext", slider.say(value));
  });
  return { name, box, line };
}

// Beyond a thousand times the largest cost of the report, and a billion, nothing is typed in earnest.
const LARGEST_COST = 1000 * Math.max(1e9, largest(REPORTED.costs.flat(2)));

function costLimits(value, t) {
  const numbersOfKind = reportedNumbers(t);
  const largestSize = Math.max(...numbersOfKind.map(Math.abs)) || 1;
  const lowest = numbersOfKind.some((cost) => cost < 0) ? -largestSize : 0;
  const [min, max] = value > 0 ? [0, 4 * value] : value < 0 ? [4 * value, 0] : [lowest, largestSize];
  return { min, max, step: Number(((max - min) / 200).toPrecision(6)) };
}

/** Of a cost, or of the coefficient of one of its terms. */
function costControl(k, d, t, change) {
  const same = (value) => value;
  return control({
    name: t ? `${costName(k, d)}, ${timesTerm(k, d, t)}` : costName(k, d),
    read: () => (t === null ? state.costs[k][d] : state.costs[k][d][t]),
    write: (value) => {
      const { costs } = copyOf(state);
      const clipped = Math.max(-LARGEST_COST, Math.min(LARGEST_COST, value));
      if (t === null) costs[k][d] = clipped;
      else costs[k][d][t] = clipped;
      change({ costs });
    },
    slider: { limits: (value) => costLimits(value, t), to: same, from: same, say: t ? short : money },
  });
}

/** The prior with one share set; the others keep their proportions to each other. */
function priorWith(k, share) {
  const rest = sum(state.prior.filter((_, i) => i !== k));
  const other = (classShare) => (rest > 0 ? (classShare / rest) * (1 - share) : (1 - share) / LAST);
  return state.prior.map((classShare, i) => (i === k ? share : TWO ? 1 - share : other(classShare)));
}

/** A prior in percent; its slider moves on log-odds, where small shares have room. */
function priorControl(k, change) {
  return control({
    name: `${priorName(k)}, in percent`,
    read: () => inPercent(state.prior[k]),
    write: (value) => change({ prior: priorWith(k, Math.max(0, Math.min(1, fromPercent(value)))) }),
    field: { min: 0, max: 100 },
    slider: {
      limits: () => ({ min: -7, max: 7, step: 0.05 }),
      to: (value) => Math.max(-9, Math.min(9, Math.log(value / (100 - value)))),
      from: (odds) => Number((100 / (1 + Math.exp(-odds))).toPrecision(6)),
      say: (value) => percent(fromPercent(value)),
    },
  });
}

const labelled = (text, { box, line }, look = "name") =>
  html("div", { class: "control" }, html("span", { class: look, title: text }, text), box, line);

/** A slider for every number, class by class. */
function buildSliders(host, change) {
  classes.forEach((label, k) => {
    const rows = decisions.flatMap((decision, d) =>
      termsOf(k, d).map((t) =>
        t
          ? labelled(`${decision} ${timesTerm(k, d, t)}`, costControl(k, d, t, change), "name term")
          : labelled(decision, costControl(k, d, t, change)),
      ),
    );
    const legend = html("legend", {}, "When the case is ", html("b", {}, label));
    host.append(html("fieldset", {}, legend, rows));
  });
  const shares = (TWO ? [1] : range(classes.length)).map((k) =>
    labelled(classes[k], priorControl(k, change)),
  );
  const legend = html("legend", {}, "How often it happens ", html("b", {}, "(prior, in %)"));
  host.append(html("fieldset", {}, legend, shares));
}

/** Many numbers: a grid of fields, and one slider for the field that was touched last. */
function buildGrid(host, change) {
  const slot = html("div", { class: "control shared" });
  const show = ({ name, line }) =>
    slot.replaceChildren(html("span", { class: "name" }, name), line);
  const cell = (...controls) => {
    for (const input of controls) {
      input.box.addEventListener("focus", () => show(input));
      if (!slot.firstChild) show(input);
    }
    return html("td", {}, controls.map((input) => input.box));
  };
  const head = ["cost of … for", ...decisions, "prior, in %"].map((text) =>
    html("th", { scope: "col", title: text }, text),
  );
  const rows = classes.map((label, k) =>
    html(
      "tr",
      {},
      html("th", { scope: "row", title: label }, label),
      decisions.map((_, d) => cell(...termsOf(k, d).map((t) => costControl(k, d, t, change)))),
      cell(priorControl(k, change)),
    ),
  );
  const table = html(
    "table",
    { class: "fields" },
    headOf(head),
    html("tbody", {}, rows),
  );
  host.append(html("div", { class: "scroll fields-scroll" }, table), slot);
}

function showInputs() {
  inputUpdates.forEach((show) => show());
  place("reset").disabled = !result.changed && DATA.volume === REPORTED_VOLUME;
}
