"""Experiments: cells that run one by one and are kept in JSON-lines files."""
