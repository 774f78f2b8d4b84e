"""Reasoning effort per role in the launch form: choosing, refusing, reusing."""

from nicegui import ui

from ui.web.pages.shared.launching.efforts import Efforts


async def draw(user):
    instances = []

    @ui.page('/efforts')
    def page():
        instances.append(Efforts(on_change=lambda: None))
        instances[0].set_roles(('pro', 'judge'))

    await user.open('/efforts')
    return instances[0]


async def test_each_role_has_its_own_effort(user):
    efforts = await draw(user)
    await user.should_see('model default')
    efforts.fill({'': 'low', 'judge': '8000'})
    assert efforts.chosen == {'': 'low', 'judge': '8000'} and efforts.check()
    await user.should_see('low, 1 role set')
    efforts.set_roles(('judge', 'con'))
    assert efforts.chosen == {'': 'low', 'judge': '8000'}, 'roles that stay keep theirs'
    efforts.fill({})
    assert efforts.chosen == {}


async def test_an_invalid_effort_is_refused_at_its_field(user):
    efforts = await draw(user)
    efforts.fill({'judge': 'much'})
    assert not efforts.check()
    await user.should_see('Enter one of none, minimal, low')
