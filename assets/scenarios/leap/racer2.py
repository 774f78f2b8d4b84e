def is_leap(year):
    if type(year) is not int or year < 1:
        raise ValueError(f'{year!r} is not a year')
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
