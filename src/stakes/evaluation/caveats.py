"""What to know before the verdict is used, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np

from stakes._check import Labels
from stakes._text import number, percent, whole_percent
from stakes.evaluation.cases import money, rounded
from stakes.evaluation.evidence import (
    LARGE_SHARE,
    SMALLEST,
    TOP_CASES,
    Evidence,
    JointSample,
    ModelTallies,
    few_cases,
)
from stakes.evaluation.flips import MOST_COSTS, are_bounded, n_costs
from stakes.evaluation.quality import Miscalibration
from stakes.evaluation.suspect_columns import telling_columns
from stakes.inference import MOST_RIVALS, SampledCosts
from stakes.problem import Problem
from stakes.report import (
    BAYES,
    LEFT_OUT,
    MOVED,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Caveat,
    ModelQuality,
    System,
    Verdict,
    cheapest_of,
)
from stakes.rows import POSTERIORS

_FEW_CLUSTERS = 6  # below, intervals rest on normal cluster effects: see `profile_interval`
_UNEQUAL = 0.6  # coefficient of variation of cluster sizes: beyond, see docs/coverage.md
_MOST_NAMED = 3  # classes that a caveat lists
_SHIFT = 1.25  # ratio of the odds of a class, prior to data, from which a caveat is due
_WRITTEN = 1.5e-3  # by how much three posteriors written with three decimals may miss one
_NAMED = (
    "In Python, Posteriors(values, classes=model.classes_) takes them by name; in files, so do "
    "columns that are named after the classes."
)
_UNTIL = "Nothing that it decides is deployed until its classes are named."
_COSTLY = 0.05  # share of the cost due to bad calibration, from which a caveat is due


def caveats_of(
    evidence: Evidence,
    systems: tuple[System, ...],
    models: tuple[ModelQuality, ...],
    verdict: Verdict,
    costs: SampledCosts,
    miscalibrations: Mapping[str, Miscalibration | None],
) -> tuple[Caveat, ...]:
    """All caveats that apply; a tuned threshold matters only where the verdict deploys it."""
    best = next((system for system in systems if system.name == verdict.cheapest), None)
    return (
        *_other_order(evidence),
        *_backwards(models, evidence),
        *_known_too_late(evidence),
        *_prior_mismatch(evidence, systems),
        *_small_classes(evidence),
        *(() if best is None else _tuned_threshold(best)),
        *_broken_limits(systems),
        *_certain(evidence),
        *_sums(evidence.models),
        *_miscalibration(models, systems, costs, miscalibrations, verdict, evidence),
        *_unchecked(evidence, miscalibrations),
        *_few_carry(evidence, verdict, systems),
        *_sampling(evidence),
        *_many_costs(evidence.problem),
        *_many_systems(evidence, costs),
        *evidence.left_out,
    )


def _many_costs(problem: Problem) -> Iterator[Caveat]:
    if n_costs(problem) > MOST_COSTS:
        yield Caveat(
            LEFT_OUT,
            f"Where the verdict would flip is not looked for: that is done for up to "
            f"{number(MOST_COSTS)} costs, and the problem has {number(n_costs(problem))}.",
        )


def _many_systems(evidence: Evidence, costs: SampledCosts) -> Iterator[Caveat]:
    if are_bounded(evidence, costs):
        yield Caveat(
            "wide zones",
            f"The zones in which the data cannot tell which system is cheaper are drawn somewhat "
            f"wider than necessary, to be on the safe side: {number(len(costs.choice.names))} "
            f"systems are compared, and the sharper calculation takes up to "
            f"{number(MOST_RIVALS)}. Evaluate fewer models to see sharper zones.",
        )


def _other_order(evidence: Evidence) -> Iterator[Caveat]:
    """Models whose posteriors fit the classes better in another order of the columns."""
    for tallied in evidence.models:
        if (order := tallied.order) is None:
            continue
        moved = np.flatnonzero(order.moved)
        pairs = [f"{order.columns[k] + 1} for {evidence.problem.classes[k]}" for k in moved]
        more = f" and {moved.size - _MOST_NAMED} more" * (moved.size > _MOST_NAMED)
        yield Caveat(
            "order of classes",
            f"The posteriors of {tallied.model} fit the classes clearly better in another order: "
            f"column {', '.join(pairs[:_MOST_NAMED])}{more} (log loss of these classes "
            f"{number(order.reordered, 3)} in place of {number(order.as_given, 3)}). Columns must "
            f"be in the order of the problem's classes. {_NAMED} {_UNTIL}",
        )


def _backwards(models: tuple[ModelQuality, ...], evidence: Evidence) -> Iterator[Caveat]:
    """Models that rank backwards, usually because of the order of columns or the sign of scores."""
    problem = evidence.problem
    for model in models:
        tallied = evidence.model(model.model)
        if model.backwards is None or tallied.order is not None:
            continue
        text = f"{model.model} ranks backwards"
        if model.auc is not None:
            text += f" (AUC {rounded(model.auc.value, model.auc)})"
        else:
            text += (
                f": its posteriors of {model.backwards} are lower for cases of that class than for "
                f"the others"
            )
        if tallied.named:
            asked = (
                "its classes are named, so that the model itself must be at fault: find out why."
            )
        elif model.kind == POSTERIORS:
            single = f"a single column must be the probability of {problem.classes[1]}, and several"
            asked = (
                f"{single if problem.n_classes == 2 else 'columns'} must be in the order of the "
                f"problem's classes. {_NAMED}" + f" {_UNTIL}" * (model.model in evidence.misordered)
            )
        else:
            asked = (
                f"a higher score must speak for {problem.classes[1]}. Negate the scores if it does "
                f"not."
            )
        yield Caveat("ranks backwards", f"{text}; {asked}")


def _known_too_late(evidence: Evidence) -> Iterator[Caveat]:
    """Columns of costs that predict a class better than the models, and may be known too late."""
    for rank in telling_columns(evidence):
        yield Caveat(
            "column known too late",
            f"The column {rank.column} of the costs predicts {rank.label} better than any model: "
            f"alone its AUC is {number(rank.area, 3)}, that of {rank.model} is "
            f"{number(rank.best, 3)}. If it is known only after the decision, decisions here are "
            f"made by what nobody will know, and the report misleads: state costs by what is known "
            f"when it is made. If it is known by then, give it to the models.",
        )


def _prior_mismatch(evidence: Evidence, systems: tuple[System, ...]) -> Iterator[Caveat]:
    from scipy.special import logit

    prior, shares = evidence.prior, evidence.shares
    with np.errstate(invalid="ignore"):
        shift = np.abs(logit(prior) - logit(shares))
        error = np.sqrt(prior * (1 - prior) / evidence.sample.sizes.sum())
    # Both must hold: with many cases a trifling shift is statistically clear, and with few cases
    # a large one may be chance.
    differs = (np.abs(prior - shares) > 3 * error) & (shift > np.log(_SHIFT)) & (shares > 0)
    if not differs.any():
        return
    k = int(np.argmax(np.where(differs, shift, -1.0)))
    moved = any(system.rule == MOVED for system in systems)
    yield Caveat(
        "prior mismatch",
        f"The stakes are stated for cases of which {percent(prior[k])} are "
        f"{evidence.problem.classes[k]}, but {percent(shares[k])} of these cases are."
        + " So models are also tried with their probabilities converted to the stated shares "
        "(moved)." * moved,
    )


def _small_classes(evidence: Evidence) -> Iterator[Caveat]:
    classes, sizes = evidence.problem.classes, evidence.sample.sizes
    for label, size, share in zip(classes, sizes, evidence.prior, strict=True):
        if size == 0 and share > 0:
            yield Caveat(
                "absent class",
                f"There is no case of {label}, which the prior expects with {percent(share)}: how "
                f"models decide about it is unknown, and so is the expected cost of each.",
            )
        elif size == 0 and evidence.problem.prior is None:  # a prior of zero rules the class out
            yield Caveat(
                "absent class",
                f"There is no case of {label}: its costs are in no estimate, only in the limits of "
                f"intervals.",
            )
        elif 0 < size < SMALLEST:
            yield Caveat(
                "tiny class",
                f"Cases of {label}: {number(size)}. Its rates, and the costs that depend on them, "
                f"are poorly known, which makes intervals wide.",
            )


def _broken_limits(systems: tuple[System, ...]) -> Iterator[Caveat]:
    """Systems that clearly break a limit, which cannot be recommended."""
    for system in systems:
        for check in system.limits:
            if check.breaks:
                value, low, high = check.interval
                yield Caveat(
                    "breaks a limit",
                    f"{system.name} cannot be recommended: {check.limit}, and it has {value} "
                    f"(interval {low.removesuffix(' %')} to {high}).",
                )


def _tuned_threshold(best: System) -> Iterator[Caveat]:
    if best.rule == TUNED:
        yield Caveat(
            "tuned threshold",
            f"The threshold of {best.name} was chosen on the same cases that measure its cost: "
            f"once deployed it will cost more. Choose it on other cases, or pass a calibrator.",
        )


def _certain(evidence: Evidence) -> Iterator[Caveat]:
    """Posteriors of 0 and 1 alone, which may be decisions in disguise."""
    for tallied in evidence.models:
        if tallied.certain:
            yield Caveat(
                "certain posteriors",
                f"The posteriors of {tallied.model} are all 0 or 1, and were read as probabilities "
                f"that are certain: the costs have no say in what follows from them. If they are "
                f"decisions, pass Decisions(labels), each one of "
                f"{_few(evidence.problem.decisions)}.",
            )


def _few(labels: Labels) -> str:
    return ", ".join(map(str, labels[:_MOST_NAMED])) + ", …" * (len(labels) > _MOST_NAMED)


def _sums(models: tuple[ModelTallies, ...]) -> Iterator[Caveat]:
    for tallied in models:
        rows, worst = tallied.off_sum or (0, 1.0)
        if abs(worst - 1) > _WRITTEN:
            yield Caveat(
                "posteriors do not sum to one",
                f"The posteriors of {tallied.model} do not sum to one in {number(rows)} "
                f"row{'s' * (rows > 1)}: they are off by up to {number(abs(worst - 1))}, and were "
                f"divided by their sum.",
            )


def _miscalibration(
    models: tuple[ModelQuality, ...],
    systems: tuple[System, ...],
    costs: SampledCosts,
    miscalibrations: Mapping[str, Miscalibration | None],
    verdict: Verdict,
    evidence: Evidence,
) -> Iterator[Caveat]:
    """Models whose miscalibration clearly costs something, and a large share of their cost."""
    spent = {system.name: system.cost for system in systems}
    for model in models:
        if model.backwards is not None or evidence.model(model.model).order is not None:
            continue  # advice to recalibrate would hide that columns are in the wrong order
        by_rule = evidence.systems_by_rule(model.model)
        as_is, repaired = by_rule.get(MOVED, by_rule.get(BAYES)), by_rule.get(RECALIBRATED)
        looked = miscalibrations.get(model.model)
        certain = looked is not None and looked.certain
        if as_is is not None and repaired is not None:
            # A system that is still a contender for the cheapest does not clearly waste anything,
            # even where its own pair with the recalibrated one is clear.
            certain = costs.difference(as_is, repaired).low > 0 and as_is not in costs.contenders
        wasted, share = model.calibration_cost, model.calibration_share
        if not certain or wasted is None or share is None or share <= _COSTLY:
            continue
        amount = money(wasted, evidence.problem.unit, None if as_is is None else spent[as_is])
        yield Caveat(
            "miscalibration",
            f"Bad calibration of {model.model} costs {amount} per case, "
            f"{whole_percent(share)} of its cost above perfect decisions"
            + _remedy(repaired, verdict),
        )


def _remedy(repaired: str | None, verdict: Verdict) -> str:
    if repaired and repaired == verdict.cheapest:
        return "; the recommended rule corrects this."
    if repaired and not verdict.saving_over_naive.value > 0:
        return "; recalibrated, it is still no better than not looking."
    return ": recalibrate it before use" + ("." if repaired else "; a calibrator shows the gain.")


def _unchecked(
    evidence: Evidence, miscalibrations: Mapping[str, Miscalibration | None]
) -> Iterator[Caveat]:
    """A caveat about posteriors whose calibration was not checked."""
    kinds = {tallied.model: tallied.kind for tallied in evidence.models}
    unknown = [model for model, checked in miscalibrations.items() if checked is None]
    listed = ", ".join(model for model in unknown if kinds[model] == POSTERIORS)
    if listed and evidence.problem.n_classes > 1:  # the probability of a single class is one
        yield Caveat(
            "calibration unchecked",
            f"Whether the posteriors of {listed} are calibrated was not checked: "
            f"{_why_unchecked(evidence)}",
        )


def _why_unchecked(evidence: Evidence) -> str:
    if not (evidence.shares > 0).all():  # no calibrator could be fitted either
        absent = evidence.problem.classes[int(np.argmin(evidence.shares > 0))]
        return f"there are no cases of {absent}."
    return (
        f"unless they are recalibrated, that is done only for two classes and independent cases of "
        f"equal weight{', whose costs are the same' * bool(evidence.problem.columns)}"
        f"{', without limits' * bool(evidence.problem.limits)}."
    )


def _few_carry(
    evidence: Evidence, verdict: Verdict, systems: tuple[System, ...]
) -> Iterator[Caveat]:
    """A caveat where a few cases make up much of the cost: another sample may have more of them."""
    if evidence.sample.charges is None:
        return
    named = [system for system in systems if system.name == verdict.cheapest]
    best = named[0] if named else cheapest_of(systems)
    share, of = few_cases(evidence.sample.charges, best.name, evidence.problem.prior)
    if share >= LARGE_SHARE:
        yield Caveat(
            "few cases carry the cost",
            f"{TOP_CASES} of the {number(evidence.n_rows)} cases are {whole_percent(share)} of the "
            f"{of} of {best.name}: with such {of}s, other cases may well {of} more, and intervals "
            f"cover less often than they say.",
        )


def _sampling(evidence: Evidence) -> Iterator[Caveat]:
    sample = evidence.sample
    if sample.clusters == 1:
        yield Caveat(
            "few clusters",
            "There is only one cluster, which says nothing about others: costs may be anything "
            "that decisions can cost.",
        )
        return
    if sample.clusters is not None and sample.clusters < _FEW_CLUSTERS:
        yield Caveat(
            "few clusters",
            f"There are only {sample.clusters} clusters: how they differ is poorly known. "
            f"Intervals rest on cluster effects that are normally distributed.",
        )
    elif sample.clusters is not None:
        yield from _classes_in_few_clusters(evidence)
        yield from _unequal_clusters(sample)
        yield from _groups_of_clusters(sample)
    if evidence.weighted:
        yield from _weights(evidence)
    yield from _copies(evidence)


def _classes_in_few_clusters(evidence: Evidence) -> Iterator[Caveat]:
    """A caveat where few of many clusters hold a class: they say little about others that do."""
    sample, n_clusters = evidence.sample, evidence.sample.clusters_of_classes
    few = np.flatnonzero((n_clusters > 0) & (n_clusters < _FEW_CLUSTERS) & (evidence.prior > 0))
    if not few.size:
        return
    labels = [str(evidence.problem.classes[k]) for k in few[:_MOST_NAMED]]
    more = f" and {few.size - len(labels)} other classes" * (few.size > len(labels))
    fewest, most = n_clusters[few].min(), n_clusters[few].max()
    counts = f"{most}" if fewest == most else f"at most {most}"
    yield Caveat(
        "class in few clusters",
        f"Cases of {', '.join(labels)}{more} lie in {counts} of the {sample.clusters} clusters: "
        f"how such clusters differ is poorly known. Intervals allow for that, but not for clusters "
        f"full of a class of which only single cases were seen.",
    )


def _unequal_clusters(sample: JointSample) -> Iterator[Caveat]:
    """A caveat where a few large clusters hold much of the cases; others may be larger still."""
    sizes = sample.masses_of_clusters
    sizes = sizes[sizes > 0]
    varies = float(sizes.std() / sizes.mean())
    if varies > _UNEQUAL:
        yield Caveat(
            "unequal clusters",
            f"Clusters differ much in size: the largest of {number(sizes.size)} holds "
            f"{whole_percent(sizes.max() / sizes.sum())} of the cases. If decisions about large "
            f"clusters cost more (or less) per case than about small ones, costs lie above (or "
            f"below) their intervals in 4 to 7 % of samples instead of 2.5 %: other clusters may "
            f"be larger still.",
        )


def _groups_of_clusters(sample: JointSample) -> Iterator[Caveat]:
    """A caveat where intervals go by random groups of clusters; see `groups_of_clusters`."""
    groups, n_clusters = len(sample.joint.weights), len(sample.masses_of_clusters)
    if groups < n_clusters:
        spread = number(100 / sqrt(2 * groups), 1)  # of the root of a variance of so many terms
        yield Caveat(
            "groups of clusters",
            f"A table of {number(n_clusters)} clusters by decisions would not fit into memory: "
            f"whole clusters were put together at random into {number(groups)} groups. Widths of "
            f"intervals are the same on average, and differ by about {spread} %.",
        )


def _copies(evidence: Evidence) -> Iterator[Caveat]:
    """A caveat where maps or thresholds are fitted out of fold to rows that stand for several."""
    fitted = any(rule.name in (RECALIBRATED, TUNED_APART) for rule in evidence.rules.values())
    if evidence.copied and fitted:
        yield Caveat(
            "copies in one fold",
            "All copies of a row are in one fold, so that what is fitted out of fold sees none of "
            "them: where few rows have many copies it looks worse than it is, and less certain. "
            "Repeat the rows in place of copies, as in np.repeat(rows, copies), to know.",
        )


def _weights(evidence: Evidence) -> Iterator[Caveat]:
    if evidence.sample.whole:
        return
    if evidence.whole_weights:
        yield Caveat(
            "whole weights",
            "Weights are sampling weights, also where they are whole numbers: intervals take each "
            "row as one case. If they say how often a row occurred, pass them as copies= instead.",
        )
        return
    if evidence.sample.clusters is not None:
        return
    yield Caveat(
        "fractional weights",
        "Weights are fractional: intervals take each row as one case that keeps its weight. "
        "State clusters where rows were not drawn one by one.",
    )
