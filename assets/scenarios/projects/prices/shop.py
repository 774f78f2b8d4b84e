"""The shop: adds prices up."""


def total(cents):
    """The sum of amounts in cents, as a text."""
    whole = sum(cents)
    return f'{whole // 100}.{whole % 100:02d}'
