"""The other learners of the paper's comparison."""
