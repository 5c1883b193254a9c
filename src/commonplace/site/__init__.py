"""The HTTP site: one application of all doors that speak HTTP, and who may come in, from where and how often."""
