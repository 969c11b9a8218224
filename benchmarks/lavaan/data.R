# The data sets of the catalog, one CSV file each: Rscript data.R FOLDER
# Those of lavaan and psych as they are, and simulated ones with fixed seeds.
suppressPackageStartupMessages(library(lavaan))
folder <- commandArgs(TRUE)[1]
save <- function(data, name) {
  write.csv(data, file.path(folder, paste0(name, ".csv")), row.names = FALSE, na = "")
}
draw <- function(n, sd = 1) rnorm(n, sd = sd)
cut_at <- function(x, at) findInterval(x, at) + 1L
hide <- function(data, share) {  # answers missing completely at random
  for (name in names(data)) data[[name]][runif(nrow(data)) < share] <- NA
  data
}

# Items of correlated factors: one column of loadings and one factor per block.
items_of <- function(factors, loadings, names, noise = rep(1, length(loadings))) {
  n <- nrow(factors)
  block <- rep(seq_len(ncol(factors)), each = length(loadings) / ncol(factors))
  x <- factors[, block] * rep(loadings, each = n) + rnorm(n * length(loadings)) * rep(noise, each = n)
  setNames(as.data.frame(x), names)
}
factors_of <- function(n, k, r) {
  (matrix(rnorm(n * k), n) * sqrt(1 - r) + rnorm(n) * sqrt(r))
}

hs <- HolzingerSwineford1939
save(hs, "hs")
save(PoliticalDemocracy, "democracy")
save(Demo.growth, "growth")
save(Demo.twolevel, "twolevel")
save(FacialBurns, "burns")
bfi <- psych::bfi
bfi$gender <- ifelse(bfi$gender == 1, "man", "woman")
save(bfi, "bfi")
five <- bfi  # the rare ends together, as five-point items
for (name in names(five)[1:25]) five[[name]] <- pmin(five[[name]], 5L)
save(five[rowSums(is.na(five[1:25])) == 0, ], "bfi5")

# Gaps in Holzinger and Swineford's tests
set.seed(101)
tests <- paste0("x", 1:9)
gaps <- hs[c(tests, "school", "sex", "ageyr", "grade")]
gaps[tests] <- hide(gaps[tests], .1)
save(gaps, "hs_gaps")
gaps$ageyr[runif(nrow(gaps)) < .1] <- NA
save(gaps, "hs_gaps_x")
planned <- hs[c(tests, "school", "sex", "ageyr")]
form <- rep(1:3, length.out = nrow(planned))
planned[form == 1, c("x1", "x4", "x7")] <- NA
planned[form == 2, c("x2", "x5", "x8")] <- NA
planned[form == 3, c("x3", "x6", "x9")] <- NA
save(planned, "hs_planned")
dropout <- Demo.growth
dropout$t3[dropout$t2 > 3] <- NA
dropout$t4[is.na(dropout$t3) | runif(400) < .1] <- NA
save(dropout, "growth_dropout")

# A pool of sixteen continuous items of four factors, for random models; and one with heavy tails
set.seed(102)
n <- 600
z <- draw(n); w <- draw(n) + .3 * z; g <- rep(c("a", "b", "c"), length.out = n)
f <- factors_of(n, 4, .35) + cbind(.4 * z, .3 * w, 0, .2 * z)
f[, 4] <- f[, 4] + .4 * f[, 1]
names16 <- paste0("y", 1:16)
pool <- items_of(f, runif(16, .6, 1.1), names16, runif(16, .6, 1))
pool$y2 <- pool$y2 + .4 * f[, 2]; pool$y9 <- pool$y9 + .3 * f[, 1]
shared <- draw(n, .5); pool$y3 <- pool$y3 + shared; pool$y7 <- pool$y7 + shared
pool <- cbind(pool + rep(seq(-1, 2, length.out = 16), each = n), z, w, g)
save(pool, "pool")
heavy <- pool
heavy[names16] <- heavy[names16] * sqrt(5 / rchisq(n, 5)) + matrix(rexp(n * 16), n) / 2
save(heavy, "heavy")
save(cbind(hide(heavy[names16], .08), z, w, g), "heavy_gaps")

# Sixteen ordered items of four categories, with predictors, outcomes and three groups
set.seed(103)
n <- 900
z <- draw(n); w <- rbinom(n, 1, .5); g <- rep(c("north", "south", "west"), each = n / 3)
f <- factors_of(n, 4, .4) + cbind(.4 * z, .3 * w, 0, 0)
f[, 2] <- f[, 2] + .3 * (g == "south"); f[, 3] <- f[, 3] + .4 * f[, 1]
latent <- items_of(f, runif(16, .7, 1.1), paste0("u", 1:16), rep(.7, 16))
ordered4 <- as.data.frame(lapply(latent, cut_at, at = c(-1, 0, .9)))
ordered4$b1 <- cut_at(.5 * f[, 1] + draw(n), .2)  # binary outcome
ordered4$o1 <- cut_at(.5 * f[, 2] + .3 * z + draw(n), c(-.5, .8))  # ordered outcome
ordered4$c1 <- .5 * f[, 1] + draw(n) + 3  # continuous outcome
ordered4 <- cbind(ordered4, z, w, g)
save(ordered4, "ordered")
missing4 <- ordered4
missing4[1:16] <- hide(missing4[1:16], .08)
save(missing4, "ordered_gaps")
binary <- as.data.frame(lapply(latent, cut_at, at = .3))
save(cbind(binary, z, w, g), "binary")
three <- as.data.frame(lapply(latent, cut_at, at = c(-.7, .8)))
save(cbind(three, z, w, g), "three")
mixed <- latent
mixed[1:8] <- lapply(mixed[1:8], cut_at, at = c(-1, 0, .9))
save(cbind(mixed, z, w, g), "mixed")

# Mediation: x to m1 and m2 to y, with a covariate, an ordered and a binary outcome
set.seed(104)
n <- 400
x <- draw(n); c1 <- draw(n) + .2 * x; treat <- rbinom(n, 1, .5)
m1 <- .5 * x + .3 * treat + draw(n); m2 <- .4 * x + .3 * m1 + draw(n)
y <- .3 * m1 + .4 * m2 + .1 * x + .2 * c1 + draw(n); y2 <- .3 * y + .2 * m1 + draw(n)
save(data.frame(x, c1, treat, m1, m2, y, y2, yo = cut_at(y, c(-1, 0, 1)), yb = cut_at(y, .2),
                xm = x * treat, sex = rep(c("f", "m"), n / 2)), "mediation")

# Two occasions of four items, the same people
set.seed(105)
n <- 350
f1 <- draw(n); f2 <- .6 * f1 + .2 + draw(n, .8)
own <- matrix(rnorm(n * 4) * .4, n)
wave <- function(f) sapply(c(1, .9, .8, 1.1), function(l) l * f) + own + rnorm(n * 4) * .6
panel <- setNames(as.data.frame(cbind(wave(f1), wave(f2))), paste0(rep(c("a", "b"), each = 4), 1:4))
save(cbind(panel, z = draw(n) + .3 * f1), "panel")

# A survey: clusters of schools, unequal weights that go with the answers, two regions
set.seed(106)
schools <- 60
size <- sample(8:14, schools, replace = TRUE)
school <- rep(seq_len(schools), size); n <- length(school)
f <- factors_of(n, 2, .4) + draw(schools, .5)[school]
survey <- items_of(f, c(1, .8, .9, .7, 1, .9, .8, .7), paste0("v", 1:8), rep(.8, 8))
survey <- survey + matrix(rnorm(schools * 8) * .3, schools)[school, ]
survey$z <- .3 * f[, 1] + draw(n)
survey$weight <- exp(.4 * f[, 1] + draw(n, .4)); survey$school <- school
survey$region <- ifelse(school %% 2 == 0, "east", "west")
for (k in 1:4) survey[[paste0("q", k)]] <- cut_at(survey[[paste0("v", k)]], c(-1, 0, 1))
survey$p1 <- survey$v1; survey$p1[runif(n) < .15] <- NA
survey$p5 <- survey$v5; survey$p5[runif(n) < .15] <- NA
save(survey, "survey")
