"""The other methods of the paper's comparison, written from their publications, a file or folder each."""
