"""Cases in which dtstat and lavaan once disagreed, side by side."""
