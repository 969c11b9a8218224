#' Say which items belong to which factors
#'
#' Makes the structure that [dt_fit()], [dt_cfa()], [dt_margin()] and [dt_compare()] take, from
#' whatever form the factors have. Only a model text needs Python.
#'
#' @param x One of: a matrix or data frame of items by factors, `TRUE` or 1 where an item belongs; a
#'   matrix of loadings, or a result that has one, of psych's `fa`, of `factanal`, [dt_efa()] or
#'   [dt_cfa()]; a list of keys as psych has them, `list(A = c("-A1", "A2"))`, with a minus for items
#'   that load negatively (an item that `item_names` or the data call "-A1" is written so; if there is an
#'   "A1" besides, "-A1" is refused); a model text of lavaan such as `"A =~ A1 + A2"`; a result of [dt_fit()] or
#'   [dt_simulate()].
#' @param item_names Names of the items, where `x` has none or to replace them. For keys and model
#'   texts: all items there are, also those of no factor.
#' @param factor_names Names of the factors, where `x` has none or to replace them.
#' @param reversed Matrix of items by factors, `TRUE` where an item loads negatively; by default what
#'   `x` says. It tells which way a factor points, and is carried over to keys, lavaan and models.
#' @param cutoff A loading of at least this size, whatever its sign, makes an item belong.
#' @return An object of class `dt_structure`: a list with `support` (items by factors, `TRUE` where
#'   an item belongs), `reversed` (`TRUE` where it loads negatively), `items`, `factors`, `keys`,
#'   `unique_children` (items of one factor alone, by factor), `uncovered` (items of no factor) and `satisfies_ucc` (has every factor an item of its own?).
#' @export
#' @examples
#' big_two <- dt_structure(list(A = c("-A1", "A2", "A3"), C = c("C1", "C2", "-C4")))
#' big_two$support
#'
#' as_structure(factanal(mtcars[1:7], 2), cutoff = 0.5)$keys
#'
#' if (dt_available()) {
#'   dt_structure("visual =~ x1 + x2 + x3; speed =~ x7 + x8 + x9")$keys
#' }
dt_structure <- function(x, item_names = NULL, factor_names = NULL, reversed = NULL,
                         cutoff = 0.3) {
  if (inherits(x, "formula")) stop_input("`x` is a formula; write it as text: \"F =~ x1 + x2\".")
  if (is_model_text(x)) {
    x <- ask("lavaan_structure", list(model = x), call = sys.call())
    x <- if (is.null(item_names)) with_signs(x$support * 1, x$reversed) else x$keys
  } else if (is.list(x) && inherits(x$structure, "dt_structure")) {
    x <- x$structure
  }
  signs <- if (is_keys(x)) signs_of_keys(x, item_names) else signs_of_matrix(x, cutoff)
  if (!is.null(reversed)) signs <- with_signs(abs(signs), reversed)
  new_structure(
    signs,
    given_names(item_names, rownames(signs), nrow(signs), "item_names", "x"),
    given_names(factor_names, colnames(signs), ncol(signs), "factor_names", "F")
  )
}

#' @rdname dt_structure
#' @export
as_structure <- dt_structure

# The structure that is given as an argument, which messages name.
# "-1" in its keys may be the name of a column of the data.
structure_argument <- function(x, argument, data = NULL) {
  columns <- as.character(colnames(data))
  tryCatch(
    if (is_keys(x) && any(startsWith(columns, "-"))) {
      signs <- signs_of_keys(x, columns)
      dt_structure(signs[rowSums(signs != 0) > 0, , drop = FALSE])
    } else {
      dt_structure(x)
    },
    dtstat_error_input = function(e) {
      e$message <- sub("^`x`", paste0("`", argument, "`"), e$message)
      stop(e)
    }
  )
}

is_model_text <- function(x) is.character(x) && length(x) == 1 && grepl("=~", x, fixed = TRUE)

is_keys <- function(x) {
  is.list(x) && !is.object(x) && length(x) > 0 && all(vapply(x, is.character, NA))
}

# 1 where an item belongs to a factor, -1 where it does so negatively, 0 elsewhere.
signs_of_keys <- function(keys, item_names) {
  if (is.null(names(keys))) names(keys) <- paste0("F", seq_along(keys))
  known <- as.character(item_names)
  minus <- grep("^-", intersect(unlist(keys), known), value = TRUE)
  twin <- minus[sub("^-", "", minus) %in% known]
  if (length(twin)) {
    stop_input(
      "`keys` has '", twin[1], "', which may be the item '", twin[1], "' or the item '",
      sub("^-", "", twin[1]), "' reversed, as there are both. Rename one of them, or give dt_structure() ",
      "with `reversed`."
    )
  }
  sets <- lapply(keys, function(items) ifelse(items %in% known, items, sub("^-", "", items)))
  items <- if (is.null(item_names)) unique(unlist(sets)) else known
  absent <- setdiff(unlist(sets), items)
  if (length(absent)) {
    stop_input("The keys name the item '", absent[1], "', which is not among `item_names`.")
  }
  signs <- matrix(0, length(items), length(keys), dimnames = list(items, names(keys)))
  for (k in seq_along(keys)) {
    signs[match(sets[[k]], items), k] <- ifelse(sets[[k]] == keys[[k]], 1, -1)
  }
  signs
}

with_signs <- function(support, reversed) {
  reversed <- as.matrix(reversed)
  if (!identical(dim(reversed), dim(support)) || anyNA(reversed) || any(reversed & !support)) {
    stop_input("`reversed` must be TRUE or FALSE for every item and factor, TRUE only where an item belongs.")
  }
  support * ifelse(reversed, -1, 1)
}

signs_of_matrix <- function(x, cutoff) {
  if (inherits(x, "dt_structure")) {
    return(if (is.null(x$reversed)) x$support * 1 else with_signs(x$support * 1, x$reversed))
  }
  # A confirmatory model says itself which items belong, however weakly.
  if (inherits(x, "dt_cfa")) return(sign(if (length(x$groups)) x$loadings[[1]] else x$loadings))
  x <- loadings_of(x)
  if (!(is.matrix(x) && (is.numeric(x) || is.logical(x)))) {
    stop_input(
      "`x` must be a matrix of items by factors, keys such as list(A = c(\"A1\", \"A2\")), a ",
      "model text with =~, or a factor solution; got ", class(x)[1], "."
    )
  }
  if (anyNA(x)) stop_input("`x` has missing entries; every item belongs to a factor or does not.")
  if (is.logical(x)) return(x * 1)
  if (!(is.numeric(cutoff) && length(cutoff) == 1 && isTRUE(cutoff > 0))) {
    stop_input("`cutoff` must be a positive number; 0.3 is usual.")
  }
  sign(x) * (abs(x) >= cutoff)
}

# The matrix of loadings of a solution, whatever package made it; anything else as it is.
loadings_of <- function(x) {
  if (inherits(x, "dt_cfa") && length(x$groups)) {
    stop_input(
      "Every group of this model has its own loadings. Give those of one: fit$loadings[[\"",
      x$groups[1], "\"]]."
    )
  }
  if (is.list(x) && !is.data.frame(x) && !is.null(x$loadings)) x <- x$loadings
  if (is.data.frame(x)) x <- as.matrix(x)
  # print methods of class "loadings" would hide small ones; here it is a matrix like any other
  if (inherits(x, "loadings")) class(x) <- NULL
  x
}

given_names <- function(given, own, count, argument, stem) {
  names <- if (is.null(given)) own else as.character(given)
  if (is.null(names)) names <- paste0(stem, seq_len(count))
  if (length(names) != count) {
    stop_input("`", argument, "` must have ", count, " names; got ", length(names), ".")
  }
  if (anyDuplicated(names)) {
    stop_input(
      "`", argument, "` must be distinct; '", names[anyDuplicated(names)], "' occurs twice."
    )
  }
  names
}

new_structure <- function(signs, items, factors) {
  dimnames(signs) <- list(items, factors)
  support <- signs != 0
  empty <- which(colSums(support) == 0)
  if (length(empty)) {
    stop_input("The factor '", factors[empty[1]], "' has no items. Leave it out, or see `cutoff`.")
  }
  own <- support[rowSums(support) == 1, , drop = FALSE]
  parts <- list(
    support = support, reversed = signs < 0, items = items, factors = factors,
    keys = lapply(stats::setNames(seq_along(factors), factors), function(k) {
      paste0(ifelse(signs[, k] < 0, "-", ""), items)[support[, k]]
    }),
    unique_children = lapply(stats::setNames(factors, factors), function(k) {
      rownames(own)[own[, k]]
    }),
    uncovered = items[rowSums(support) == 0], satisfies_ucc = all(colSums(own) > 0)
  )
  structure(parts, class = "dt_structure")
}

#' Compare two structures of the same items
#'
#' Use it to see how close a structure comes to another: a found one to the true one of
#' [dt_simulate()], or to the published key of a scale. Names and order of factors do not matter:
#' factors are matched so that most agrees.
#'
#' @param estimated,truth Structures of the same items, with any numbers of factors: results of
#'   [dt_fit()], or anything [dt_structure()] takes.
#' @return An object of class `dt_comparison`: a list with `f1`, `precision`, `recall`, `hamming`
#'   (edges that differ), `n_factors` of both, and `matching` (factors of the truth, named by those
#'   that stand for them).
#' @export
#' @examples
#' if (dt_available()) {
#'   truth <- dt_structure(list(A = c("a1", "a2"), B = c("b1", "b2")))
#'   found <- dt_structure(list(F1 = c("b1", "b2", "a2"), F2 = c("a1", "a2")))
#'   dt_compare(found, truth)$hamming
#' }
dt_compare <- function(estimated, truth) {
  call <- match.call()
  arguments <- list(estimated = dt_structure(estimated), truth = dt_structure(truth))
  result <- as_result(ask("compare", arguments, call = call), call)
  result$matching <- vapply(result$matching, as.character, "")
  result
}
