"""Table 1 and the story. All metrics but one recommend the classifier that loses money."""

from __future__ import annotations

from dyrland.turned import turned
from page import Page

from stakes import Counts, Problem
from stakes.audit import FAMILIAR, disagreement
from stakes.measures import utility_yield


def build(page: Page) -> None:
    """Metrics of A and B, and what they earn in three stories."""
    print_, stories = page.printed, page.printed["stories"]
    models = {name: Counts(turned(print_[name])) for name in "AB"}
    factory, other, tumours = (
        Problem.from_utilities(turned(story["utilities"]), unit=story["unit"]) for story in stories
    )
    metrics = {name: FAMILIAR[name] for name in print_["metrics"]}
    verdict = disagreement(models, factory, metrics=metrics)
    page.say(f"Expected costs are the yields with the sign turned, in {factory.unit} per item:")
    page.table(verdict.columns(), decimals=4)
    page.compare("metrics of Table 1", list(print_["metrics"].values()), verdict.values)
    picks = {name for name in metrics if verdict.picks_of(name) == ("A",)}
    page.claim("only the true-negative rate favours A", ", ".join(picks), picks == {"specificity"})
    a, b = (float(metrics["specificity"](counts)) for counts in models.values())
    words, paper = "by a relative difference of, %", print_["specificity_percent"]
    page.compare(words, paper, 100 * (a / b - 1))
    for story, problem in zip(stories, (factory, other), strict=False):
        here = [utility_yield(counts, problem) for counts in models.values()]
        page.compare(f"{story['name']}: yields of A and B, $", story["yields"], here)
    longer = utility_yield(models["A"], tumours) - utility_yield(models["B"], tumours)
    enough = longer > stories[2]["months_longer"]
    page.claim(f"{stories[2]['name']}: A gives more than six", f"{longer:.1f} months", enough)
    page.claim("the tumours are the factory plus a constant", None, tumours.is_affine_of(factory))
    constant = (tumours.utilities - factory.utilities).mean()
    page.compare("that constant", stories[2]["shift"], constant)
