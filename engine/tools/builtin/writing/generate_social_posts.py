"""generate_social_posts: short posts that link to a text, within each network's length limit."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engine.errors import ToolError
from engine.records.frozen import FrozenModel
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.prompt_templates import as_data
from engine.tools.builtin.writing.assemble_content import content_of
from engine.tools.protocol import ToolContext, tool

Network = Literal['mastodon', 'bluesky', 'x', 'linkedin']
MAX_LENGTHS: dict[str, int] = {'mastodon': 500, 'bluesky': 300, 'x': 280, 'linkedin': 3_000}
"""Each network's maximum characters per post."""


class SocialPost(FrozenModel):
    """One post."""

    network: Network
    text: str = Field(min_length=1, max_length=3_000)


class SocialPosts(FrozenModel):
    """Posts for several networks."""

    posts: tuple[SocialPost, ...] = Field(min_length=1, max_length=12)


@tool(
    category='publishing',
    hint='Use when the content is final, to promote it.',
    consumes=('content',),
    produces=('social_posts',),
    needs=('model',),
    seconds=600,
)
async def generate_social_posts(
    context: ToolContext,
    networks: Annotated[
        list[Network], Field(min_length=1, max_length=4, description='The networks to write for')
    ] = ['mastodon', 'linkedin'],  # noqa: B006
    content: Annotated[
        str, Field(max_length=100_000, description='The text to promote; empty for the existing content')
    ] = '',
) -> ToolOutput:
    """Create promotional posts for social media."""
    text = content or content_of(context)
    limits = ', '.join(f'{network} (at most {MAX_LENGTHS[network]} characters)' for network in networks)
    written: SocialPosts = await context.ask(
        f'Write one post each for {limits}, to promote this text:\n\n{as_data(text)}', output=SocialPosts
    )
    long = [post for post in written.posts if len(post.text) > MAX_LENGTHS[post.network]]
    if long:
        network = long[0].network
        raise ToolError(f'the post for {network} is longer than {MAX_LENGTHS[network]} characters')
    listed = '\n\n'.join(f'{post.network}: {post.text}' for post in written.posts)
    return ToolOutput(text=listed, artifacts={'social_posts': [post.model_dump() for post in written.posts]})
