"""The page: tables of the numbers, which goals they meet, and every row that misses one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from coverage_study.amounts import COLUMNS as AMOUNT_COLUMNS
from coverage_study.audits import COLUMNS as AUDIT_COLUMNS
from coverage_study.bootstraps import CASE_KINDS, CLUSTER_KINDS
from coverage_study.cross_validation import LEARNERS, TRUTHS
from coverage_study.deploy_or_not import KINDS
from coverage_study.intervals import LEAST_SHARE, MANY_CASES, WIDEST
from coverage_study.least_widths import DESIGNS
from coverage_study.mixed_clusters import COLUMNS as MIXED_COLUMNS
from coverage_study.populations import FloatArray
from coverage_study.reports import BINS, COLUMNS, shares_right

__all__ = ["exceptions", "page", "shrunk_table", "with_shrunk_table"]

AUDITED = ("EC", "difference", "saving")  # columns of audits that have a goal
LEAST = 100 * LEAST_SHARE  # coverage in %, of a nominal 95 %
FEW, MORE = (92.0, 200), (93.5, 1_000)  # of the set of contenders, up to or from n
BIASED = 0.45
SIDES = ("above", "below")
ONE_SIDE = 4.0  # share of data sets in % that may miss on one side, of a nominal 2.5 %

MARK, END = "<!-- said and right: written by docs/coverage.py -->", "<!-- end -->"

Row = dict[str, Any]


def page(rows: list[Row]) -> str:
    """The whole page."""
    reports, intervals, bootstraps, fittings = (
        [row for row in rows if row["section"] == section]
        for section in ("report", "interval", "bootstrap", "fitting")
    )
    minutes = sum(row["seconds"] for row in rows) / 60
    mixed = [row for row in rows if row["section"] == "mixed"]
    unequal = [row for row in rows if row["section"] == "unequal"]
    deployed = [row for row in rows if row["section"] == "deploy"]
    audits = [row for row in rows if row["section"] == "audit"]
    missed, most = exceptions(rows), max(row["samples"] for row in reports)
    return f"""<!-- Written by docs/coverage.py; do not edit. -->
# How often the intervals cover

Data sets are drawn from populations whose costs are known exactly; a number covers when its 95 %
interval contains the true value. Coverages are in %, and bold where they miss a goal. These rows
took {minutes:.0f} minutes of processor time. Seeds are fixed: `python docs/coverage.py` runs all of
them, with up to {most} data sets of every report; with as many as the table says, a row comes out
the same again. `--quick` runs a few data sets of each.

| goal | rows | missed |
|---|---|---|
{_goals(reports, intervals, fittings, mixed, unequal, deployed, audits)}

[docs/verdict.md](verdict.md) says in plain words how these numbers are made.{_older(rows)}

## What a report says

Each data set went through the steps of `evaluate`: rows, predictions, fitted rules, evidence,
costs, verdict. Only the parts of the report that make none of these numbers were left out.

- *cost*, *NEC*: the intervals of every system that may win, cost per case and normalised cost.
- *saving*: what the recommended system saves against the best blind decision.
- *difference*: what the runner-up costs more, among the data sets whose report names one.
- *winner*: `verdict.cost`, that of the recommended system, corrected for its having been chosen;
  *winner's NEC*: `verdict.normalized`, the same as a normalised cost.
- *contenders*: how often the set includes the system that is truly the cheapest (the mean over
  those that tie), and its mean size.
- *bias*: of `verdict.cost`, in standard errors of a cost, and before the correction; over all data
  sets, also those in which the system looks too expensive to be taken, and is not corrected.
- In brackets behind the number of data sets: the simulation error of *winner*, in points.

Systems take three decisions; misses cost as much more as they are rarer. Systems are of equal skill
("equal"), of falling skill ("unequal"), or one is far better than the rest ("clear best"). Noise is
shared between systems (correlation 0.3) and between the cases of a cluster of 50 (0.2).
*Recalibrated*: posteriors that are too sure of themselves, as they are and recalibrated out of
fold. *Tuned*: raw scores with a threshold tuned out of fold. The truth of a fitted rule is its cost
on new cases once it was fitted on all of the data set. *Whole weights*: equal cases written once.
*Rare misses*: systems raise no false alarm, and each misses one case in a data set on average, for
itself; a miss costs 100 times as much as a false alarm.

{_report_table(reports)}

## Deploy or not

Whether to take a model at all is chosen on the same cases as which one. Here all models of a design
are equal, and each truly saves the *true saving*, a share of what it costs not to look. The rest of
a row is about the data sets in which the cheapest cost less than that (*taken*, in %): how far what
is said of it lies from the truth on average, in % of its true cost, as it was on these cases and as
the verdict says it (simulation errors in brackets, in points, are those of the cost), how often the
intervals of the verdict cover, in %, and how much wider they are than for a system that was fixed
in advance. *Even*: 30 % positives, a miss costs 4 times as much as a false alarm; *rare*: 2 % and
20 times.

{_deploy_table(deployed)}

Cost and saving of a verdict add up to what it costs not to look on these cases, and that looks more
expensive than it is where a model is taken. Of the two the saving is right: with 20 positives among
1,000 cases, of which many were drawn where the model looks good, the cost that is said is as much
too high as that of not looking. With a stated prior there is no such luck, and both are right. With
the same correction for cost and saving that makes the cost right instead, such models would be said
to save 7 % of the cost; they save nothing. Of twelve models one is nearly always taken: what their
rows show is the correction for the choice among them.

## How likely a system is the cheapest

The shrunk probability of the recommended system in the tables of a report, and how often that
system was truly the cheapest. *Skills differ*: 2, 4 or 12 systems whose skills are drawn anew for
each data set, 0.03, 0.1 or 0.3 apart; *a class is rare*: 2 % of the cases. *All equal*: the rows
above; where J systems tie, each is right to a share of 1 / J, whatever the data say, and no number
that uses them can be calibrated.

{shrunk_table(rows)}

## Intervals by the thousand

The functions that make the intervals of costs (*EC*), normalised costs (*NEC*) and differences, in
many more data sets; *percentile* is the percentile bootstrap of the same data, *width* the median
width over its median width (empty where half of its intervals have no upper end). Clusters here
have class shares and decisions of their own (intraclass correlation 0.2). *Patients* have one class
each, and four of five are decided as a whole. *A class weighted up tenfold* was sampled too rarely.
*Tied*: blind decisions cost the same, so that the normalised cost has a kink.

{_interval_table(intervals)}

## Clusters whose classes differ

The same functions, where the share of the costly class is drawn for each cluster: Beta distributed,
or clusters have one class each, perhaps with a few cases of the costly class in clusters of the
other (*strays*). Decisions within a cluster are correlated (0.3). *Saving* is what a model saves
over the blind decision that is the cheapest on the data. Where few clusters hold a class, they say
little about how others would be decided; a report says so in a caveat where fewer than six do.

{_mixed_table(mixed)}

## Clusters of unequal size

Sizes of clusters are lognormal: *spread* is the standard deviation of their logarithm, *sizes vary*
the median of their coefficient of variation in a data set. Where larger clusters are *worse*, one
standard deviation of that logarithm adds 0.3 to the normal quantiles of the rates of misses and of
false alarms; where they are *better*, it takes away as much. A few clusters that are larger than
all in the sample then make much of the true cost. *Above* are the data sets, in %, whose upper
limit lies below the true cost, *below* those whose lower limit lies above it.

{_unequal_table(unequal)}

So a report warns where sizes vary by more than 0.6 of their mean; below that, 30 clusters miss
above in 4.2 % (± 0.4). No interval that was tried keeps both sides below {ONE_SIDE:g} % in these
rows without being wider wherever there are clusters. Where the spread is 1: shifted by the skewness
of the sums over clusters (Johnson 1978) it misses below in 5 to 10 %; with Hall's transformation
(1992) it misses above in 4.8 to 6.3 % and is 1.2 to 1.5 times as wide. Degrees of freedom by the
effective number of clusters (Kish 1965), or the bias that the jackknife finds, change next to
nothing. One more cluster like the costliest does it for 100 clusters and for 200, not for 30, and
is a tenth wider where larger clusters are no worse. (1,000 to 2,000 other data sets each.) What is
missing are clusters that no sample has shown.

## Audits

All cases that one of two systems flags are checked (or all that the *first* one flags), and one in
10, 20 or 50 of the others: so rows have weights. A miss costs 18, a false alarm 2. *EC* is the cost
of the first system, *difference* what it costs more than the second, *saving* what it saves over
never flagging; *width* is the median width over that of the same interval with the labels of all
cases. *EC as copies* is what the interval covers if weights are read as numbers of equal rows. The
others were drawn so that exactly one in so many was checked (*quota*), each by itself (*chance*),
or each with one of thirty probabilities (*many weights*: too many for strata, so that a design
effect divides the numbers of cases, as it does where a prior is *stated*). Differences are as
narrow as with all labels where the flags of both systems were checked. Simulation errors are up to
1.7 points. Clusters with weights have rows of their own, in the table of *intervals by the
thousand*.

{_audit_table(audits)}

## Costs of single cases

Payments with lognormal amounts, whose logarithms have the standard deviation σ, some of them
frauds (*prevalence*); a fraud that is approved costs its amount. One system takes for each case the
decision that its own costs make the cheapest (*own costs*), another the one that is the cheapest
for the mean amount (*mean costs*). *NEC* is the normalised cost of the first, *difference* what the
second costs more, *width* the median width of the first interval over the true cost. Simulation
errors are up to 1.8 points for 200 data sets. Where the part of a case stands that unseen losses
are worth was chosen among eight ways on populations of this kind (other seeds), so that these rows
are no test on new ground. Up to σ = 1 no row is below 93; beyond, some fall far short: the largest
losses of a sample say too little about those to come, and a report warns where ten cases are a
quarter of the cost.

{_amount_table([row for row in rows if row["section"] == "amounts"])}

A rule that was shipped, with the same costs for all cases: what it costs on fresh cases lay in the
95 % interval of its report in 93.3 to 98.0 % of 400 data sets, for rules as they are, moved,
recalibrated and tuned (`STAKES_DATA_SETS=400 pytest -m slow tests/coverage/test_rules.py`).

## Reports from cross-validation

`stakes.sklearn.evaluate_estimators` fits in five folds. A logistic regression, which is right about
the population (*line*), and a tree, whose fits differ much from sample to sample (*tree*);
*difference* is what the tree costs more. Three truths can be meant, and the intervals are held
against each: *fits*, the mean cost of the very fits of the folds; *procedure*, the mean cost of
such fits over data sets; *all*, the cost of the one fit to all cases, which is what is deployed.
*Recalibrated*: maps are fitted to what the folds said, and the truth of *procedure* is the mean of
*all*. *Excess* is by how much the report lies above the cost of the fit to all cases, in the mean,
as a share of the standard deviation of what reports say. The goal is about *fits* and *procedure*,
which is what a report promises. Clusters share features (0.3 of their variance), and folds keep
them whole. Simulation errors are about 1.1 points for 400 data sets.

{_fitting_table(fittings)}

So intervals are for the procedure, as the report says. The one fit that is deployed may lie outside
them where fits differ much: they are about the mean of such fits, and know of smaller fits only,
which cost more (*excess*). To know what one fitted model costs, keep cases aside for `evaluate`.

## Bootstrap, formulas, areas and Brier scores

The other intervals of the library: `bootstrap` (percentile), `bootstrap_bca`, `bootstrap_t`
(studentised), the formulas, and for clusters percentiles expanded by how few there are. Bold:
outside 93 to 97. At a prevalence of 0.02 these fall short, which is why `evaluate` does not use
them for costs.

{_bootstrap_table([row for row in bootstraps if "cluster" not in row["design"]], CASE_KINDS)}

{_bootstrap_table([row for row in bootstraps if "cluster" in row["design"]], CLUSTER_KINDS)}

## Exceptions

{chr(10).join(f"- {text}" for text in missed) if missed else "None."}

Could these widths be had at all? The table has mean widths over that of the
percentile bootstrap, in these designs without the frequent class, whose costs vary far less: those
of the intervals of this library (*ours*), and the least that any interval has, randomised or not,
which covers at every rate of mistakes, not in this design alone
(`docs/coverage_study/least_widths.py`, by the
lemma of Neyman and Pearson). *2.5 % at each end*: each end errs in at most that share of samples,
which is what 95 % promise, and rises with the observed cost. *3.5 % at each end*: the same for
{LEAST:g} %. *Knows the design*: {LEAST:g} % in all, and the rule may know what the true rate is.

{_least_table([row for row in rows if row["section"] == "least"])}

So {WIDEST:g} × is missed in these three rows. For 95 % with equal errors at both ends it is only
just in reach for costs and out of reach for differences, in the mean; ours are {_above_least(rows)}
wider than the least, which would have to be randomised and to know that costs lie in one family.
These bounds are about means; the goal is about medians.

What would intervals cost that are narrow enough? Below are those of this library with other errors
at their ends (`docs/coverage_study/narrower_ends.py`): equal ones, or unequal ones for differences.
A difference of θ mistakes is then missed in more samples whose total is too low, and in fewer
whose total is too high: 2.5 ± 2 tanh(θ / 2) % means 2.5 % each at θ = 0, and nearly 4.5 and 0.5 %
beyond five mistakes. *Worst* is the coverage at the worst rates of mistakes of one kind (up to 20
expected) and of two kinds that differ in sign (up to 9 of each), computed over all their numbers.
*Many cases* is the width where systems clearly differ in many cases, over that of ours, and
*nominal* the coverage there. Widths are medians of 2,000 data sets. Bold: a goal is missed.

{_ends_table([row for row in rows if row["section"] == "ends"])}

So here the two goals exclude each other: none of these that is narrow enough, be it for costs or
for differences, covers {LEAST:g} % at all of these rates, and those that come near are wider, or
err more often, where systems clearly differ. Ours keep equal errors and {LEAST:g} % at all of them.

{WHY}"""


WHY = """Why, and what follows from it:

- **Two clusters** tell next to nothing about others: intervals are nearly as wide as costs allow,
  and a report says so in a caveat. That is coverage by width, not by knowledge.
- **Clusters whose classes differ** show little of a class that few of them have. So a class counts
  with as many degrees of freedom as clusters hold it, and a class that was not seen may fill whole
  clusters. With one degree for every cluster and cases that come one by one, costs were covered in
  87 to 99 %, normalised costs in 86 to 98 %, and savings in 61 to 97 %. Nearly all of a rare class
  may lie in clusters that hold little else. Where one in twenty is such a cluster, a sample may
  have none, and single cases of the class in other clusters then look like all there is: no data
  can show otherwise, and savings are missed. An interval that allowed for such a cluster as long as
  fewer than six hold the class was tried: it covered savings in 94 % of these rows, but where
  clusters are alike and the class is rare it was 4 to 22 times as wide as it had to be, and one
  stray case of a third class could undo a verdict. So a class that was seen at all is taken to come
  as it was seen.
- **Prevalence 0.002** leaves about 20 cases of the rare class among 10,000, of which a system
  gets about three wrong. The percentile bootstrap is narrow there because it falls short:
  stretched to 1.10 times its width it covers 90 to 91 %, and to cover 93 % it would have to be
  1.22 to 1.41 times as wide. Intervals of costs are narrower than that, those of differences
  about as wide, and both cover 97 to 98 %. Narrowed to 1.10 times the bootstrap's they would
  cover 95 to 97 % in these very designs (2,000 data sets), but elsewhere too little: neither their
  errors (table above) nor the part of a case that stands for unseen mistakes can be made smaller.
  For 60 to 1,000 cases the coverage at the worst rate of one kind is 92.4 to 92.9 % already. If
  that part of a case faded as fast as 0.4 / (1 + m² / 3), which saves 2.6 % of the width of a
  difference, it would be 92.8 % for 10,000 cases. Without it, which saves 11 to 12 %, coverage
  would be 84 % for one kind and 87.5 % for two, and differences would still be 1.13 to 1.18 times
  as wide as the bootstrap's.
- **A runner-up** is named only where a system is recommended. Where that depends on the same rare
  mistakes, as with a stated prior and 20 cases of the rare class, a fifth of the data sets name
  none. Over 4,000 other data sets of that design the difference was covered in 96.2 % (± 0.3) of
  those that do, and in 97.0 % of all.
- **Cross-validation** measures a procedure with five fits, and other fits would have cost something
  else. The variance of what it says cannot be estimated without bias (Bengio and Grandvalet 2004).
  Intervals add that of the mean of five fits, from how much they differ on cases that one of two
  has not seen. Without it, they covered what a tree costs more in 88.7 % at n = 1,000. With it,
  those of a tree and of differences to it are a tenth wider, those of a line 2 to 4 %. Ten folds
  and trees of full depth were tried as well (400 data sets each, normal intervals): 92.7 to 94.3 %
  for the procedure, 90.0 to 92.5 % without it.
"""


def _least_table(rows: list[Row]) -> str:
    header = ["", "data sets", "percentile covers", "knows the design", "3.5 % at each end"]
    body = [
        [row["design"], f"{row['samples']:,}", f"{row['percentile']:.1f}"]
        + [f"{row[name]:.2f}" for name in ("known", "halves", "level", "ours")]
        for row in rows
    ]
    return _table([*header, "2.5 % at each end", "ours"], body)


def _ends_table(rows: list[Row]) -> str:
    header = ["errors at the ends", *DESIGNS, "worst: one kind", "worst: two kinds"]
    body = []
    for row in rows:
        widths = [_marked(row.get(name), _above(row.get(name, 0.0)), 2) for name in DESIGNS]
        kinds = ("one kind", "two kinds")
        worst = [_marked(row.get(name), row.get(name, 100.0) < LEAST) for name in kinds]
        many = [f"{row['many']:.2f}", f"{row['nominal']:.1f}"]
        body.append([row["ends"], *widths, *worst, *many])
    return _table([*header, "many cases", "nominal"], body)


def _above_least(rows: list[Row]) -> str:
    """By how much our intervals are wider than the least that keep 95 %."""
    more = [100 * (row["ours"] / row["level"] - 1) for row in rows if row["section"] == "least"]
    return f"{min(more):.0f} to {max(more):.0f} %"


def _amount_table(rows: list[Row]) -> str:
    lines = [
        "| σ | prevalence | n | own costs | mean costs | NEC | difference | width | data sets |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        shares = [f"{row[name]:.1f}" for name in AMOUNT_COLUMNS]
        goal = row["sigma"] <= 1
        marked = [f"**{text}**" if goal and float(text) < LEAST else text for text in shares]
        prior = ", prior stated" if row["prior"] else ""
        about = f"{row['sigma']:g} | {row['prevalence']:g}{prior} | {row['n']:,}"
        lines.append(f"| {about} | {' | '.join(marked)} | {row['width']:.2f} | {row['samples']} |")
    return "\n".join(lines)


def _fitting_table(rows: list[Row]) -> str:
    parts = [(learner, truth) for learner in LEARNERS for truth in TRUTHS]
    header = ["design", "n", "prevalence", "data sets"]
    header += [f"{learner}: {truth}" for learner, truth in parts]
    body = []
    for row in rows:
        excess = [
            row[f"{learner}, above all"] / row[f"{learner}, spread"] for learner in LEARNERS[:2]
        ]
        about = [row["design"], f"{row['n']:,}", f"{row['prevalence']:g}", f"{row['samples']}"]
        marked = [_marked(row[f"{a}, {b}"], _missed(row, a, b)) for a, b in parts]
        body.append([*about, *marked, *(f"{value:+.2f}" for value in excess)])
    return _table([*header, *(f"{learner}: excess" for learner in LEARNERS[:2])], body)


def _mixed_table(rows: list[Row]) -> str:
    header = ["clusters", "cases of each", "prevalence", "shares", "data sets", *MIXED_COLUMNS]
    body = [
        [
            f"{row['clusters']}",
            f"{row['cases']}",
            f"{row['prevalence']:g}{', stated' * row['prior']}",
            row["shares"],
            f"{row['samples']:,}",
            *(_marked(row[column], _short(row, column)) for column in MIXED_COLUMNS),
        ]
        for row in rows
    ]
    return _table(header, body)


def _unequal_table(rows: list[Row]) -> str:
    header = ["clusters", "spread", "larger ones are", "sizes vary", "data sets", "above", "below"]
    kinds = {-1: "better", 0: "the same", 1: "worse"}
    body = [
        [
            f"{row['clusters']}",
            f"{row['spread']:g}",
            kinds[int(np.sign(row["worse"]))],
            f"{row['varies']:.2f}",
            f"{row['samples']:,}",
            *(_marked(row[side], _one_sided(row, side)) for side in SIDES),
        ]
        for row in rows
    ]
    return _table(header, body)


def _audit_table(rows: list[Row]) -> str:
    header = ["n", "prevalence", "one in", "flags of", "others", "data sets", *AUDIT_COLUMNS]
    body = [
        [
            f"{row['n']:,}",
            f"{row['prevalence']:g}{', stated' * row['prior']}",
            f"{row['one in']}",
            "either" if row["either"] else "the first",
            row["drawn"],
            f"{row['samples']:,}",
            *(_audited(row, column) for column in AUDIT_COLUMNS),
        ]
        for row in rows
    ]
    return _table(header, body)


def _deploy_table(rows: list[Row]) -> str:
    header = ["models", "design", "true saving", "data sets", "taken"]
    header += [f"{kind}: {part}" for kind in KINDS for part in ("off by", "covered", "width")]
    body = []
    for row in rows:
        design = ("rare" if row["prevalence"] < 0.1 else "even") + ", prior stated" * row["prior"]
        cells = [row["systems"], design, f"{100 * row['true saving']:.0f} %"]
        cells += [f"{row['samples']:,}", f"{row['taken']:.0f}"]
        for kind in KINDS:
            error = f" ({row['error']:.1f})" * (kind == "cost")
            cells.append(f"{row[f'{kind}, before']:+.1f} → {row[f'{kind}, after']:+.1f}{error}")
            covered = row[f"{kind}, covered"]
            bad = _short(row, f"{kind}, covered")
            cells += [_marked(covered, bad), f"{row[f'{kind}, width']:.2f}"]
        body.append(cells)
    return _table(header, body)


def _audited(row: Row, column: str) -> str:
    if "width" in column:
        return f"{row[column]:.2f}"
    return _marked(row[column], column in AUDITED and _short(row, column))


def _older(rows: list[Row]) -> str:
    """Which sections have rows of an earlier version, if any."""
    newest: dict[str, int] = {}
    for row in rows:
        newest[row["section"]] = max(row["version"], newest.get(row["section"], 0))
    older = [row["section"] for row in rows if row["version"] < newest[row["section"]]]
    if not older:
        return ""
    parts = ", ".join(f"{section}: {older.count(section)}" for section in sorted({*older}))
    return (
        f"\n\nThe intervals have changed since some of these rows were made ({parts}); `--resume` "
        "runs them again."
    )


# Goals -------------------------------------------------------------------------------------------


def _least(row: Row, column: str) -> float:
    if column != "set":
        return LEAST
    return FEW[0] if row["n"] < MORE[1] else MORE[0]


def _short(row: Row, column: str) -> bool:
    return row[column] is not None and round(row[column], 1) < _least(row, column)


def _missed(row: Row, learner: str, truth: str) -> bool:
    """Whether the interval covers the mean cost of fits too rarely; that of one fit is no goal."""
    return truth != "all" and _short(row | {truth: row[f"{learner}, {truth}"]}, truth)


def _biased(row: Row) -> bool:
    return abs(round(row["bias"], 2)) > BIASED


def _one_sided(row: Row, side: str) -> bool:
    return round(row[side], 1) > ONE_SIDE


def _wide(row: Row) -> bool:
    known = row["n"] == MANY_CASES and row["design"] == "cases" and row["width"] is not None
    return known and _above(row["width"])


def _above(width: float) -> bool:
    return round(width, 2) > WIDEST


def _goals(
    reports: list[Row],
    intervals: list[Row],
    fittings: list[Row],
    mixed: list[Row],
    unequal: list[Row],
    deployed: list[Row],
    audits: list[Row],
) -> str:
    lines = [
        (
            f"{column.replace('NEC', 'normalised cost')}: at least {LEAST:g} %",
            [_short(row, column) for row in reports],
        )
        for column in COLUMNS
        if column != "set"
    ]
    for (least, size), few in ((FEW, True), (MORE, False)):
        rows = [row for row in reports if (row["n"] < MORE[1]) == few]
        claim = f"contenders include the truly cheapest: at least {least:g} % at n = {size:,}"
        lines.append((claim, [_short(row, "set") for row in rows]))
    biased = [_biased(row) for row in reports]
    lines.append((f"bias of the winner: at most {BIASED:g} standard errors", biased))
    covers = [_short(row, "coverage") for row in intervals]
    lines.append((f"intervals by the thousand: at least {LEAST:g} %", covers))
    each = [_short(row, column) for row in mixed for column in MIXED_COLUMNS]
    lines.append((f"clusters whose classes differ: at least {LEAST:g} %", each))
    each = [_short(row, column) for row in audits for column in AUDITED]
    lines.append((f"audits: at least {LEAST:g} %", each))
    known = [
        _missed(row, learner, truth)
        for row in fittings
        for learner in LEARNERS
        for truth in TRUTHS[:2]
        if row[f"{learner}, {truth}"] is not None
    ]
    lines.append((f"reports from cross-validation: at least {LEAST:g} %", known))
    many = [row for row in intervals if row["n"] == MANY_CASES and row["design"] == "cases"]
    lines.append(
        (
            f"their width at n = {MANY_CASES:,}: at most {WIDEST:g} × percentile's",
            [_wide(r) for r in many],
        )
    )
    sides = [_one_sided(row, side) for row in unequal for side in SIDES]
    lines.append((f"clusters of unequal size: at most {ONE_SIDE:g} % on each side", sides))
    both = [_short(row, f"{kind}, covered") for row in deployed for kind in KINDS]
    lines.append((f"models that are taken: at least {LEAST:g} %", both))
    return "\n".join(f"| {claim} | {len(hits)} | {sum(hits) or ''} |" for claim, hits in lines)


def _name(column: str) -> str:
    return "contenders" if column == "set" else column


def exceptions(rows: list[Row]) -> list[str]:
    """Every row that misses a goal, in words."""
    return list(_exceptions(rows))


def _exceptions(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row["section"] == "report":
            where = f"{row['systems']}; {row['design']}, {_size(row)}"
            for column in COLUMNS:
                if _short(row, column):
                    error = row[f"{column}, error"]
                    near = row[column] + 2 * error >= _least(row, column)
                    doubt = ", within two simulation errors of the goal" if near else ""
                    yield f"{where}: {_name(column)} {row[column]:.1f} % (± {error:.1f}){doubt}"
            if _biased(row):
                error = row["bias, error"]
                yield f"{where}: bias {row['bias']:+.2f} standard errors (± {error:.2f})"
        elif row["section"] == "fitting":
            for learner, truth in ((a, b) for a in LEARNERS for b in TRUTHS):
                if _missed(row, learner, truth):
                    share = row[f"{learner}, {truth}"]
                    error = np.sqrt(share * (100 - share) / row["samples"])
                    where = f"cross-validation; {row['design']}, {_size(row)}"
                    yield f"{where}: {learner}, {truth} {share:.1f} % (± {error:.1f})"
        elif row["section"] == "mixed":
            stated = ", prior stated" * row["prior"]
            where = f"{row['clusters']} clusters of {row['cases']}, {row['shares']}{stated}"
            for column in MIXED_COLUMNS:
                if _short(row, column):
                    text = f"{where}, prevalence {row['prevalence']:g}"
                    yield f"{text}: {column} {row[column]:.1f} %"
        elif row["section"] == "unequal":
            for side in SIDES:
                if _one_sided(row, side):
                    where = f"{row['clusters']} clusters of unequal size, spread {row['spread']:g}"
                    yield f"{where}: {row[side]:.1f} % {side}"
        elif row["section"] == "deploy":
            for kind in KINDS:
                if _short(row, f"{kind}, covered"):
                    where = f"{row['systems']} models that are taken, {_size(row)}"
                    yield f"{where}: {kind} {row[f'{kind}, covered']:.1f} %"
        elif row["section"] == "audit":
            for column in filter(partial(_short, row), AUDITED):
                text = f"audit of 1 in {row['one in']}, {row['drawn']}, {_size(row)}"
                yield f"{text}: {column} {row[column]:.1f} %"
        elif row["section"] == "interval":
            where = f"{row['measure']}; {_prior(row)}, {_size(row)}"
            if _short(row, "coverage"):
                yield f"{where}: {row['coverage']:.1f} %"
            if _wide(row):
                yield (
                    f"{where}: width {row['width']:.2f} × percentile's, which covers "
                    f"{row['percentile']:.1f} %, {row['stretched']:.1f} % if stretched to "
                    f"{WIDEST:g} × its width, and {LEAST:g} % only if stretched to "
                    f"{row['stretch']:.2f} ×"
                )


def _size(row: Row) -> str:
    return f"n = {row['n']:,}, prevalence {row['prevalence']:g}"


def _prior(row: Row) -> str:
    return f"{row['design']}, prior stated" if row["prior"] else str(row["design"])


# Tables ------------------------------------------------------------------------------------------


def _table(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _marked(value: float | None, bad: bool, digits: int = 1, sign: str = "") -> str:
    if value is None:
        return ""
    text = f"{value:{sign}.{digits}f}"
    return f"**{text}**" if bad else text


def _simulation_error(row: Row) -> float:
    """Of the coverage of the winner, in points, as if one more data set had hit and one missed."""
    share = (row["winner"] / 100 * row["samples"] + 1) / (row["samples"] + 2)
    return 100 * float(np.sqrt(share * (1 - share) / row["samples"]))


def _report_table(rows: list[Row]) -> str:
    header = ["systems", "design", "n", "prevalence", "data sets", *map(_name, COLUMNS)]
    body = [
        [
            row["systems"],
            row["design"],
            f"{row['n']:,}",
            f"{row['prevalence']:g}",
            f"{row['samples']} ({_simulation_error(row):.1f})",
            *(_marked(row[column], _short(row, column)) for column in COLUMNS),
            f"{row['size']:.1f}",
            f"{row['plain bias']:+.2f} → {_marked(row['bias'], _biased(row), 2, '+')}",
        ]
        for row in rows
    ]
    return _table([*header, "size", "bias"], body)


def shrunk_table(rows: list[Row]) -> str:
    """What the shrunk probability said, and how often that was right."""
    varied = [row for row in rows if row["section"] == "shrunk"]
    kinds = {
        "skills differ": [row for row in varied if row["prevalence"] == 0.5],
        "skills differ, a class is rare": [row for row in varied if row["prevalence"] < 0.5],
        "all equal": [row for row in rows if "equal" in row.get("systems", "")],
    }
    bins = [f"{low:g} to {min(high, 1):g}" for low, high in pairwise(BINS)]
    shares = [shares_right(some) for some in kinds.values()]
    body = [
        [name, *(part for of_kind in shares for part in _reported(of_kind[place]))]
        for place, name in enumerate(bins)
    ]
    parts = [f"{kind}: {part}" for kind in kinds for part in ("data sets", "said", "right")]
    return _table(["probability", *parts], body)


def _reported(bin_: FloatArray) -> list[str]:
    count, claimed, right = bin_
    return [f"{count:.0f}", *(f"{part:.2f}" if count else "" for part in (claimed, right))]


def with_shrunk_table(text: str, rows: list[Row]) -> str:
    """Another page, whose marked place gets the same table."""
    before, rest = text.split(MARK)
    return f"{before}{MARK}\n{shrunk_table(rows)}\n{END}{rest.split(END)[1]}"


def _interval_table(rows: list[Row]) -> str:
    header = ["", "design", "n", "prevalence", "data sets", "coverage", "percentile's", "width"]
    body = [
        [
            row["measure"],
            _prior(row),
            f"{row['n']:,}",
            f"{row['prevalence']:g}",
            f"{row['samples'] // (1 if row['design'] == 'cases' else 2):,}",
            _marked(row["coverage"], _short(row, "coverage")),
            _marked(row["percentile"], False),
            "over 1,000" if (row["width"] or 0) > 1_000 else _marked(row["width"], _wide(row), 2),
        ]
        for row in rows
    ]
    return _table(header, body)


def _off(coverage: float) -> bool:
    return not 93 <= round(coverage, 1) <= 97


def _bootstrap_table(rows: list[Row], kinds: tuple[str, ...]) -> str:
    body = [
        [
            row["measure"],
            row["design"],
            f"{row['n']:,}",
            f"{row['prevalence']:g}",
            f"{row['samples']:,}",
            *(_marked(row.get(kind), _off(row.get(kind, 95.0))) for kind in kinds),
        ]
        for row in rows
    ]
    return _table(["", "design", "n", "prevalence", "data sets", *kinds], body)
