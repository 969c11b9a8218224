"""Survey answers: reading them, checking them, and the data sets that come with dtstat."""
