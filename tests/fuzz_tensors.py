"""Recipes of the fuzzer for `stakes.torch`, and strange tensors."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from fuzz_recipes import DECIDED, POSTERIORS, PROBLEM, SCORES, N, Y


class Fresh:
    """A metric that begins anew with every batch, and is computed, since that refuses entries."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def update(self, preds: Any, target: Any, weights: Any = None) -> Any:
        """What the metric makes of one batch."""
        metric = self.make()
        metric.update(preds, target, weights)
        return metric.compute()

    def merge_state(self, incoming_state: Any) -> Any:
        """What the metric makes of the states of another."""
        metric = self.make()
        metric.merge_state(incoming_state)
        return metric.compute()


def tensors() -> dict[str, dict[str, Any]]:
    """Arguments of the callables of `stakes.torch`, where torch is installed."""
    if not find_spec("torch"):
        return {}
    import torch

    from stakes.torch import BayesCost, Evaluation, ExpectedCost, NormalizedCost, ScoreBins

    y, decided = torch.tensor(Y), torch.tensor(DECIDED)
    scores, posteriors = torch.tensor(SCORES), torch.tensor(POSTERIORS)
    batches: dict[Callable[[], Any], Any] = {
        (lambda: ExpectedCost(PROBLEM)): decided,
        (lambda: NormalizedCost(PROBLEM)): decided,
        (lambda: BayesCost(PROBLEM)): posteriors,
        (lambda: Evaluation(PROBLEM)): posteriors,
        ScoreBins: scores,
    }
    recipes: dict[str, dict[str, Any]] = {
        **{f"torch.{name}": {"problem": PROBLEM} for name in ("ExpectedCost", "NormalizedCost")},
        "torch.counts": {"decisions": decided, "y_true": y},
        "torch.bayes_decisions": {"posteriors": posteriors},
        "torch.loss_moments": {"y_true": y, "losses": {"a": scores}, "classes": [0, 1]},
        **{f"torch.score_{name}": {"scores": scores, "y_true": y} for name in _SCORED},
    }
    for make, preds in batches.items():
        filled = make()
        filled.update(preds, y)
        name = f"torch.{type(filled).__name__}"
        recipes[f"{name}.update"] = {"self": Fresh(make), "preds": preds, "target": y}
        recipes[f"{name}.merge_state"] = {"self": Fresh(make), "incoming_state": filled}
        recipes[f"{name}.report"] = {"self": filled}
    return recipes


_SCORED = ("auc", "bins", "hull", "table")


def strange_tensors() -> dict[str, Any]:
    """Tensors that have broken functions before, or might, where torch is installed."""
    if not find_spec("torch"):
        return {}
    import torch

    nan = float("nan")
    return {
        "tensor of nan": torch.full((N,), nan),
        "tensor of inf": torch.full((N,), torch.inf),
        "tensor of 1e308": torch.full((N,), 1e308, dtype=torch.float64),
        "tensor of 5e-324": torch.full((N,), 5e-324, dtype=torch.float64),
        "negative tensor": -torch.ones(N),
        "tensor of 2**62": torch.full((N,), 2**62),
        "short tensor": torch.ones(N - 1),
        "empty tensor": torch.empty(0),
        "0-d tensor": torch.tensor(0.5),
        "3-d tensor": torch.zeros((2, 2, 2)),
        "zero columns of a tensor": torch.empty((N, 0)),
        "three columns of a tensor": torch.full((N, 3), 1 / 3),
        "complex tensor": torch.zeros(N, dtype=torch.complex64),
        "boolean tensor": torch.zeros(N, dtype=torch.bool),
        "int8 tensor": torch.full((N,), 2, dtype=torch.int8),
        "half tensor": torch.full((N,), 0.5, dtype=torch.float16),
        "bfloat16 tensor": torch.full((N,), 0.5, dtype=torch.bfloat16),
        "float8 tensor": torch.zeros(N).to(torch.float8_e4m3fn),
        "sparse tensor": torch.ones(N).to_sparse(),
        "tensor without content": torch.empty(N, device="meta"),
        "tensor with a gradient": torch.full((N,), 0.5, requires_grad=True),
        "expanded tensor": torch.tensor(0.5).expand(N),
        "conjugated tensor": torch.zeros(N, dtype=torch.complex64).conj(),
        "list of tensors": [torch.ones(N)],
    }
