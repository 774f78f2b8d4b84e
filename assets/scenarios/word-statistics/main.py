"""Prints the report for a file: python main.py FILE."""

import sys

from report import report


def main(arguments):
    """Print the report and return the exit status."""
    if len(arguments) != 1:
        print('usage: main.py FILE', file=sys.stderr)
        return 2
    with open(arguments[0], encoding='utf-8') as file:
        print(report(file.read()), end='')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
