# Writes the data sets that come from R packages to CSV.
#
# Usage, from the root of the repository:
#   Rscript tools/make_datasets.R [folder]
# The folder is data unless another is named. Running it again gives the same bytes.

arguments <- commandArgs(trailingOnly = TRUE)
folder <- if (length(arguments)) arguments[[1]] else "data"

write_set <- function(data, name) {
  # Binary mode keeps "\n" line ends on every platform; write.csv gives 15 significant digits.
  connection <- file(file.path(folder, paste0(name, ".csv")), open = "wb")
  on.exit(close(connection))
  write.csv(data, connection, row.names = FALSE, quote = FALSE, eol = "\n")
}

nine <- lavaan::HolzingerSwineford1939[paste0("x", 1:9)]
write_set(nine, "holzinger_swineford_9")

all_columns <- psychTools::holzinger.swineford
tests <- grep("^t[0-9]{2}_", names(all_columns), value = TRUE)
stopifnot(length(tests) == 26)
write_set(all_columns[tests], "holzinger_swineford_26")

# The same children in both packages, in the same order.
people <- lavaan::HolzingerSwineford1939
stopifnot(people$ageyr == all_columns$ageyr, people$school == all_columns$school)
dir.create(file.path(folder, "people"), showWarnings = FALSE)
write_set(
  data.frame(school = people$school, age = round(people$ageyr + people$agemo / 12, 3)),
  file.path("people", "holzinger_swineford")
)

write_set(lavaan::PoliticalDemocracy, "political_democracy")

# Every fifth of the people in psych's bfi, as Qualtrics exports a survey whose responses are
# anonymized: three rows of header, answers as texts. What Qualtrics adds (dates, duration, id) is made up.
questions <- c(
  A1 = "Am indifferent to the feelings of others.", A2 = "Inquire about others' well-being.",
  A3 = "Know how to comfort others.", A4 = "Love children.", A5 = "Make people feel at ease.",
  C1 = "Am exacting in my work.", C2 = "Continue until everything is perfect.",
  C3 = "Do things according to a plan.", C4 = "Do things in a half-way manner.", C5 = "Waste my time.",
  E1 = "Don't talk a lot.", E2 = "Find it difficult to approach others.",
  E3 = "Know how to captivate people.", E4 = "Make friends easily.", E5 = "Take charge.",
  N1 = "Get angry easily.", N2 = "Get irritated easily.", N3 = "Have frequent mood swings.",
  N4 = "Often feel blue.", N5 = "Panic easily.", O1 = "Am full of ideas.",
  O2 = "Avoid difficult reading material.", O3 = "Carry the conversation to a higher level.",
  O4 = "Spend time reflecting on things.", O5 = "Will not probe deeply into a subject."
)
answers <- paste(rep(c("Very", "Moderately", "Slightly"), 2), rep(c("Inaccurate", "Accurate"), each = 3))
answers <- answers[c(1:3, 6:4)]
schooling <- c("Some high school", "High school", "Some college", "College degree", "Graduate degree")
bfi <- psych::bfi[seq(5, nrow(psych::bfi), by = 5), ]
n <- nrow(bfi)
began <- as.POSIXct("2010-03-01 09:00:00", tz = "UTC") + 3511 * seq_len(n)
lasted <- 180 + (97 * seq_len(n)) %% 240
moment <- function(time) format(time, "%Y-%m-%d %H:%M:%S", tz = "UTC")
exported <- data.frame(
  StartDate = moment(began), EndDate = moment(began + lasted), Status = "Anonymous", Progress = 100,
  "Duration (in seconds)" = lasted, Finished = "True", RecordedDate = moment(began + lasted + 1),
  ResponseId = paste0("R_", row.names(bfi)), DistributionChannel = "anonymous", UserLanguage = "EN",
  age = bfi$age, gender = c("Male", "Female")[bfi$gender], education = schooling[bfi$education],
  lapply(bfi[names(questions)], function(item) answers[item]), check.names = FALSE
)
asked <- c(
  "Start Date", "End Date", "Response Type", "Progress", "Duration (in seconds)", "Finished",
  "Recorded Date", "Response ID", "Distribution Channel", "User Language", "How old are you?",
  "What is your gender?", "What is your highest level of education?",
  paste("How accurately does each statement describe you? -", questions)
)
tags <- c(
  "startDate", "endDate", "status", "progress", "duration", "finished", "recordedDate", "_recordId",
  "distributionChannel", "userLanguage", "QID1_TEXT", "QID2", "QID3", paste0("QID4_", seq_along(questions))
)
quoted <- function(cells) {
  cells <- ifelse(is.na(cells), "", as.character(cells))
  plain <- !grepl("[\",\n]", cells)
  ifelse(plain, cells, paste0('"', gsub('"', '""', cells), '"'))
}
lines <- rbind(names(exported), asked, sprintf('{"ImportId":"%s"}', tags), as.matrix(exported))
lines[-(1:3), ] <- trimws(lines[-(1:3), ]) # as.matrix() pads numbers
dir.create(file.path(folder, "exports"), showWarnings = FALSE)
connection <- file(file.path(folder, "exports", "big_five_qualtrics.csv"), open = "wb")
writeLines(apply(apply(lines, 2, quoted), 1, paste, collapse = ","), connection)
close(connection)
