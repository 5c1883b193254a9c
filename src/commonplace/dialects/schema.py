"""JSON Schema in a few words: what the shapes of every dialect's replies are made of."""

from __future__ import annotations

Schema = dict[str, object]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
STRING_OR_NULL: Schema = {"type": ["string", "null"]}


def record(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    """An object that has all of these properties but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def array(of: Schema) -> Schema:
    return {"type": "array", "items": of}
