"""Balances, fees and payments: what is locked for studies, what went out, twice if asked twice."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from listening.recruitment.play_money.state import ApiError, Json, State, number

PAID = ("APPROVED", "PARTIALLY APPROVED")
OPEN = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
LOCKING = ("PUBLISHING", "ACTIVE", "PAUSED", "AWAITING REVIEW")


def extras(state: State, rewards: Decimal) -> tuple[Decimal, Decimal]:
    """The platform's fee on rewards or bonuses, and the tax on the fee."""
    fee = rewards * Decimal(str(state.setting("fee_percent"))) / 100
    return fee, fee * Decimal(str(state.setting("vat_percent"))) / 100


def with_extras(state: State, rewards: Decimal) -> Decimal:
    return rewards + sum(extras(state, rewards), Decimal(0))


def screen_out_action(study: Json) -> Json | None:
    for code in study["fields"].get("completion_codes") or ():
        for action in code["actions"]:
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                return dict(action)
    return None


def rewards_ahead(state: State, study: Json) -> Decimal:
    """What may still have to be paid for a study's places and screen-outs, without fees."""
    if study["is_test"]:
        return Decimal(0)
    statuses = [each["status"] for each in state.all("submissions", study_id=study["id"])]
    reward = Decimal(str(study["fields"]["reward"]))
    still_open = sum(status in OPEN for status in statuses)
    if study["stopped"]:
        return reward * still_open
    wanted = int(study["fields"]["total_available_places"])
    left = wanted - sum(status in PAID for status in statuses)
    ahead = reward * max(left, 0)
    if action := screen_out_action(study):
        slots = int(action["slots"]) - statuses.count("SCREENED OUT")
        ahead += Decimal(str(action["fixed_screen_out_reward"])) * max(slots, 0)
    return ahead


def locked(state: State, workspace: str) -> Decimal:
    studies = state.all("studies", workspace=workspace)
    ahead = (rewards_ahead(state, s) for s in studies if s["status"] in LOCKING)
    return with_extras(state, sum(ahead, Decimal(0)))


def total(state: State, workspace: str) -> Decimal:
    return Decimal(state.data["workspaces"][workspace]["total"])


def available(state: State, workspace: str) -> Decimal:
    return total(state, workspace) - locked(state, workspace)


def require(state: State, workspace: str, needed: Decimal) -> None:
    free = available(state, workspace)
    if needed > free:
        text = f"The balance is too low: {number(needed)} needed, {number(free)} available."
        raise ApiError(400, text, "Insufficient funds")


def balance(state: State, workspace: str) -> Json:
    return {
        "currency_code": state.setting("currency"),
        "total_balance": number(total(state, workspace)),
        "available_balance": number(available(state, workspace)),
    }


def pay(state: State, submission: Json, kind: str, rewards: Decimal, **more: Any) -> None:
    """Takes it from the workspace, and writes it into the ledger. Test studies cost nothing."""
    study = state.get("studies", submission["study_id"])
    workspace = state.data["workspaces"][study["workspace"]]
    fees, vat = (Decimal(0), Decimal(0)) if study["is_test"] else extras(state, rewards)
    if not study["is_test"]:
        workspace["total"] = str(total(state, workspace["id"]) - rewards - fees - vat)
    if kind != "reward":  # what a fixed screen-out pays stands among the bonuses too
        submission["bonus_payments"].append(number(rewards))
    entry = {"at": state.now(), "kind": kind, "submission": submission["id"]}
    entry |= {"participant": submission["participant"], "study": study["id"]}
    entry |= {"amount": number(rewards), "fees": number(fees), "vat": number(vat), **more}
    state.data["ledger"].append(entry)


def study_cost(state: State, study: Json) -> Json:
    """What was paid for a study."""
    ledger = [entry for entry in state.data["ledger"] if entry["study"] == study["id"]]
    rewards = [Decimal(str(e["amount"])) for e in ledger if e["kind"] == "reward"]
    bonuses = [Decimal(str(e["amount"])) for e in ledger if e["kind"] != "reward"]

    def leaves(amount: Decimal) -> Json:
        fees, vat = (Decimal(0), Decimal(0)) if study["is_test"] else extras(state, amount)
        named = (("rewards", amount), ("fees", fees), ("tax", vat))
        currency = state.setting("currency")
        return {name: {"amount": number(each), "currency": currency} for name, each in named}

    return {
        "rewards": leaves(sum(rewards, Decimal(0))),
        "bonuses": leaves(sum(bonuses, Decimal(0))),
    }


# --- Bonuses, in two steps -----------------------------------------------------------------------


def create_batch(state: State, study: Json, submissions: list[Json], csv: str) -> Json:
    """Written down, not paid. Amounts come in major units: 4.25, and 30 is 30.00."""
    lines, strangers, broken = [], [], []
    for line in filter(None, (each.strip() for each in csv.split("\n"))):
        name, _, text = (part.strip() for part in line.partition(","))
        mine = [s for s in submissions if name in (s["id"], s["participant"])]
        try:
            minor = Decimal(text) * 100
        except InvalidOperation:
            minor = Decimal(0)
        if not minor.is_finite() or minor <= 0:
            broken.append(line)
        elif not mine:
            strangers.append(name)
        else:
            lines.append({"submission": mine[-1]["id"], "amount": number(minor)})
    if broken or not (lines or strangers):
        raise ApiError(400, {"csv_bonuses": [f"Not an id and an amount: {', '.join(broken)}"]})
    if strangers:
        text = f"These have not taken part in the study: {', '.join(strangers)}"
        raise ApiError(400, {"csv_bonuses": [text]})
    workspace = study["workspace"]
    return state.add("batches", study=study["id"], workspace=workspace, lines=lines, paid=0)


def batch_amount(batch: Json) -> Decimal:
    return sum((Decimal(str(line["amount"])) for line in batch["lines"]), Decimal(0))


def batch_json(state: State, batch: Json) -> Json:
    amount = batch_amount(batch)
    fees, vat = extras(state, amount)
    return {
        **{"id": batch["id"], "study": batch["study"], "amount": number(amount)},
        **{"fees": number(fees), "vat": number(vat), "total_amount": number(amount + fees + vat)},
    }


def pay_batch_later(state: State, batch: Json) -> None:
    """Every call pays once more: there is no protection against a second one."""
    require(state, batch["workspace"], with_extras(state, batch_amount(batch)))
    state.later("pay_batch", state.setting("pay_s"), batch=batch["id"])


def pay_batch(state: State, args: Json) -> None:
    batch = state.get("batches", args["batch"])
    batch["paid"] += 1
    for line in batch["lines"]:
        submission = state.get("submissions", line["submission"])
        pay(state, submission, "bonus", Decimal(str(line["amount"])), batch=batch["id"])
