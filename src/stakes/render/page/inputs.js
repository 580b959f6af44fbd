// Inputs: a number field and a slider for every cost and for the prior.

const inputUpdates = []; // functions that copy the state into the inputs
const FIELD_WIDTH = 8; // characters; the style sheet makes fields this wide in any font
const GRIDDED = classes.length * decisions.length > 12; // too many numbers for a slider beside each

/** Indices of the terms in a cost; [null] if the cost is a single number. */
const termsOf = (k, d) =>
  TERMS ? range(TERMS.length).filter((t) => !Number.isNaN(REPORTED.costs[k][d][t])) : [null];
/** Label of a coefficient; with a cost matrix for each case, every cost is a term of its own. */
const timesTerm = (k, d, t) => (termName(t) === costName(k, d) ? "× each case’s own" : `× ${termName(t)}`);
/** All costs of the report, or all coefficients of one of its terms. */
const reportedNumbers = (t) =>
  REPORTED.costs.flat().map((cost) => (t === null ? cost : cost[t])).filter(Number.isFinite);

/** A share in percent, and back; digits that only binary rounding adds are dropped. */
const inPercent = (share) => Number((100 * share).toPrecision(15));
const fromPercent = (value) => Number((value / 100).toPrecision(15));

/** A number with as many digits as fit into a field. */
function fieldText(value) {
  const texts = range(5).flatMap((i) => {
    const rounded = Number(value.toPrecision(5 - i));
    return [String(rounded), rounded.toExponential().replace("e+", "e")];
  });
  return [String(value), ...texts].find((text) => text.length <= FIELD_WIDTH) ?? texts[texts.length - 1];
}

/** A number field and a slider for one value of the state, accessed by `read` and `write`. */
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
    box.title = exact(value); // the state has all digits
  };
  box.addEventListener("change", fillBox);
  box.addEventListener("focus", () => {
    fillBox();
    box.select();
  });
  box.addEventListener("blur", () => requestAnimationFrame(fillBox));
  line.addEventListener("input", () => write(slider.from(line.valueAsNumber)));
  let shown = null; // unchanged fields are skipped: there may be many
  inputUpdates.push(() => {
    const value = read();
    const stretched = !result.changed && (line.min < limits.min || line.max > limits.max);
    if (Object.is(value, shown) && !stretched) return;
    shown = value;
    if (document.activeElement !== box || box.valueAsNumber !== value) fillBox();
    const position = slider.to(value);
    const reach = result.changed ? line : limits; // a stretched slider keeps its range until the reset
    line.min = Math.min(reach.min, position);
    line.max = Math.max(reach.max, position);
    line.value = position;
    line.setAttribute("aria-valuetext", slider.format(value));
  });
  return { name, box, line };
}

// A typed cost is clipped here: a thousand times the largest cost of the report, or more, is a slip.
const LARGEST_COST = 1000 * Math.max(1e9, largest(REPORTED.costs.flat(2)));

/** Range of the slider of a cost: up to four times its value. */
function costLimits(value, t) {
  const numbersOfKind = reportedNumbers(t);
  const largestSize = Math.max(...numbersOfKind.map(Math.abs)) || 1;
  const lowest = numbersOfKind.some((cost) => cost < 0) ? -largestSize : 0;
  const [min, max] = value > 0 ? [0, 4 * value] : value < 0 ? [4 * value, 0] : [lowest, largestSize];
  return { min, max, step: Number(((max - min) / 200).toPrecision(6)) };
}

/** Field and slider of a cost, or of the coefficient of one of its terms. */
function costControl(k, d, t, change) {
  const same = (value) => value; // the slider has the scale of the cost
  return control({
    name: t ? `${costName(k, d)}, ${timesTerm(k, d, t)}` : costName(k, d),
    read: () => (t === null ? state.costs[k][d] : state.costs[k][d][t]),
    write: (value) => {
      const { costs } = copyOf(state);
      const clipped = clamped(value, [-LARGEST_COST, LARGEST_COST]);
      if (t === null) costs[k][d] = clipped;
      else costs[k][d][t] = clipped;
      change({ costs });
    },
    slider: { limits: (value) => costLimits(value, t), to: same, from: same, format: t ? short : money },
  });
}

/** The prior with the share of one class set; the others keep their relative proportions. */
function priorWith(k, share) {
  const rest = sum(state.prior.filter((_, i) => i !== k));
  const scaled = (classShare) => (rest > 0 ? (classShare / rest) * (1 - share) : (1 - share) / LAST);
  return state.prior.map((classShare, i) => (i === k ? share : TWO ? 1 - share : scaled(classShare)));
}

const PRIOR_STEP = 0.05; // of the slider of a prior, in log-odds
/** The share at a position of the slider of a prior. */
const fromSliderOfShare = (odds) => fromPercent(Number((100 * fromLogOdds(odds)).toPrecision(6)));

/** Field and slider of a prior in percent; the slider is in log-odds, so that small shares can be set. */
function priorControl(k, change) {
  return control({
    name: `${priorName(k)}, in percent`,
    read: () => inPercent(state.prior[k]),
    write: (value) => change({ prior: priorWith(k, clamped(fromPercent(value), [0, 1])) }),
    field: { min: 0, max: 100 },
    slider: {
      limits: () => ({ min: -7, max: 7, step: PRIOR_STEP }),
      to: (value) => clamped(logOdds(value / 100), [-9, 9]),
      from: (odds) => inPercent(fromSliderOfShare(odds)),
      format: (value) => percent(fromPercent(value)),
    },
  });
}

/** A row with a label, a field and a slider. */
const labelled = (text, { box, line }, look = "name") =>
  html("div", { class: "control" }, html("span", { class: look, title: text }, text), box, line);

/** A field and a slider for every number, grouped by class. */
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

/** For many numbers: a grid of fields, and one slider for the field that last had the focus. */
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
    html("th", { scope: "col", title: text }, shortened(text, 26)),
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
  // with the keyboard, nobody wants to pass every field
  const skip = html("button", { type: "button", class: "skip" }, "Skip these fields");
  skip.addEventListener("click", () => slot.querySelector("input").focus());
  host.append(skip, html("div", { class: "scroll fields-scroll" }, table), slot);
}

/** Copy the stakes into the inputs; a reset is possible once they differ from the report. */
function showInputs() {
  inputUpdates.forEach((show) => show());
  byId("reset").disabled = !result.changed && DATA.volume === REPORTED_VOLUME;
}
