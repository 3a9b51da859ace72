"""What the pages and the JSON show, as plain typed values: the verbs of the library, paged and made ready to link."""
