"""The simulations behind docs/coverage.md; ``python docs/coverage.py`` runs them."""
