# psych's users write `n.obs`, `nfactors`, `rotate`, `fm` and `cor`.

# Refuse what neither psych nor the function knows.
habits <- function(dots, theirs, method, caller) {
  others <- setdiff(names_or_blanks(dots), theirs)
  if (length(others)) refuse_argument(others[1], setdiff(names(formals(method)), "..."), caller)
  dots
}

one_of_two <- function(given, dots, ours, theirs) {
  if (is.null(dots[[theirs]])) return(given)
  if (!is.null(given)) stop_input("`", ours, "` and `", theirs, "` are the same. Leave one out.")
  dots[[theirs]]
}

# psych's names of correlations; others are dtstat's.
psych_measure <- function(cor, default) {
  if (is.null(cor)) return(default)
  names <- c(cor = "pearson", poly = "polychoric", tet = "tetrachoric", tetra = "tetrachoric")
  if (is.character(cor) && length(cor) == 1 && cor %in% names(names)) names[[cor]] else cor
}

# Put what was given by psych's names (`theirs`, named by ours) in its place.
in_our_names <- function(arguments, dots, theirs, written) {
  for (ours in names(theirs)) {
    known <- if (ours %in% written) arguments[[ours]]
    value <- one_of_two(known, dots, ours, theirs[[ours]])
    if (!is.null(value)) arguments[[ours]] <- value
  }
  arguments
}

# What has its correlations already.
is_matrix <- function(x) inherits(x, c("dt_dependence", "dt_sparse_dependence")) || is_moments(x)
