# The one form in which values cross to Python and back; dtstat/interop/wire.py is its twin.
# Neither reticulate nor pandas is asked to convert arrays, integers or missing values: they turn NA
# into answers. Numbers cross as little-endian bytes.

encode <- function(x, name = "x") {
  if (is.null(x)) return(list(kind = "null"))
  if (inherits(x, c("dt_fit", "dt_cfa", "dt_diagnosis", "dt_stability", "dt_certificate", "dt_plan"))) {
    return(encode_object(class(x)[1], list(state = x$state)))
  }
  if (inherits(x, names(object_fields))) {
    return(encode_object(class(x)[1], unclass(x)[object_fields[[class(x)[1]]]]))
  }
  if (is.data.frame(x)) return(encode_frame(x))
  if (is.factor(x)) return(encode_factor(x))
  if (inherits(x, c("Date", "POSIXt", "difftime"))) {
    stop_input("`", name, "` holds dates or times, which are not answers. Leave it out.")
  }
  if (is.raw(x)) return(list(kind = "raw", data = x))
  if (is.list(x)) return(encode_list(x))
  if (inherits(x, "formula")) {
    stop_input("`", name, "` is a formula, which dt_fit() alone takes; give columns: data[c(\"A1\", \"A2\")].")
  }
  if (is.function(x)) stop_input("`", name, "` is a function; give a name instead.")
  encode_vector(x, name)
}

object_fields <- list(
  dt_dependence = c("values", "items", "measure", "n_obs", "pairwise_n"),
  dt_sparse_dependence = c("pairs", "items", "measure", "n_obs", "floor"),
  dt_structure = c("support", "items", "factors", "reversed"),
  dt_survey_design = c("loadings", "factor_correlations", "levels")
)

encode_object <- function(class, fields) {
  list(kind = "object", class = class, fields = lapply(fields, encode))
}

encode_vector <- function(x, name) {
  many <- inherits(x, "AsIs")
  vector_names <- if (is.null(dim(x))) names(x)
  x <- unlabelled(x)
  about <- list(
    dim = as_list(dim(x)), dimnames = encode_dimnames(x), names = as_list(vector_names), many = many
  )
  if (is.logical(x)) return(c(list(kind = "logical", data = bytes(as.integer(x), 4L)), about))
  if (is.integer(x)) return(c(list(kind = "integer", data = bytes(x, 4L)), about))
  if (is.double(x)) return(c(list(kind = "numeric", data = bytes(x, 8L)), about))
  if (is.character(x)) {
    missing <- which(is.na(x))
    x[missing] <- ""
    texts <- list(kind = "character", values = as_list(enc2utf8(x)), missing = as_list(missing))
    return(c(texts, about))
  }
  stop_input("`", name, "` is of type ", typeof(x), ", which cannot be answers.")
}

bytes <- function(x, size) {
  writeBin(as.vector(x), raw(), size = size, endian = "little")
}

# A Python list, whatever its length; reticulate makes a scalar of a vector of one.
as_list <- function(x) if (is.null(x)) NULL else as.list(unname(x))

encode_dimnames <- function(x) {
  names <- dimnames(x)
  if (is.null(names)) NULL else lapply(unname(names), as_list)
}

# Labeled columns of haven, foreign and psych: the labels go, values declared missing become NA.
unlabelled <- function(x) {
  values <- attr(x, "na_values", exact = TRUE)
  range <- attr(x, "na_range", exact = TRUE)
  dims <- dim(x)
  names <- dimnames(x)
  x <- unclass(x)
  attributes(x) <- NULL
  if (!is.null(values)) x[x %in% values] <- NA
  if (!is.null(range)) x[!is.na(x) & x >= range[1] & x <= range[2]] <- NA
  dim(x) <- dims
  dimnames(x) <- names
  x
}

encode_factor <- function(x) {
  list(
    kind = "factor", data = bytes(as.integer(x), 4L),
    levels = as_list(enc2utf8(levels(x))), ordered = is.ordered(x)
  )
}

encode_frame <- function(x) {
  columns <- Map(encode_column, unclass(x)[seq_along(x)], names(x))
  rows <- attr(x, "row.names")
  list(
    kind = "frame", names = as_list(enc2utf8(names(x))), columns = unname(columns),
    rows = if (is.character(rows)) as_list(enc2utf8(rows)) else NULL, n = nrow(x),
    texts = as_list(item_texts(x)), aside = as_list(attr(x, "aside", exact = TRUE))
  )
}

# Questions, as haven, labelled and Hmisc keep them; NULL if no column has one.
item_texts <- function(x) {
  texts <- vapply(unclass(x)[seq_along(x)], function(column) {
    text <- attr(column, "label", exact = TRUE)
    if (is.character(text) && length(text) == 1 && !is.na(text)) enc2utf8(unname(text)) else ""
  }, "")
  if (any(nzchar(texts))) unname(texts)
}

encode_column <- function(x, name) {
  if (is.list(x)) stop_input("The column '", name, "' is a list; answers are single values.")
  if (!is.null(dim(x))) stop_input("The column '", name, "' is a matrix; answers are one column.")
  encode(x, name)
}

encode_list <- function(x) {
  list(kind = "list", names = as_list(names(x)), values = unname(lapply(x, encode)))
}

decode <- function(wire) {
  switch(wire$kind,
    null = NULL,
    numeric = shaped(readBin(wire$data, "double", length(wire$data) / 8, 8L, endian = "little"), wire),
    integer = shaped(readBin(wire$data, "integer", length(wire$data) / 4, 4L, endian = "little"), wire),
    logical = shaped(
      as.logical(readBin(wire$data, "integer", length(wire$data) / 4, 4L, endian = "little")), wire
    ),
    character = shaped(decode_texts(wire), wire),
    factor = decode_factor(wire),
    raw = as.raw(wire$data),
    list = decode_list(wire),
    frame = decode_frame(wire),
    stop("dtstat: unknown kind '", wire$kind, "'", call. = FALSE)
  )
}

shaped <- function(x, wire) {
  if (!is.null(wire$dim)) {
    dim(x) <- as.integer(unlist(wire$dim))
    if (!is.null(wire$dimnames)) dimnames(x) <- lapply(wire$dimnames, texts)
  } else if (!is.null(wire$names)) {
    names(x) <- texts(wire$names)
  }
  x
}

texts <- function(x) if (is.null(x)) NULL else as.character(unlist(x))

decode_texts <- function(wire) {
  x <- as.character(unlist(wire$values))
  x[as.integer(unlist(wire$missing))] <- NA_character_
  x
}

decode_factor <- function(wire) {
  codes <- readBin(wire$data, "integer", length(wire$data) / 4, 4L, endian = "little")
  structure(
    codes, levels = as.character(unlist(wire$levels)),
    class = c(if (isTRUE(wire$ordered)) "ordered", "factor")
  )
}

decode_list <- function(wire) {
  x <- lapply(wire$values, decode)
  if (!is.null(wire$names)) names(x) <- texts(wire$names)
  x
}

decode_frame <- function(wire) {
  columns <- lapply(wire$columns, decode)
  names(columns) <- texts(wire$names)
  said <- texts(wire$texts)
  for (k in which(nzchar(said))) attr(columns[[k]], "label") <- said[k]
  rows <- if (is.null(wire$rows)) .set_row_names(as.integer(wire$n)) else texts(wire$rows)
  frame <- structure(columns, class = "data.frame", row.names = rows)
  if (!is.null(wire$aside)) attr(frame, "aside") <- texts(wire$aside)
  frame
}
