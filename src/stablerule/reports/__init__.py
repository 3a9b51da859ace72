"""Reports for a browser: the shift report as an HTML page."""
