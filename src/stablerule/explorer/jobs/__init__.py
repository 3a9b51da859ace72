"""What takes long: done in the background one after another, with progress, and gone on with after a kill."""
