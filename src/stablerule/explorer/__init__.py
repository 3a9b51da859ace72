"""The explorer: look at the graph, the rules and the reasons in a browser, and decide about new facts.

`views` answers every question of the pages as plain typed values, and knows no web. `decisions` keeps what people
decide, `jobs` does what takes long. `web` serves all of it as pages and as JSON, `tools` to programs that speak the
Model Context Protocol. FastAPI is imported by `web` alone.
"""
