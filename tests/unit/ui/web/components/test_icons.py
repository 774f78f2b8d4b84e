"""The font sent to pages has every icon that they use."""

from tests.browser import icons


def test_the_font_has_every_icon_that_is_used():
    icon_names = set(icons.NAMES.read_text('utf-8').split())
    missing = {
        name for name in icons.icon_names() if name.replace('_', '').isalnum() and name.islower()
    } - icon_names
    assert not missing, f'run `python -m tests.browser.icons`: {sorted(missing)}'
    assert icons.FONT.stat().st_size < 20_000
