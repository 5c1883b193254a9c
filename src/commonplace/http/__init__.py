"""What the API, the pages and the site share of HTTP: handling a request by its method, and errors as responses."""
