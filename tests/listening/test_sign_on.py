"""Single sign-on against a provider that is not one: who comes in, as whom, and who does not."""

from urllib.parse import urlsplit

import httpx
import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config.accounts import allauth_settings, sign_ons
from config.environment import Environment
from listening.access.projects import invite, make_project
from listening.accounts.sign_on import STRONG, checked_claims
from listening.models import Membership, Role
from tests.factories import make_user
from tests.listening.test_accounts import PASSWORD, give_app, is_in
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.oidc_double import CLIENT, GRACE, SECRET, OidcDouble
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def server():
    with OidcDouble() as double:
        yield double


@pytest.fixture
def uni(server, settings):
    """A provider that is set as it is in the environment, and another that is never asked."""
    empty_cache()
    server.person, server.faults, server.signed, server.more = dict(GRACE), set(), {}, {}
    use(settings, variables(server.url))
    return server


def variables(url: str, **more: str) -> dict[str, str]:
    own = {"NAME": "Uni", "ISSUER": url, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, **more}
    other = {"ISSUER": "https://lab.example", "CLIENT_ID": "x", "CLIENT_SECRET": "x"}
    return {
        "EARNEST_OIDC": "uni,lab",
        **{f"EARNEST_OIDC_UNI_{name}": value for name, value in own.items()},
        **{f"EARNEST_OIDC_LAB_{name}": value for name, value in other.items()},
    }


def use(settings, environment: dict[str, str]) -> None:
    settings.EARNEST_SIGN_ONS = sign_ons(Environment(environment))
    for name, value in allauth_settings("testserver", "http", settings.EARNEST_SIGN_ONS).items():
        setattr(settings, name, value)


def sign_on(client: Client, onward: str = "", **form: str):
    """To the provider, and back, as a browser goes."""
    page = client.post("/sign-on/uni/", {"next": onward, **form})
    if page.status_code != 200:
        return page
    there = httpx.get(page.context["onward"])
    back = urlsplit(there.headers["Location"])
    assert back.netloc == "testserver"
    return client.get(f"{back.path}?{back.query}")


def said(answer) -> str:
    return words_of(answer.content.decode())


# --- Who comes in --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_checked_address_of_a_named_domain_makes_an_account_once(uni, settings):
    assert "but you have no account here" in said(sign_on(Client()))
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    client = Client()
    assert "Log in with Uni" in page_of(client, "/login/")
    answer = sign_on(client, "/gallery/")
    assert (answer.status_code, answer.url) == (302, "/gallery/")
    grace = User.objects.get()
    assert (grace.username, grace.email) == ("grace", "grace@uni.example")
    assert (grace.is_staff, grace.is_superuser) == (False, False)
    assert not grace.has_usable_password()
    again = Client()
    assert sign_on(again).status_code == 302
    assert is_in(again)
    assert User.objects.count() == 1
    uni.person |= {"email_verified": False, "email": "eve@uni.example"}
    assert sign_on(Client()).status_code == 302  # known by the number at the provider, as before


@pytest.mark.parametrize(
    "person",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email": "grace@uni.example.evil.org"},
        {"email": "grace"},
        {"email": None},
    ],
)
@pytest.mark.medium
def test_an_address_that_nobody_has_checked_or_of_elsewhere_makes_none(uni, settings, person):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    uni.person |= person
    client = Client()
    answer = sign_on(client)
    assert (answer.status_code, User.objects.count(), is_in(client)) == (403, 0, False)


@pytest.mark.medium
def test_an_invitation_lets_in_whoever_the_provider_knows(uni):
    uni.person |= {"email_verified": False, "preferred_username": "Owner"}
    owner = make_user("owner")
    lab = make_project("Lab", owner)
    path = urlsplit(invite(lab, "editor", 7, by="owner")).path
    client = Client()
    assert "Join with Uni" in page_of(client, path)
    answer = sign_on(client, path)
    assert answer.url == path
    assert "You are logged in as" in words_of(page_of(client, path))
    assert messages_of(client.post(path, follow=True)) == ["You joined the project Lab, as editor."]
    new = Membership.objects.get(role=Role.EDITOR).user
    assert new.pk != owner.pk
    assert new.username.lower() != "owner"
    assert new.email == ""  # nobody has checked it
    other = Client()
    uni.person = {"sub": "p-9"}
    assert sign_on(other, path).status_code == 403  # a link that was used lets nobody in
    assert sign_on(other, "/studies/").status_code == 403


# --- As whom -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_equal_address_is_no_proof_and_who_has_the_password_connects(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    ada = User.objects.create_user("ada", "Grace@uni.example", PASSWORD)
    refused = said(sign_on(Client()))
    assert "There is one with the address grace@uni.example, which is not connected" in refused
    client = Client()
    client.post("/login/", {"username": "ada", "password": PASSWORD})
    asked = sign_on(client, process="connect")
    assert asked.url == "/account/confirm/"  # the password again, before it counts
    assert not SocialAccount.objects.exists()
    done = client.post("/account/confirm/", {"password": PASSWORD}, follow=True)
    assert messages_of(done) == ["Connected: it logs in to this account now."]
    assert "grace@uni.example, since" in words_of(page_of(client, "/account/"))
    by_provider = Client()
    sign_on(by_provider)
    assert by_provider.session["_auth_user_id"] == str(ada.pk)
    other = Client()
    User.objects.create_user("bob", password=PASSWORD)
    other.post("/login/", {"username": "bob", "password": PASSWORD})
    sign_on(other, process="connect")
    done = other.post("/account/confirm/", {"password": PASSWORD}, follow=True)
    assert "connected to another account here" in messages_of(done)[0]
    assert other.session["_auth_user_id"] != str(ada.pk)
    pk = SocialAccount.objects.get().pk
    form = {"action": "disconnect", "connection": pk}
    assert "was not connected" in messages_of(other.post("/account/do/", form, follow=True))[0]
    gone = client.post("/account/do/", form, follow=True)
    assert messages_of(gone) == ["Uni logs in to this account no more."]


@pytest.mark.medium
def test_the_only_way_in_cannot_be_disconnected(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    client = Client()
    sign_on(client)
    form = {"action": "disconnect", "connection": SocialAccount.objects.get().pk}
    assert "has no password" in messages_of(client.post("/account/do/", form, follow=True))[0]
    assert SocialAccount.objects.exists()


@pytest.mark.medium
def test_little_is_kept_of_what_a_provider_tells(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    uni.person |= {"picture": "https://uni.example/grace.jpg", "birthdate": "1906-12-09"}
    sign_on(Client())
    assert SocialAccount.objects.get().extra_data == GRACE


@pytest.mark.medium
def test_an_account_that_is_switched_off_stays_out(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    sign_on(Client())
    User.objects.update(is_active=False)
    client = Client()
    assert "This account is switched off" in said(sign_on(client))
    assert not is_in(client)


# --- With how many factors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trusted", "amr", "enough"),
    [
        ("no", ["mfa"], False),
        ("amr", ["pwd"], False),
        ("amr", ["pwd", "otp"], True),
        ("always", None, True),
    ],
)
@pytest.mark.medium
def test_a_providers_second_factor_counts_as_settings_say(uni, settings, trusted, amr, enough):
    use(settings, variables(uni.url, DOMAINS="uni.example", SECOND_FACTOR=trusted))
    settings.EARNEST_REQUIRE_TWO_FACTOR = "all"
    uni.person |= {"amr": amr} if amr else {}
    client = Client()
    sign_on(client)
    assert is_in(client) is enough
    other = Client()
    other.force_login(User.objects.get())  # strength is of a log-in, not of an account
    assert not is_in(other)


@pytest.mark.medium
def test_a_second_factor_of_ones_own_is_asked_for_after_a_sign_on(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    client = Client()
    sign_on(client)
    _, recovery = give_app(User.objects.get())
    assert Authenticator.objects.count() == 2
    new = Client()
    assert sign_on(new, "/gallery/").url == "/login/second/"
    assert not is_in(new)
    assert new.post("/login/second/", {"code": recovery[0]}).url == "/gallery/"


# --- What goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        *("away", "other issuer", "forged", "unsigned", "other audience", "old token"),
        *("two people", "no exp", "no nonce", "other nonce"),
    ],
)
@pytest.mark.medium
def test_what_a_provider_says_wrongly_lets_nobody_in(uni, settings, fault):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    uni.faults = {fault}
    client = Client()
    answer = sign_on(client)
    assert answer.status_code == 401
    assert "Uni did not answer as it should" in said(answer)
    assert not is_in(client)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("azp", "aud", "lets_in"),
    [
        (CLIENT, CLIENT, True),
        (CLIENT, [CLIENT, "another"], True),
        ("another", CLIENT, False),
        ("another", [CLIENT, "another"], False),
        (None, [CLIENT, "another"], False),
    ],
)
@pytest.mark.medium
def test_a_token_that_was_made_for_another_client_lets_nobody_in(uni, settings, azp, aud, lets_in):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    uni.signed = {"aud": aud} | ({"azp": azp} if azp else {})
    client = Client()
    assert sign_on(client).status_code == (302 if lets_in else 401)
    assert is_in(client) is lets_in


@pytest.mark.parametrize(
    "claims",
    [
        *({"sub": sub} for sub in ("p\0", "p\ud800", "p" * 300, ["p-1"], 17, "", None)),
        *({"preferred_username": name} for name in ("gr\0ace", "\ud800", "g" * 300, ["grace"])),
        *({"email": address} for address in ("\0@x.de", "\udfff@x.de", "g" * 300 + "@x.de", [])),
    ],
)
def test_claims_that_cannot_be_stored_are_refused(claims):
    with pytest.raises(OAuth2Error, match=next(iter(claims))):
        checked_claims(GRACE | claims)


@pytest.mark.parametrize("claims", [[GRACE], "grace", None, {}])
def test_what_is_no_object_with_a_subject_is_refused(claims):
    with pytest.raises(OAuth2Error, match="claims"):
        checked_claims(claims)


@pytest.mark.parametrize("amr", [[["mfa"]], ["mfa\0"], {"mfa": 1}, "mfa", ["mfa", 1]])
def test_odd_methods_prove_nothing(amr):
    assert "amr" not in checked_claims(GRACE | {"amr": amr})


@pytest.mark.parametrize("verified", [1, [True], "yes", 1.0, {}])
def test_only_true_says_that_an_address_was_checked(verified):
    assert "email_verified" not in checked_claims(GRACE | {"email_verified": verified})


ODD_CLAIMS = [  # each with what is answered: 401 not understood, 403 no account for you, 302 in
    ({"preferred_username": "gr\0ace"}, 401),
    ({"preferred_username": "\u202e"}, 302),
    ({"email": "a@x@uni.example"}, 403),
    ({"email": "grace@uni.example\nx"}, 403),
    ({"email_verified": 1}, 403),
    ({"email_verified": "true"}, 302),
    ({"amr": [["mfa"]]}, 302),
]


@pytest.mark.slow
def test_odd_claims_get_a_sentence_and_no_half_account(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example", SECOND_FACTOR="amr"))
    found = []
    for claims, _ in ODD_CLAIMS:
        empty_cache()
        User.objects.all().delete()
        uni.person = GRACE | claims
        client = Client()
        answer = sign_on(client)
        found.append((claims, answer.status_code))
        let_in = int(answer.status_code == 302)
        assert [User.objects.count(), SocialAccount.objects.count()] == [let_in] * 2, claims
        assert is_in(client) is bool(let_in)
        assert not client.session.get(STRONG), claims  # nothing odd counts as a second factor
        if not let_in:
            assert any(
                words in said(answer)
                for words in ("did not answer as it should", "There is no account for you")
            ), claims
    assert found == ODD_CLAIMS


@pytest.mark.parametrize(
    "more", [{"expires_in": "soon"}, {"expires_in": 10**30}, {"access_token": ["a"]}]
)
@pytest.mark.medium
def test_odd_answers_to_a_code_get_a_sentence(uni, settings, more):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    uni.more = more
    answer = sign_on(Client())
    assert (answer.status_code, User.objects.count()) == (401, 0)
    assert "Uni did not answer as it should" in said(answer)


@pytest.mark.medium
def test_an_answer_belongs_to_one_browser_and_one_question(uni, settings):
    use(settings, variables(uni.url, DOMAINS="uni.example"))
    client, thief = Client(), Client()
    page = client.post("/sign-on/uni/")
    back = urlsplit(httpx.get(page.context["onward"]).headers["Location"])
    answer = thief.get(f"{back.path}?{back.query}")
    assert answer.status_code == 401
    assert "in another browser" in said(answer)
    assert client.get(f"{back.path}?{back.query}").status_code == 302
    assert client.get(f"{back.path}?{back.query}").status_code == 401
    assert not is_in(thief)
    uni.faults = {"cancelled"}
    assert "You went back at Uni" in said(sign_on(Client()))
    for path, status in {"/sign-on/none/": 404, "/sign-on/none/back/": 404}.items():
        method = thief.get if path.endswith("back/") else thief.post
        assert method(path).status_code == status
    assert thief.get("/sign-on/uni/").status_code == 405


def test_a_policy_lets_no_form_end_elsewhere_so_a_page_leads_on(uni):
    answer = Client().post("/sign-on/uni/", {"next": "//evil.example/"})
    assert answer.status_code == 200
    assert f'content="0; url={uni.url}/authorize?' in answer.content.decode()


# --- Settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"EARNEST_OIDC": "Uni"}, "small letters"),
        ({"EARNEST_OIDC": "uni,uni"}, "each once"),
        ({"EARNEST_OIDC_UNI_ISSUER": ""}, "EARNEST_OIDC_UNI_ISSUER"),
        ({"EARNEST_OIDC_UNI_ISSUER": "http://uni.example"}, "https://"),
        ({"EARNEST_OIDC_UNI_CLIENT_SECRET": ""}, "EARNEST_OIDC_UNI_CLIENT_SECRET"),
        ({"EARNEST_OIDC_UNI_DOMAINS": "@uni.example"}, "domains of mail addresses"),
        ({"EARNEST_OIDC_UNI_DOMAIN": "uni.example"}, "EARNEST_OIDC_UNI_DOMAIN is not read"),
        ({"EARNEST_OIDC": "lab"}, "EARNEST_OIDC_UNI_CLIENT_ID is not read: EARNEST_OIDC names lab"),
        ({"EARNEST_OIDC_UNI_SECOND_FACTOR": "maybe"}, "no or amr or always"),
    ],
)
def test_a_wrong_setting_is_named_at_the_start(change, words):
    with pytest.raises(ImproperlyConfigured, match=words):
        sign_ons(Environment(variables("https://uni.example") | change))
