"""The published tool references we speak: a tool is a name, parameters, a reply shape and one call into memory/."""
