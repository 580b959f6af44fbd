// Changes: the verdict under changed stakes, compared with the verdict of the report.

/** An amount as its interval supports it; without an interval it is rounded like the other costs. */
function amountOf(interval) {
  if (!Number.isFinite(interval[1])) return costInSentence(interval[0]);
  const [value] = measured(interval);
  const isHidden = interval[0] > 0 && readsAsZero(value); // a small amount does not read as 0
  return withUnit(isHidden ? smallAmount(interval[0], result.best.cost) : value);
}

/** A cost per case with its interval, for a sentence; only the first of a paragraph needs the level. */
function textWithInterval(interval, level = `${percent(DATA.level)} interval `, per = " per case", adjusted = "") {
  const bounds = Number.isFinite(interval[1]) ? ` (${level}${intervalText(interval)}${adjusted})` : "";
  return amountOf(interval) + per + bounds;
}

/** The recommendation of the report and the current one, and whether the data can tell them apart. */
function wasAndNow({ inference }) {
  const [was, now] = [reportedChoice, choiceNow()];
  const still = was === now ? now : `${modelOf(now)}, with its probabilities moved to this prior`;
  const compared = isSameChoice(was, now) ? `Still ${still}` : `Was ${was}, now ${now}`;
  if (!inference) return `${compared}, by the costs on these cases; how sure that is cannot be said from this page: evaluate again with these costs.`;
  const others = inference.possible().filter((name) => !isSameChoice(name, now));
  const namesOfWas = namesOfChoice(was).filter((name) => others.includes(name));
  // rules of the models that are among the cheapest and named anyway need no mention
  const named = new Set([now, ...namesOfWas].map(modelOf));
  const rest = others.filter((name) => !named.has(modelOf(name)));
  const otherNames = inWords(rest.length ? rest : others, was);
  if (isSameChoice(was, now)) return `${compared}${others.length ? `, but the data cannot tell it from ${otherNames}` : ", clearly the cheapest"}.`;
  if (namesOfWas.length) {
    const apart = namesOfWas.includes(was) ? "them apart" : `it from ${namesOfWas[0]}`;
    return `${compared}, but the data cannot tell ${apart}${rest.length ? `, nor from ${otherNames}` : ""}.`;
  }
  const reason = inference.isConstant(was) && now === inference.constant ? "decides the same here" : "clearly costs more here";
  return `${compared}: ${was} ${reason}${others.length ? `, but the data cannot tell ${now} from ${otherNames}` : ""}.`;
}

/** Whether a system decides by scores in bins, all cases of one alike: a new evaluation would give a slightly different cost. */
const isBinned = (system) => !TERMS && system.way !== "fixed" && MODELS[system.model].binned;

/** Limitations of the numbers: decisions that do not change, scores in bins. */
function limitsOfChange({ best, unaided, inference, prior }) {
  const known = inference && isPriorSet(prior) ? ["The prior that you set counts as known, not as estimated from the data."] : [];
  if (best.way === "fixed" && dependsOnStakes(best))
    return ["Decisions made anew for your stakes may cost less: evaluate again with these costs.", ...known];
  return [
    ...(inference && best.way === "recalibrated" && isOtherPrior(prior) ? [`Approximate: what the fit of the calibration map adds to the uncertainty is carried over from the stakes of the report. In trials that changed the saving by less than 3 %, and an end of its interval by less than 5 %, of what ${unaided.phrase} costs.`] : []),
    ...(isBinned(best) ? [`Approximate: the page has scores in bins, which mostly changes costs by less than 1 % of what ${unaided.phrase} costs.`] : []),
    ...known,
    ...(inference ? [] : [`Intervals, chances and what is added for having chosen the cheapest hold for the stakes of the report only: ${whyUnsure()}. Reset to see them.`]),
  ];
}

/** Why the page has no intervals under changed stakes. */
const whyUnsure = () =>
  TERMS ? "every case has its own costs" : DATA.clustered ? "cases come in clusters" : "the page does not hold what they need";

/**
 * The verdict under changed stakes, in paragraphs: few, so that they take no more room on a phone
 * than the verdict of the report.
 */
function changedParagraphs(outcome) {
  const { best, rival, unaided, namesModel, inference } = outcome;
  if (Number.isNaN(best.cost)) return ["No system can be recommended: the costs are undefined at these stakes."];
  const keepsDecisions = best.way === "fixed" && dependsOnStakes(best);
  const expected = expectedOf(outcome);
  const saving = savingOf(outcome);
  const doubt = saving[1] <= 0 ? ", but the data cannot rule out that it saves nothing" : "";
  const share = saving[0] > 0 && saving[0] <= unaided.cost ? `, ${wholePercent(saving[0] / unaided.cost).replace("< ", "less than ").replace("> ", "more than ")} of that` : "";
  const first = outcome.verdict.doubt ? `Try ${modelWithRule(best)}: ${outcome.verdict.doubt}. Expect` : `Deploy ${modelWithRule(best)}: expect`;
  const winner = [
    keepsDecisions
      ? `The decisions that ${best.name} made for the stakes of the report would cost ${textWithInterval(expected)}, the least of all.`
      : inference
        ? `${first} it to cost ${textWithInterval(expected)}.`
        : `The cheapest is ${modelWithRule(best)}: on these cases it costs ${textWithInterval(expected)}.`,
    `Against ${unaided.phrase}, which costs ${costInSentence(unaided.cost)} per case, ` +
      (saving[0] > 0
        ? `${keepsDecisions ? "these decisions save" : "it saves"} ${textWithInterval(saving, "")}${share}${doubt}.`
        : `expect ${keepsDecisions ? "them" : "it"} to save nothing: being cheaper on these cases may be luck.`),
  ];
  const rest = [...(rival && namesModel ? [runnerUp(outcome)] : []), ...limitsOfChange(outcome)];
  return [
    [wasAndNow(outcome)],
    namesModel ? winner : outcome.verdict.keep ? keepSentences(outcome) : noneSentences(outcome, keepsDecisions, expected, saving),
    ...(rest.length ? [rest] : []),
  ].map((sentences) => sentences.join(" "));
}

const modelWithRule = (system) => `${MODELS[system.model].name} with ${ruleText(system)}`;

/** Sentences for a verdict that keeps the incumbent. */
function keepSentences(outcome) {
  const { best, verdict: { keep } } = outcome;
  if (!DATA.baseline.paired) return [`Keep ${keep}: what it costs at these stakes is not known from this page; evaluate again with these costs.`];
  const { cost, saving } = incumbentOf(outcome);
  const reason = best.name === keep ? "no other system is cheaper on these cases" : `it is not shown that ${best.name} costs less`;
  const change = best.name === keep ? [] : [`${best.name} ${saving[0] > 0 ? "saves" : "costs"} ${textWithInterval([Math.abs(saving[0]), ...saving.slice(1)], "")}${saving[0] > 0 ? "" : " more"}.`];
  return [`Keep ${keep}: ${reason}.`, `It costs ${textWithInterval(cost)}.`, ...change];
}

/** Sentences for a verdict that recommends none of the systems. */
function noneSentences({ best, unaided, inference }, keepsDecisions, expected, saving) {
  const price = `${costInSentence(unaided.cost)} per case`;
  const above = withoutNoise(best.cost - unaided.cost, unaided.cost);
  const reason = !(above > 0)
    ? `${unaided.phrase} costs as little${saving[0] < 0 ? " on these cases" : ""}, ${price}, and needs no model`
    : `${unaided.phrase}, which costs ${price}, is cheaper${saving[2] >= 0 ? " on these cases, though not clearly" : ""}`;
  const doubt = saving[2] > 0 ? "; the data cannot rule out that it saves something" : "";
  const which = keepsDecisions ? `which ${best.name} made for the stakes of the report` : modelWithRule(best);
  const decidesTheSame = inference?.isConstant(best.name);
  return [
    `Deploy none: ${reason}.`,
    `The best of them, ${which}, ${decidesTheSame ? "decides the same" : `would cost ${textWithInterval(expected)}${doubt}`}.`,
  ];
}

/** A sentence about the runner-up. */
function runnerUp(outcome) {
  const { best, rival, inference } = outcome;
  const begin = `The runner-up, ${rival.name}, costs `;
  if (!inference) return `${begin}${costInSentence(rival.cost - best.cost)} more per case.`;
  const more = inference.more(rival.name);
  if (more[0] === 0) return `${begin}the same.`;
  const comparison = inference.contenders().includes(rival.name) ? "the data cannot tell the two apart" : "it clearly costs more";
  // the cost to expect of the best holds what was added for having chosen it, the difference does not
  const [expected, ...bounds] = expectedOf(outcome);
  const [there, here] = [expected, best.cost].map((cost) => measured([cost, ...bounds])[0]);
  const per = ` more per case${here === there ? "" : " on these cases"}`;
  const adjusted = numberOfContenders(outcome).of > 2 ? ", adjusted for all comparisons" : "";
  return `${begin}${textWithInterval(more, undefined, per, adjusted)}: ${comparison}.`;
}
