"""Access to the library's network: the only room that imports the library's internals."""
