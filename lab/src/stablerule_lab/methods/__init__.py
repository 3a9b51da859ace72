"""The other methods of the paper's comparison, each written anew from its description: one file or folder a method."""
