"""Tables and figures of experiments, and the pages that show them."""
