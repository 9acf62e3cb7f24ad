"""Sends simulated raters with known opinions through the pages of a study that is open."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from argparse import ArgumentParser
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from django.conf import settings
from django.core import signing
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.urls import reverse

from listening.common.command_name import START, command
from listening.common.counted import counted
from listening.common.whole_files import write_whole
from listening.models import Rating, Study
from listening.recruitment.evidence import evidence_of
from listening.sessions.simulated_raters import (
    Kind,
    Shares,
    Summary,
    Truth,
    drawn_qualities,
    planned_kinds,
    send_crowd,
)
from listening.sessions.simulated_raters.knowledge import (
    rater_knowledge,
    roles_of,
    stored_trials,
    truth_file,
)

AWAY_S = 120.0  # as long as a database may take to come back after it was stopped
LOOK_AGAIN_S = 0.5
KINDS = tuple(each.name for each in fields(Shares))


class Command(BaseCommand):
    help = "Send simulated raters with known opinions through the real pages of an open study."

    def add_arguments(self, parser: ArgumentParser) -> None:
        address = default_url()
        parser.add_argument("--raters", type=int, default=60)
        parser.add_argument(
            "--study", default="", help="Study key. May be left out if one study is open."
        )
        parser.add_argument("--url", default=address, help=f"Address of Earnest ({address}).")
        parser.add_argument(
            "--ca", type=Path, metavar="FILE.pem", help="Certificate file of your own authority."
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=1,
            help="Random seed; the same seed gives the same opinions.",
        )
        defaults = Shares()
        for kind in KINDS:
            names = [f"--{kind}", *{"leaver": ["--leave"], "returner": ["--return"]}.get(kind, [])]
            default = getattr(defaults, kind)
            parser.add_argument(*names, dest=kind, type=float, default=default, metavar="SHARE")
        parser.add_argument(
            "--concurrency", type=int, default=16, help="Number of raters at a time."
        )
        parser.add_argument(
            "--truth",
            type=Path,
            metavar="FILE.json",
            help="Write the opinions that were used to this file.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = chosen_study(options["study"])
        kinds = self._kinds(options)
        insist_on_tls(options["url"])
        tls = trusted(options["ca"])
        insist_on_server(options["url"], tls)
        truth = Truth(options["seed"], drawn_qualities(roles_of(study), options["seed"]))
        if options["truth"]:
            write_json(options["truth"], truth_file(study, truth, kinds))
        token = signing.dumps(study.key, salt="simulate")
        landing = f"{reverse('landing', args=[study.link])}?{urlencode({'simulate': token})}"
        self.stdout.write(f"{len(kinds)} simulated raters take “{study.key}” at {options['url']} …")
        summary = asyncio.run(
            send_crowd(
                options["url"],
                landing,
                rater_knowledge(study),
                truth,
                kinds,
                concurrency=options["concurrency"],
                tls=tls,
            )
        )
        reach_again(connection)
        lost = self._report(summary)
        self._report_signs(study, summary)
        if lost or summary.trouble or summary.failures:
            raise CommandError("Something unexpected happened, see above.", returncode=1)

    def _kinds(self, options: dict[str, Any]) -> list[Kind]:
        if options["raters"] < 1 or options["concurrency"] < 1:
            raise CommandError("--raters and --concurrency must be at least 1.")
        try:
            shares = Shares(**{name: options[name] for name in KINDS})
            return planned_kinds(options["raters"], shares, options["seed"])
        except ValueError as error:
            raise CommandError(f"Please check the shares: {error}.") from None

    def _report_signs(self, study: Study, summary: Summary) -> None:
        """How many of each kind show signs of a program, and which: what the evidence catches."""
        known = {each.code: each for each in evidence_of(study).values()}
        seen, flagged, signs = Counter[str](), Counter[str](), Counter[str]()
        for report in summary.reports:
            if report.session in known:
                seen[report.kind] += 1
                indicators = known[report.session].signs
                flagged[report.kind] += bool(indicators)
                if report.kind is Kind.AGENT:
                    kinds = (sign.lstrip("0123456789, ") for sign in indicators)
                    signs.update(each.replace("clip ", "clips ", 1) for each in kinds)
        words = ", ".join(f"{flagged[kind]} of {seen[kind]} {kind}" for kind in sorted(seen))
        self.stdout.write(f"Bot indicators: {words}.")
        for sign, count in signs.most_common():
            self.stdout.write(f"  {count} agents: {sign}")

    def _report(self, summary: Summary) -> set[str]:
        """Prints what happened; returns the acknowledged trials that are not in the database."""
        for kind, ends in sorted(summary.ends.items()):
            outcomes = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
            self.stdout.write(f"  {kind:<15} {outcomes}")
        due = summary.acknowledged - summary.withdrawn
        stored = stored_trials(due)
        repeats = sum(report.repeats for report in summary.reports)
        self.stdout.write(
            f"Answers: acknowledged {len(summary.acknowledged)}, of these {len(summary.withdrawn)} "
            f"deleted on withdrawal; {len(due)} due, stored {len(stored)} "
            f"({Rating.objects.filter(trial__code__in=stored).count()} ratings). "
            f"Sent twice and stored once: {repeats}. In {summary.seconds:.1f} s, "
            f"{len(summary.acknowledged) / max(summary.seconds, 0.1):.0f} answers per second."
        )
        for title, counts in (
            ("Refused", summary.refused),
            ("Server errors and broken connections", summary.trouble),
            ("Raters who could not go on", summary.failures),
        ):
            for what, count in sorted(counts.items()):
                self.stdout.write(f"{title}: {count} × {what}")
        if due - stored:
            self.stdout.write(
                f"LOST: {counted(len(due - stored), 'acknowledged answer')} not stored."
            )
        return due - stored


def reach_again(database: BaseDatabaseWrapper, away_s: float = AWAY_S) -> None:
    """A connection of now: a rehearsal may have restarted the database while raters worked."""
    end = time.monotonic() + away_s
    while True:
        database.close()
        try:
            database.ensure_connection()
        except OperationalError as error:
            if time.monotonic() > end:
                raise CommandError(
                    "The raters have ended, but the database does not answer, so nobody has looked "
                    f"whether each of their answers is stored: {str(error).strip()}"
                ) from None
            time.sleep(LOOK_AGAIN_S)
        else:
            return


def chosen_study(key: str) -> Study:
    """The study named, or the only one that is open."""
    if key:
        study = Study.objects.filter(key=key).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("key", flat=True)[:20]) or "none yet"
            raise CommandError(f"There is no study “{key}”. There are: {known}.")
        if study.state != Study.State.OPEN:
            raise CommandError(
                f"The study “{key}” is {study.get_state_display().lower()}, not open. "
                f"Open it with `{command(f'open_study {key}')}` or on its page, then run this "
                "again."
            )
        return study
    open_studies = list(Study.objects.filter(state=Study.State.OPEN)[:20])
    if len(open_studies) == 1:
        return open_studies[0]
    if open_studies:
        keys = ", ".join(study.key for study in open_studies)
        raise CommandError(f"Several studies are open: choose one with --study ({keys}).")
    how = command("open_study KEY")
    raise CommandError(f"No study is open. Open one with `{how}` or on its page.")


def default_url() -> str:
    """Where Earnest listens; the public address where cookies are for HTTPS alone."""
    if settings.SECURE:
        return str(settings.EARNEST_PUBLIC_URL)
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.EARNEST_HOST, settings.EARNEST_HOST)
    return f"http://{host}:{settings.EARNEST_PORT}"


def insist_on_tls(url: str) -> None:
    public = settings.EARNEST_PUBLIC_URL
    if settings.SECURE and urlsplit(url).scheme != "https":
        raise CommandError(
            f"This Earnest serves {public}, and browsers send its cookies over HTTPS only, so no "
            f"rater gets far at {url}. Go through the proxy: --url {public}"
        )


def trusted(authority: Path | None) -> ssl.SSLContext:
    """Whose certificates are trusted: public authorities', and those of the one that is named."""
    context = httpx.create_ssl_context()
    if authority is not None:
        try:
            context.load_verify_locations(authority)
        except (OSError, ssl.SSLError) as error:
            reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
            raise CommandError(f"--ca {authority} cannot be used: {reason}.") from None
    return context


def insist_on_server(url: str, tls: ssl.SSLContext) -> None:
    remedy = f"Start it with `{START}`, or name its address with --url."
    try:
        answer = httpx.get(f"{url.rstrip('/')}/readyz", timeout=10, verify=tls)
    except httpx.ConnectError as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise CommandError(_certificate_error(url, str(error))) from None
        raise CommandError(f"No Earnest answers at {url} ({error}). {remedy}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise CommandError(f"No Earnest answers at {url} ({reason}). {remedy}") from None
    if answer.status_code != 200:
        raise CommandError(f"Earnest at {url} is not well (status {answer.status_code}). {remedy}")


def _certificate_error(url: str, error: str) -> str:
    reason = error.partition("verify failed: ")[2].partition(" (_ssl")[0]
    if "mismatch" in reason:
        return f"The certificate at {url} is for another name: {reason}"
    return (
        f"The certificate of {url} is not trusted ({reason}). If an authority of your own made it, "
        "name that authority's certificate with --ca FILE.pem"
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    try:
        write_whole(path, (json.dumps(content, indent=2) + "\n").encode())
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
