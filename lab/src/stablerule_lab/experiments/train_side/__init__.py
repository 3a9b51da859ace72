"""Does the weighting of the paper help? Learners on examples that favour one group of each relation."""
