"""Do the paper's weights help? Learners on examples that favour one group of each relation."""
