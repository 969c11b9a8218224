# lavaan's users give the model before the data, and write `std.lv` for `std_lv`.

# Names of lavaan's arguments that differ from ours by more than dots.
lavaan_names_of_arguments <- c(
  data = "x", sample_cov = "x", sample_nobs = "n_obs", sample_mean = "means",
  meanstructure = "mean_structure"
)

# Fit a model for the function whose arguments are in `frame`; `...` are those with other names.
fit_model <- function(name, frame, call, ...) {
  given <- as.list(frame)
  dots <- list(...)
  own <- vapply(names_or_blanks(dots), own_name, "", names(given), paste0("dt_", name))
  if (model_comes_first(given, own)) {
    names(given) <- exchanged(names(given))
    names(call) <- exchanged(names(call))
  }
  twice <- which(own %in% names(call) | duplicated(own))[1]
  if (!is.na(twice)) {
    stop_input("`", names(dots)[twice], "` says again what `", own[twice], "` says. Leave one out.")
  }
  given[own] <- dots
  check_given(given, name)
  given$model <- given_model(given$model, given$x)
  given$missing <- lower_case(given$missing)
  if (any(given$missing %in% c("ml", "direct"))) given$missing <- "fiml"
  names(given)[names(given) == "x"] <- "data"
  as_result(ask(name, given[names(given) != "progress"], given$progress, call), call)
}

# lavaan's order: cfa(model, data), and cfa(model, sample.cov = S).
model_comes_first <- function(given, further) {
  is_model(given$x) && !is_model(given$model) || is_absent(given$model) && "x" %in% further
}

exchanged <- function(names) {
  places <- match(names, c("x", "model"), 0)
  replace(names, places > 0, c("model", "x")[places])
}

check_given <- function(given, name) {
  usage <- paste0("dt_", name, "(data, model), or as in lavaan dt_", name, "(model, data).")
  if (is_absent(given$x)) stop_input("The data are missing: ", usage)
  if (is_absent(given$model)) stop_input("`model` is missing: ", usage)
  absent <- names(Filter(is_absent, given))
  if (length(absent)) stop_input("`", absent[1], "` is missing.")
}

names_or_blanks <- function(x) if (is.null(names(x))) rep("", length(x)) else names(x)

own_name <- function(theirs, known, caller) {
  plain <- gsub(".", "_", theirs, fixed = TRUE)
  if (plain %in% names(lavaan_names_of_arguments)) plain <- lavaan_names_of_arguments[[plain]]
  if (plain %in% known) return(plain)
  refuse_argument(theirs, known, caller)
}

refuse_argument <- function(name, known, caller) {
  if (!nzchar(name)) stop_input(caller, "() has fewer arguments than were given. Name the last ones.")
  plain <- function(names) gsub(".", "_", names, fixed = TRUE)
  apart <- drop(utils::adist(plain(name), plain(known), ignore.case = TRUE))
  close <- known[which.min(apart)]
  advice <- if (name == "data" && "x" %in% known) {
    "The data are `x`, the first argument."
  } else if (min(apart) <= max(2, nchar(name) / 4)) {
    paste0("Did you mean `", close, "`?")
  } else {
    paste0(caller, "() has ", paste0("`", known, "`", collapse = ", "), ".")
  }
  stop_input("There is no argument `", name, "`. ", advice)
}

is_absent <- function(x) identical(x, quote(expr = ))

lower_case <- function(x) if (is.character(x)) tolower(x) else x

# What can only be a model; a matrix may be one, or data.
is_model <- function(x) {
  is.character(x) && is.null(dim(x)) || is_keys(x) || inherits(x, c("dt_fit", "dt_cfa", "dt_structure"))
}

# lavaan's users write a text of several lines as one string or as several.
given_model <- function(model, data) {
  if (inherits(model, "dt_cfa")) return(model$model)
  if (is.character(model)) paste(model, collapse = "\n") else structure_argument(model, "model", data)
}
