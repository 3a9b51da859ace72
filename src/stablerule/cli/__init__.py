"""The command line: one small file for each command."""
