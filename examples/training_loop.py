"""A training loop that watches costs: torchmetrics modules of stakes, and a report at the end.

Fraud is rare and expensive. The loop logs the cost of the Bayes decisions after every epoch; the
report says what the model of the last epoch would cost. Needs the extra ``torch``; runs on a GPU if
there is one.
"""

from __future__ import annotations

import torch
from torch import nn
from torchmetrics import MetricCollection

from stakes import Problem
from stakes.torch import BayesCost, Evaluation, Scale, ScoreBins

PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)


def transactions(size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Four features, two of which determine the log-odds of fraud."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn((size, 4), generator=generator)
    log_odds = 2.0 * features[:, 0] - 1.5 * features[:, 1] - 4.0
    return features, torch.rand(size, generator=generator) < torch.sigmoid(log_odds)


def main() -> None:
    """Train, watch the cost, and report."""
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    train, test = (
        [part.to(device) for part in transactions(20_000, 1)],
        [part.to(device) for part in transactions(20_000, 2)],
    )
    metrics = MetricCollection(
        {"cost": BayesCost(PROBLEM, logits=True), "scores": ScoreBins(Scale.LOGITS)}
    ).to(device)
    epoch_tallies = Evaluation(PROBLEM, logits=True).to(device)
    for epoch in range(5):
        for features, fraud in zip(*(part.split(1000) for part in train), strict=True):
            optimizer.zero_grad()
            logits = model(features).squeeze(1)
            nn.functional.binary_cross_entropy_with_logits(logits, fraud.float()).backward()
            optimizer.step()
        metrics.reset()
        epoch_tallies.reset()
        for features, fraud in zip(*(part.split(1000) for part in test), strict=True):
            with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
                logits = model(features).squeeze(1)
            metrics.update(logits, fraud)
            epoch_tallies.update(logits, fraud)
        values = metrics.compute()
        print(f"epoch {epoch}: {values['cost']:.3f} EUR per case, AUC {values['auc']:.4f}")
    print(epoch_tallies.report("linear"))


if __name__ == "__main__":
    main()
