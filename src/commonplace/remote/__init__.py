"""Another Commonplace, reached over HTTP: pull what it has, push what it lacks."""
