"""Tables and figures that leave the house: one page for a browser."""
