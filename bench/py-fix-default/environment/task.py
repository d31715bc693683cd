def add(item, items=[]):
    """Return items with item at the end; a new list if none is given."""
    items.append(item)
    return items
