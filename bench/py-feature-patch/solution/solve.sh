#!/bin/bash
set -e
cd /app
cat > task.py <<'END'
import copy


def _walk(doc, pointer):
    if pointer == "":
        return None, None
    if not pointer.startswith("/"):
        raise ValueError(pointer)
    keys = [k.replace("~1", "/").replace("~0", "~") for k in pointer[1:].split("/")]
    for k in keys[:-1]:
        doc = _get(doc, k)
    return doc, keys[-1]


def _index(doc, key, most):
    if not key.isdigit() or key != str(int(key)) or int(key) > most:
        raise ValueError(key)
    return int(key)


def _get(doc, key):
    if isinstance(doc, list):
        return doc[_index(doc, key, len(doc) - 1)]
    if isinstance(doc, dict) and key in doc:
        return doc[key]
    raise ValueError(key)


def _value(doc, pointer):
    parent, key = _walk(doc, pointer)
    return doc if parent is None else _get(parent, key)


def _add(doc, pointer, value):
    parent, key = _walk(doc, pointer)
    if parent is None:
        return value
    if isinstance(parent, list):
        parent.insert(len(parent) if key == "-" else _index(parent, key, len(parent)), value)
    elif isinstance(parent, dict):
        parent[key] = value
    else:
        raise ValueError(pointer)
    return doc


def _remove(doc, pointer):
    parent, key = _walk(doc, pointer)
    if parent is None:
        raise ValueError(pointer)
    value = _get(parent, key)
    del parent[int(key) if isinstance(parent, list) else key]
    return value


def apply(document, patch):
    doc = copy.deepcopy(document)
    for op in patch:
        kind, path = op.get("op"), op.get("path")
        if kind == "add":
            doc = _add(doc, path, copy.deepcopy(op["value"]))
        elif kind == "remove":
            _remove(doc, path)
        elif kind == "replace":
            if path:
                _remove(doc, path)
            doc = _add(doc, path, copy.deepcopy(op["value"]))
        elif kind == "move":
            doc = _add(doc, path, _remove(doc, op["from"]))
        elif kind == "copy":
            doc = _add(doc, path, copy.deepcopy(_value(doc, op["from"])))
        elif kind == "test":
            if _value(doc, path) != op["value"]:
                raise ValueError(path)
        else:
            raise ValueError(kind)
    return doc
END
