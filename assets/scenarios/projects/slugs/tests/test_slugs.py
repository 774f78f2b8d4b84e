from slugs import slugify


def test_words_are_joined_by_hyphens():
    assert slugify('Why small tools last') == 'why-small-tools-last'


def test_accents_and_marks_are_left_out():
    assert slugify('  Café: à la carte!  ') == 'cafe-a-la-carte'


def test_nothing_gives_nothing():
    assert slugify('…') == ''
