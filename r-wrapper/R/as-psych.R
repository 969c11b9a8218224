#' Hand factors to psych
#'
#' Makes what psych's `fa()` returns, for its functions: `fa.sort()`, `fa.diagram()`, `fa.congruence()`,
#' `factor.scores()` and its printing. The numbers are those of the fit; what psych has and the fit has not
#' is left out.
#'
#' @param x A result of [dt_fit()] or [dt_efa()], or of [dt_cfa()] without groups.
#' @return An object of the classes `psych` and `fa`: a list with `loadings`, `Phi`, `Structure`,
#'   `communality`, `uniquenesses`, `complexity`, `Vaccounted`, `r` (the correlations), `residual` and,
#'   as far as they are known, `n.obs`, `dof`, `STATISTIC`, `PVAL`, `TLI`, `RMSEA` and `rms`.
#' @seealso [as_keys()] for psych's `scoreItems()`.
#' @export
#' @examples
#' if (dt_available() && requireNamespace("psych", quietly = TRUE)) {
#'   fit <- dt_fit(dt_dataset("holzinger_swineford_9"))
#'   psych::fa.sort(as_psych_fa(fit))
#'   psych::fa.diagram(as_psych_fa(fit))
#' }
as_psych_fa <- function(x) {
  if (!inherits(x, c("dt_fit", "dt_efa", "dt_cfa"))) {
    stop_input("`x` must be a result of dt_fit(), dt_efa() or dt_cfa(); got ", class(x)[1], ".")
  }
  loadings <- loadings_of(x) # refuses models in groups
  if (!ncol(loadings)) stop_input("There are no factors to hand over.")
  Phi <- x$factor_correlations
  u2 <- x$uniquenesses[rownames(loadings)]
  residual <- x$residuals[rownames(loadings), rownames(loadings)]
  common <- loadings %*% Phi %*% t(loadings)
  parts <- c(
    list(
      loadings = structure(loadings, class = "loadings"), Phi = Phi, Structure =
        structure(loadings %*% Phi, class = "loadings"),
      communality = 1 - u2, communalities = 1 - u2, uniquenesses = u2,
      complexity = rowSums(loadings^2)^2 / rowSums(loadings^4),
      Vaccounted = variance_accounted(loadings, Phi), factors = ncol(loadings),
      r = residual + common + diag(u2), residual = residual,
      rotation = if (is.null(x$rotation)) "none" else x$rotation,
      fm = if (inherits(x, "dt_efa")) x$method else class(x)[1], fn = "fa", Call = x$call
    ),
    psych_measures(x)
  )
  structure(Filter(Negate(is.null), parts), class = c("psych", "fa"))
}

# psych's table: sums of squared loadings, with what correlated factors share divided among them.
variance_accounted <- function(loadings, Phi) {
  ss <- diag(Phi %*% t(loadings) %*% loadings)
  rows <- rbind(`SS loadings` = ss, `Proportion Var` = ss / nrow(loadings))
  if (length(ss) > 1) {
    rows <- rbind(
      rows, `Cumulative Var` = cumsum(ss / nrow(loadings)), `Proportion Explained` = ss / sum(ss),
      `Cumulative Proportion` = cumsum(ss / sum(ss))
    )
  }
  colnames(rows) <- colnames(loadings)
  rows
}

# The names of psych for fit measures that are known.
psych_measures <- function(x) {
  m <- as.list(x$fit_measures)
  m <- m[!is.na(m)]
  first <- function(...) for (name in c(...)) if (!is.null(m[[name]])) return(m[[name]])
  rmsea <- c(
    RMSEA = first("rmsea"), lower = first("rmsea.ci.lower", "rmsea_low"),
    upper = first("rmsea.ci.upper", "rmsea_high")
  )
  list(
    n.obs = if (is.null(x$n_obs)) NA else x$n_obs, dof = first("df"), STATISTIC = first("chisq", "chi_square"),
    PVAL = first("pvalue", "p_value"), TLI = first("tli"), rms = first("rmsr", "srmr"),
    # psych prints the fit below these, as that of a likelihood, which dt_fit() does not maximize.
    criteria = c(objective = first("objective")), crms = first("rmsr_corrected"),
    chi = first("empirical_chi_square"), EPVAL = first("empirical_p_value"),
    objective = first("objective"), null.model = first("objective_null"),
    null.dof = first("df_null"), null.chisq = first("chi_square_null"), BIC = first("bic"),
    RMSEA = if (length(rmsea)) c(rmsea, confidence = 0.9)
  )
}
