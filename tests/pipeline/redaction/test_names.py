"""Names: the sixteen in every spelling, compounds of them, and what only sounds like one."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from openprogram.pipeline.redaction import SECRET_FIELD_NAMES, SECRET_PLACEHOLDER, names, remove_secret_values
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy

_ANY_TYPE: list[JsonValue] = ["x", "", None, 0, 12345, True, 1.5, ["a", {"b": 1}], {"a": {"b": "c"}}]
_NO_STRING: list[JsonValue] = [None, 3, False, {"name": "db", "optional": False}]


def _spellings(name: str) -> set[str]:
    words = name.replace("-", "_").split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    return {name, name.upper(), name.title(), "-".join(words), "_".join(words), camel, "".join(words), camel.title()}


def test_there_are_sixteen_names() -> None:
    assert len(SECRET_FIELD_NAMES) == 16
    assert all(name == name.lower() for name in SECRET_FIELD_NAMES)


@pytest.mark.parametrize("name", sorted(SECRET_FIELD_NAMES))
def test_a_value_under_one_of_the_names_goes_whatever_its_type(name: str) -> None:
    for spelling in _spellings(name):
        for value in _ANY_TYPE:
            assert remove_secret_values({spelling: value, "page": 2}) == {spelling: SECRET_PLACEHOLDER, "page": 2}


@pytest.mark.parametrize(
    "name",
    "clientSecret2 X-Session-Token service_api_key PGPASSWORD db_password user_pwd smtp_pass sshPassphrase masterKey "
    "signing_key private_key SharedAccessKey aws_secret_access_key SECRET_KEY secret_key_base OPENAI_API_KEY HF_TOKEN "
    "X-Amz-Security-Token csrf_token bearer_token webhook_secret encryption_key storageKey DB_PASSWORD_PROD "
    "SecretString x-functions-key PresharedKey KAGGLE_KEY GOOGLE_MAPS_KEY storepass passord".split(),
)
def test_a_string_under_a_compound_name_goes_and_a_container_is_looked_into(name: str) -> None:
    assert remove_secret_values({name: "any words"}) == {name: SECRET_PLACEHOLDER}
    assert remove_secret_values({name: ["any words", 2]}) == {name: [SECRET_PLACEHOLDER, 2]}
    for value in _NO_STRING:
        assert remove_secret_values({name: value}) == {name: value}


@pytest.mark.parametrize(
    "name",
    "partition_key sort_key cache_key primary_key idempotency_key key_id private_key_id public_key monkey turkey "
    "keyboard hotkey has_password password_updated_at token_count max_tokens tokens token_type tokenizer eos_token "
    "next_page_token secretary cookie_policy session_id password_file secretKeyRef tokenUrl author bypass compass "
    "prompt_cache_key search_key role_key".split(),
)
def test_a_name_that_only_sounds_like_one_says_nothing(name: str) -> None:
    assert remove_secret_values({name: "value-2024"}) == {name: "value-2024"}


def test_of_a_path_the_last_part_counts() -> None:
    assert name_secrecy("/prod/db/password") is Secrecy.STRING
    assert name_secrecy("spring.datasource.password") is Secrecy.STRING
    assert name_secrecy("password.length") is Secrecy.NONE


def test_a_name_with_a_placeholder_in_it_says_nothing() -> None:
    assert name_secrecy(f"{SECRET_PLACEHOLDER} token") is Secrecy.NONE


_PARTS = [
    *(name[cut:] for name in SECRET_FIELD_NAMES for cut in (0, 2)),
    *names._SECRET_ENDS,
    *names._SECRET_WORDS,
    *names._PERHAPS_WORDS,
    *names._QUALIFIERS,
    *"to ken pass word wd phrase key api x my session id 2 prod".split(),
    *"-_ ./!é",
]


def check_closely(name: str) -> None:
    """What is said of a name at once is what a closer look says."""
    at_once = name_secrecy.__wrapped__(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_ENDINGS", "")
        assert at_once is name_secrecy.__wrapped__(name)


@pytest.mark.parametrize("name", sorted({*_PARTS, *(f"{owner}key" for owner in names.KEY_OWNERS)}))
def test_a_name_of_one_word_is_told_at_once_as_on_a_closer_look(name: str) -> None:
    check_closely(name)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*_PARTS, *(part.title() for part in _PARTS)]), max_size=5).map("".join))
def test_a_name_of_several_words_too(name: str) -> None:
    check_closely(name)


@settings(max_examples=2000, deadline=None)
@given(
    st.lists(
        st.sampled_from([*_PARTS, *"Has has_ set_ cookie Key Token _ 12 prod".split(), "_" * 30, "x" * 20]),
        min_size=2,
        max_size=12,
    ).map("".join)
)
@example("x1" + "_" * 21 + "set_cookie")
def test_of_a_long_name_the_end_and_the_first_word_say_what_the_whole_does(name: str) -> None:
    by_its_end = name_secrecy.__wrapped__(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_LONG", 1000)
        assert by_its_end is name_secrecy.__wrapped__(name)
