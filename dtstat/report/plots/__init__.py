"""Pictures, one module a family: columns and arrays in, matplotlib axes out.

Nothing here shows a picture or changes a setting of matplotlib, and matplotlib is loaded when the
first picture is drawn.
"""
