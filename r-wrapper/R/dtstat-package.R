#' dtstat: latent structure of survey items by dependence thresholding
#'
#' Start with [dt_fit()]. [dt_diagnose()] and [dt_stability()] say how far to trust the result,
#' [dt_plan()] how many people a survey needs, [dt_cfa()] fits models in lavaan's syntax. The first
#' time, run [install_dtstat()]; [dt_sitrep()] says what is found.
#'
#' @keywords internal
#' @importFrom stats anova coef confint fitted logLik nobs predict residuals vcov
"_PACKAGE"

utils::globalVariables(".data")
