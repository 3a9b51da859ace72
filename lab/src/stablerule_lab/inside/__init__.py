"""What looks inside the library's network: the only place that imports the library's internals."""
