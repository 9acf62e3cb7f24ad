"""Connections of the event loop look for rows by indexes; what a pooler lends stays as it was."""

import asyncio

import pytest

from listening.common.async_connections import LoopPool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("pooler", "scans", "plans"), [(False, "off", "force_generic_plan"), (True, "on", "auto")]
)
def test_connections_that_a_pooler_lends_to_others_later_are_left_as_they_are(
    settings, pooler, scans, plans
):
    settings.EARNEST_POOLER = pooler

    async def shown():
        pool = LoopPool()
        async with pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT current_setting('enable_seqscan'), current_setting('plan_cache_mode')"
            )
            found = await cursor.fetchone()
        await pool.close()
        return found

    assert asyncio.run(shown()) == (scans, plans)
