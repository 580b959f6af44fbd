"""A training loop that watches costs: torchmetrics modules of stakes, and a report at the end.

Fraud is rare and dear. The loop logs the cost of the Bayes decisions after every epoch; the report
says what the last epoch's model would cost. Needs the extra ``torch``; it runs on a GPU where there
is one.
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
    """Four features, and fraud whose log-odds two of them move."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn((size, 4), generator=generator)
    odds = 2.0 * features[:, 0] - 1.5 * features[:, 1] - 4.0
    return features, torch.rand(size, generator=generator) < torch.sigmoid(odds)


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
    watched = MetricCollection(
        {"cost": BayesCost(PROBLEM, logits=True), "scores": ScoreBins(Scale.LOGITS)}
    ).to(device)
    epoch_tallies = Evaluation(PROBLEM, logits=True).to(device)
    for epoch in range(5):
        for features, fraud in zip(*(part.split(1000) for part in train), strict=True):
            optimizer.zero_grad()
            logits = model(features).squeeze(1)
            nn.functional.binary_cross_entropy_with_logits(logits, fraud.float()).backward()
            optimizer.step()
        watched.reset()
        epoch_tallies.reset()
        for features, fraud in zip(*(part.split(1000) for part in test), strict=True):
            with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
                logits = model(features).squeeze(1)
            watched.update(logits, fraud)
            epoch_tallies.update(logits, fraud)
        found = watched.compute()
        print(f"epoch {epoch}: {found['cost']:.3f} EUR per case, AUC {found['auc']:.4f}")
    print(epoch_tallies.report("linear"))


if __name__ == "__main__":
    main()
