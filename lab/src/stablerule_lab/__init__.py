"""The laboratory of StableRule: the paper's other methods, its experiments, and AMiner's bibliography."""
