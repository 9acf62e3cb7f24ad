"""Calls that come while others are on their way go on together; who comes alone goes at once."""

import asyncio

import pytest

from listening.common.async_connections import Batches


class Work:
    """Doubles numbers, batch by batch; each batch waits until it is let go."""

    def __init__(self):
        self.batches = []
        self.gates = []

    async def __call__(self, calls):
        self.batches.append(calls)
        self.gates.append(gate := asyncio.Event())
        await gate.wait()
        if None in calls:
            raise ValueError("no number")
        return [2 * call for call in calls]

    def go(self):
        self.gates.pop(0).set()


async def turns():
    for _ in range(5):
        await asyncio.sleep(0)


async def asked(batches, *calls):
    tasks = [asyncio.ensure_future(batches(call)) for call in calls]
    await turns()
    return tasks


def with_work(story, *, at_once, largest=10):
    async def run():
        work = Work()
        await story(work, Batches(work, at_once=at_once, largest=largest))

    asyncio.run(run())


def test_who_comes_alone_goes_at_once_and_the_others_together():
    async def story(work, batches):
        first = await asked(batches, 1)
        assert work.batches == [[1]]
        rest = await asked(batches, 2, 3, 4)
        assert work.batches == [[1]]
        work.go()
        assert await asyncio.gather(*first) == [2]
        await turns()
        assert work.batches == [[1], [2, 3, 4]]
        work.go()
        assert await asyncio.gather(*rest) == [4, 6, 8]
        last = await asked(batches, 5)  # after a rest, too
        work.go()
        assert await asyncio.gather(*last) == [10]

    with_work(story, at_once=1)


def test_so_many_are_on_their_way_and_so_many_in_one():
    async def story(work, batches):
        tasks = [*await asked(batches, 1), *await asked(batches, 2), *await asked(batches, 3, 4, 5)]
        assert work.batches == [[1], [2]]
        work.go()
        await turns()
        assert work.batches == [[1], [2], [3, 4]]
        while work.gates:
            work.go()
            await turns()
        assert work.batches == [[1], [2], [3, 4], [5]]
        assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10]

    with_work(story, at_once=2, largest=2)


def test_what_fails_fails_for_its_batch_alone_and_is_logged(caplog):
    async def story(work, batches):
        tasks = [*await asked(batches, 1), *await asked(batches, 2, None)]
        work.go()
        await turns()
        tasks += await asked(batches, 3)
        work.go()
        await turns()
        work.go()
        first, *failed, last = await asyncio.gather(*tasks, return_exceptions=True)
        assert (first, last) == (2, 6)
        assert [type(error) for error in failed] == [ValueError, ValueError]

    with_work(story, at_once=1)
    assert "2 calls failed that went together: ValueError" in caplog.text


@pytest.mark.parametrize("on_its_way", [True, False])
def test_who_goes_away_disturbs_nobody(on_its_way):
    async def story(work, batches):
        busy = await asked(batches, 0)
        gone, stays = await asked(batches, 1, 2)
        if on_its_way:
            work.go()
            await turns()
        gone.cancel()
        await turns()
        if not on_its_way:
            work.go()
            await turns()
        work.go()
        assert await asyncio.gather(*busy, stays) == [0, 4]
        assert work.batches == [[0], [1, 2] if on_its_way else [2]]

    with_work(story, at_once=1)


def test_what_one_call_causes_fails_no_other_call_of_its_batch():
    async def run():
        batches = []

        async def work(calls):
            batches.append(list(calls))
            await asyncio.sleep(0)
            if 3 in calls:
                raise UnicodeError("three")
            return [2 * call for call in calls]

        together = Batches(work, by_one=(UnicodeError,))
        calls = [together(n) for n in (0, 1, 2, 3, 4)]
        told = await asyncio.gather(*calls, return_exceptions=True)
        assert [each for each in told if isinstance(each, int)] == [0, 2, 4, 8]
        assert isinstance(told[3], UnicodeError)
        assert max(map(len, batches)) == 5  # they did go together

    asyncio.run(run())
