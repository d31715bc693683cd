def slug(text):
    return text.lower().encode("ascii").decode().replace(" ", "-")
