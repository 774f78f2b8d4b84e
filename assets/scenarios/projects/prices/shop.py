"""The shop: adds up prices."""


def total(cents):
    """Return the sum of amounts in cents as text."""
    whole = sum(cents)
    return f'{whole // 100}.{whole % 100:02d}'
