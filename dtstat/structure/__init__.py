"""From a dependence matrix to every factor structure that thresholding can produce."""
