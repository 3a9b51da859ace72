"""What people decide about new facts, kept in one SQLite file beside the model, and what leaves it."""
