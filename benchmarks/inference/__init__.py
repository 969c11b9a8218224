"""Whether the printed test of fit, intervals and loadings are what they say."""
