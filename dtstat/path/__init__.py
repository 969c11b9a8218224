"""The solution path: every structure that thresholding gives, its table and its pictures."""
