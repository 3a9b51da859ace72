"""Experiments: cells that are run one by one, each kept in a file of its own."""
