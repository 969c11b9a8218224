# Real surveys with a published key, from R packages: NAME.csv and NAME.json into the folder given.
#
#   Rscript keyed.R FOLDER
#
# A set comes out only if its package is installed. Keys are those of the packages' own objects or
# help pages, as `source` and `note` say; signs are dropped, since a structure has none.
suppressPackageStartupMessages({
  library(psych)
  library(psychTools)
  library(lavaan)
})
folder <- commandArgs(TRUE)[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

has <- function(package) requireNamespace(package, quietly = TRUE)

# One object of a package's data files, without attaching anything.
fetch <- function(name, package, file = name) {
  space <- new.env()
  utils::data(list = file, package = package, envir = space)
  get(name, space)
}

# Scales as names of columns: "-A1" is A1.
unsigned <- function(key) lapply(key, function(items) sub("^-", "", as.character(items)))

# Consecutive scales of the given sizes over the items in order.
blocks <- function(items, sizes) {
  stopifnot(sum(sizes) == length(items))
  split(items, factor(rep(names(sizes), sizes), levels = names(sizes)))
}

keep <- function(name, x, key, source, note, n_obs = NULL) {
  key <- unsigned(key)
  items <- unique(unlist(key))
  is_matrix <- !is.null(n_obs)
  if (is_matrix) {
    x <- as.matrix(x)
    if (is.null(rownames(x)) || !all(items %in% rownames(x))) rownames(x) <- colnames(x)
    items <- rownames(x)[rownames(x) %in% items]
    colnames(x) <- rownames(x)
    x <- stats::cov2cor(x[items, items])
    stopifnot(isSymmetric(unname(x), tol = 1e-6))
  } else {
    items <- intersect(colnames(x), items)
    x <- as.data.frame(x)[items]
    x[] <- lapply(x, as.numeric)
    x <- x[rowSums(!is.na(x)) > 0, ]
    n_obs <- nrow(x)
  }
  stopifnot(setequal(items, unlist(key)))
  utils::write.csv(x, file.path(folder, paste0(name, ".csv")), row.names = FALSE, na = "")
  described <- list(
    name = name, source = source, note = note, n_obs = n_obs, is_matrix = is_matrix,
    key = lapply(key, I)
  )
  writeLines(
    jsonlite::toJSON(described, auto_unbox = TRUE, digits = NA, pretty = TRUE),
    file.path(folder, paste0(name, ".json"))
  )
}

# ---- personality ---------------------------------------------------------------------------------

keep("bfi", bfi, fetch("bfi.keys", "psychTools", "bfi"), "psychTools::bfi",
  "key: psychTools::bfi.keys, also in ?bfi"
)
keep("spi", spi, spi.keys[6:32], "psychTools::spi",
  "key: psychTools::spi.keys, the 27 narrow scales; the 5 broad ones that come first left out"
)
keep("zola_self", zola, zola.keys[6:32], "psychTools::zola",
  paste("key: psychTools::zola.keys 6 to 32, the 27 narrow scales of self report; polychoric;",
    "n is the mean number of answers an item of ?zola (158,631 persons), far fewer a pair"),
  n_obs = 18180
)
keep("zola_peer", zola, zola.keys[33:40], "psychTools::zola",
  "key: psychTools::zola.keys 33 to 40, the 8 scales of peer report; polychoric; n of ?zola",
  n_obs = 908
)
keep("neo", neo,
  blocks(colnames(neo), c(N = 6, E = 6, O = 6, A = 6, C = 6)), "psychTools::neo",
  "key: neo.keys in the examples of ?neo; facets, not items; n = 1000 in ?neo", n_obs = 1000
)
keep("big5_adjectives", big5.100.adjectives, big5.adjectives.keys,
  "psychTools::big5.100.adjectives", "key: psychTools::big5.adjectives.keys"
)
keep("epi", epi, epi.keys[c("E", "N", "L")], "psychTools::epi",
  "key: psychTools::epi.keys E, N, L; Imp and Soc, which overlap E, left out"
)
keep("geras", GERAS.items, GERAS.keys[1:6], "psychTools::GERAS.items",
  "key: psychTools::GERAS.keys 1 to 6, the lowest level (M and F by person, cognition, activity)"
)
keep("ability", ability, ability.keys[-1], "psychTools::ability",
  "key: psychTools::ability.keys without the total ICAR16; right or wrong"
)

# ---- tests of ability ----------------------------------------------------------------------------

tests <- grep("^t(0[1-9]|1[0-9]|2[0-4])_", names(holzinger.swineford), value = TRUE)
keep("holzinger_swineford_24", holzinger.swineford[tests],
  blocks(tests, c(spatial = 4, verbal = 5, speed = 4, memory = 6, math = 5)),
  "psychTools::holzinger.swineford",
  paste("key: by the words of ?holzinger.swineford (Thompson 1998): spatial, verbal, speeded,",
    "memory, math")
)
keep("holzinger_swineford_9", lavaan::HolzingerSwineford1939,
  blocks(paste0("x", 1:9), c(visual = 3, textual = 3, speed = 3)),
  "lavaan::HolzingerSwineford1939", "key: the model of ?cfa; 9 of the 24 tests of the same pupils"
)
keep("thurstone", Thurstone,
  blocks(rownames(Thurstone), c(verbal = 3, fluency = 3, reasoning = 3)), "psych::Thurstone",
  "key: ?Thurstone, Verbal Comprehension, Word Fluency, Reasoning; markers as in ?Bechtoldt",
  n_obs = 213
)
keep("holzinger_14", Holzinger,
  blocks(rownames(Holzinger), c(spatial = 3, mental_speed = 3, motor_speed = 4, verbal = 4)),
  "psych::Holzinger", "key: ?Holzinger, '3 spatial, 3 mental speed, 4 motor speed, 4 verbal'",
  n_obs = 355
)
marks <- c(memory = 2, verbal = 3, words = 3, space = 3, number = 3, reasoning = 3)
keep("bechtoldt_1", Bechtoldt.1, blocks(rownames(Bechtoldt.1), marks), "psych::Bechtoldt.1",
  "key: ?Bechtoldt, six factors in this order with three markers, two of memory", n_obs = 212
)
keep("bechtoldt_2", Bechtoldt.2, blocks(rownames(Bechtoldt.2), marks), "psych::Bechtoldt.2",
  "key: ?Bechtoldt, as bechtoldt_1; Thurstone is 9 of these 17", n_obs = 213
)
keep("cattell", cattell,
  blocks(rownames(cattell), c(verbal = 2, space = 2, reason = 2, number = 2, ipat = 4)),
  "psych::cattell", "key: the descriptions in ?cattell; n = 277", n_obs = 277
)

# ---- health, politics, bodies --------------------------------------------------------------------

keep("reise", Reise,
  blocks(rownames(Reise), c(quick = 3, doctor = 4, staff = 2, needed = 4, plan = 3)),
  "psych::Reise", "key: ?Reise, items 1-3, 4-7, 8-9, 10-13, 14-16; n = 35,000", n_obs = 35000
)
keep("chen", Chen[-1, -1],
  blocks(rownames(Chen)[-1], c(cognition = 5, vitality = 4, mental = 5, worry = 3)),
  "psych::Chen", "key: ?Schmid, four subscales; the first item, quality of life, left out",
  n_obs = 403
)
physical <- as.matrix(Harman.8)
rownames(physical) <- colnames(physical)
keep("harman_8", physical,
  blocks(rownames(physical), c(lankiness = 4, stockiness = 4)), "psych::Harman.8",
  "key: ?Harman, 'four measures of lankiness and then four of stockiness'; bodies of 305 girls",
  n_obs = 305
)
keep("political_democracy", lavaan::PoliticalDemocracy,
  list(ind60 = paste0("x", 1:3), dem60 = paste0("y", 1:4), dem65 = paste0("y", 5:8)),
  "lavaan::PoliticalDemocracy",
  "key: the model of ?PoliticalDemocracy (Bollen 1989); dem60 and dem65 are one scale at two times"
)

# ---- states and gender ---------------------------------------------------------------------------

# The first of several occasions, so that rows are different persons.
first <- function(x) x[x$time == 1, ]

keep("sai", first(sai),
  list(
    positive = c(
      "calm", "at.ease", "rested", "comfortable", "confident", "secure", "relaxed", "content",
      "joyful", "pleasant"
    ),
    negative = c(
      "tense", "anxious", "nervous", "jittery", "rattled", "high.strung", "upset", "worrying",
      "worried", "regretful"
    )
  ),
  "psychTools::sai", "key: sai.p and sai.n in the examples of ?sai; first occasion"
)
keep("tai", tai,
  list(
    positive = c(
      "pleasant", "wish.happy", "rested", "calm", "happy", "secure", "content", "steady"
    ),
    negative = c(
      "nervous", "not.satisfied", "failure", "difficulties", "worry", "disturbing.thoughts",
      "lack.self.confidence", "decisive", "inadequate", "thoughts.bother", "disappointments",
      "tension"
    )
  ),
  "psychTools::tai", "key: tai.pos and tai.neg in the examples of ?sai"
)
keep("msq_circumplex", first(msqR), msq.keys[5:12], "psychTools::msqR",
  "key: psychTools::msq.keys 5 to 12, eight scales of Larsen and Diener (1992); first occasion"
)
keep("msq_panas", first(msqR), msq.keys[c("PA", "NAf")], "psychTools::msqR",
  "key: psychTools::msq.keys PA and NAf (Watson et al. 1988); first occasion"
)
# Two items were given up when "cheerful" came in: 69 persons answered both.
panas_x <- msq.keys[13:19]
panas_x$Hostility <- setdiff(panas_x$Hostility, "scornful")
panas_x$Sadness <- setdiff(panas_x$Sadness, "alone")
panas_x$Self.Assurance <- setdiff(panas_x$Self.Assurance, "-fearful")
keep("msq_panas_x", first(msqR), panas_x, "psychTools::msqR",
  paste("key: psychTools::msq.keys 13 to 19, seven scales of PANAS-X; first occasion; left out:",
    "'scornful', 'alone' (69 persons answered them and 'cheerful'), 'fearful' (not in ?msq's list)")
)
keep("athenstaedt", Athenstaedt, Athenstaedt.keys[c("Femininity", "Masculinity")],
  "psychTools::Athenstaedt", "key: psychTools::Athenstaedt.keys; the 22 items in no scale left out"
)

# ---- other packages ------------------------------------------------------------------------------

if (has("qgraph")) {
  big5 <- fetch("big5", "qgraph")
  groups <- fetch("big5groups", "qgraph")
  keep("neo_240", big5, lapply(groups, function(k) colnames(big5)[k]), "qgraph::big5",
    "key: qgraph::big5groups, the 5 domains; Dutch NEO-PI-R, 240 items"
  )
}
if (has("psychotools")) {
  gratitude <- fetch("YouthGratitude", "psychotools")
  items <- setdiff(names(gratitude), c("id", "age", "agegroup"))
  keep("youth_gratitude", gratitude, split(items, sub("_.*", "", items)),
    "psychotools::YouthGratitude",
    "key: ?YouthGratitude, LOSD, SA, AO of the GRAT, GQ-6, GAC; the prefixes of the names"
  )
  beliefs <- as.data.frame(unclass(fetch("ConspiracistBeliefs2016", "psychotools")$resp))
  names(beliefs) <- paste0("Q", 1:15)
  facets <- c("government", "global", "extraterrestrial", "wellbeing", "information")
  keep("conspiracist_beliefs", beliefs, split(names(beliefs), factor(rep(facets, 3), facets)),
    "psychotools::ConspiracistBeliefs2016",
    "key: five facets in turn, as others cite Brotherton et al. (2013); not checked there"
  )
}
if (has("multilevel")) {
  leaders <- fetch("lq2002", "multilevel")
  items <- grep("[0-9]$", names(leaders), value = TRUE)
  keep("lq2002", leaders, split(items, sub("[0-9]+$", "", items)), "multilevel::lq2002",
    "key: ?lq2002, leadership, task significance, hostility; persons within 49 companies"
  )
}
if (has("psychotree")) {
  quiz <- as.data.frame(unclass(fetch("SPISA", "psychotree")$spisa))
  names(quiz) <- paste0("q", seq_along(quiz))
  topics <- c(politics = 9, history = 9, economy = 9, culture = 9, science = 9)
  keep("spisa", quiz, blocks(names(quiz), topics), "psychotree::SPISA",
    "key: ?SPISA, topics of nine in the order of its list of questions; right or wrong"
  )
}
