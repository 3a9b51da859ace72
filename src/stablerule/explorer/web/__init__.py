"""The explorer over HTTP: JSON under /api/v1, and pages. The only folder of the room that imports FastAPI."""
