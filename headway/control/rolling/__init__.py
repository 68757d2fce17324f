"""One host after the other: visits, turns, budget, floor, and what is answered to a host's asks."""
