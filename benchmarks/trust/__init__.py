"""What the package says about its own trustworthiness, against simulation."""
