"""Table 1 and the story. All metrics but one recommend the classifier that loses money."""

from __future__ import annotations

from dyrland.turned import turned
from page import Page

from stakes import Counts, Problem
from stakes.audit import FAMILIAR, disagreement
from stakes.measures import utility_yield


def build(page: Page) -> None:
    """Metrics of A and B, and what they earn in three stories."""
    print_ = page.printed
    models = {name: Counts(turned(print_[name])) for name in "AB"}
    factory, other, tumours = (
        Problem.from_utilities(turned(story["utilities"]), unit=story["unit"])
        for story in print_["stories"]
    )
    metrics = {name: FAMILIAR[name] for name in print_["metrics"]}
    verdict = disagreement(models, factory, metrics=metrics)
    page.table(
        {
            "metric": verdict.metrics,
            "A": [f"{value:.4f}" for value in verdict.values[:, 0]],
            "B": [f"{value:.4f}" for value in verdict.values[:, 1]],
            "picks": [verdict.picks_of(name)[0] for name in metrics],
            "costs more, $": [f"{cost:.1f}" for cost in verdict.regret],
        }
    )
    page.compare("metrics of Table 1", list(print_["metrics"].values()), verdict.values, decimals=2)
    picks = {name for name in metrics if verdict.picks_of(name) == ("A",)}
    page.claim("only the true-negative rate favours A", ", ".join(picks), picks == {"specificity"})
    for story, problem in zip(print_["stories"][:2], (factory, other), strict=True):
        for model, paper in zip("AB", story["yields"], strict=True):
            here = utility_yield(models[model], problem)
            page.compare(f"{story['name']}: yield of {model}, $", paper, here, decimals=1)
    life = {name: float(utility_yield(table, tumours)) for name, table in models.items()}
    longer = life["A"] - life["B"]
    page.claim(
        "A gives more than six months more",
        f"{longer:.1f} months",
        longer > print_["stories"][2]["months_longer"],
    )
    page.claim("the tumours are the factory plus a constant", "yes", tumours.is_affine_of(factory))
    page.compare(
        "that constant",
        print_["stories"][2]["shift"],
        (tumours.utilities - factory.utilities).mean(),
        decimals=0,
    )
