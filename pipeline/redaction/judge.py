"""Does a value look like a secret? Pure functions of the first WINDOW characters of a value.

A value under a telling name is either a secret, or a stand-in for one (`<token>`, `${TOKEN}`, `****`), or code that
fetches it, or a word of prose. The tests here tell these apart; how much proof they ask for is the Proof.
Source: own.
"""

import re
from enum import IntEnum
from typing import Final

from openprogram.pipeline.redaction.words import any_of

__all__ = ["WINDOW", "Proof", "is_generated", "is_random", "is_secret_value", "is_stand_in"]

#: Characters of a value that decide. A longer value is judged by them, so nothing waits for its end.
WINDOW: Final = 64


class Proof(IntEnum):
    """How much a value must look like a secret, in rising order."""

    #: The place itself is proof (a URL parameter `api_key=`): anything but a stand-in.
    PLACE = 0
    #: Data in quotes under a telling name: not a stand-in, not a type, not a phrase.
    DATA = 1
    #: `name: value`, `name = value`: letters and digits, or letters of mixed case without words.
    NAMED = 2
    #: `name value`, in prose and tables: a strong password or a random run.
    NEARBY = 3
    #: The name may be anything (`key`): a strong password, or a random run of mixed case and digits.
    ALONE = 4


#: Words that a stand-in begins with, and words behind which a path or a name stands.
_FOR_EXAMPLE: Final = any_of("your some example dummy fake sample insert enter replace todo fixme".split())
_MINE: Final = any_of("my the a an any put".split())
_ELSEWHERE: Final = any_of(
    "op vault arn file http https env ssm secret secrets keyring keychain projects alias urn".split()
)
_STAND_IN: Final = re.compile(
    rf"""(?ix) [<$%{{*…@] |\#[0-9a-f]{{3,8}}$ | \(\? | \[[\w -]*\] | \.\.\. | \#\{{ | enc\[ | !!?\w | &\w+$ | \\ | -+$
    | =
    | \S{{0,24}}%[sr(] | __\w+__$ | [\[({{]{{2}} | \d\*[a-z(] | [^\[]{{0,16}}\[[^\]]{{0,32}}(?:a-z|0-9)
    | (?-i:{_FOR_EXAMPLE})[-_ ]
    | (?-i:{_MINE})[-_ ][a-z]+\d{{0,2}}(?:[-_ .,]|$) | (?-i:(?:[Yy]our|[Mm]y)[A-Z][a-z]{{2}})
    | x{{3,}} | \S{{0,24}}(?:\*{{3}}|\.{{3}}|…)
    | (?-i:{_ELSEWHERE})[:/]
    | [~.]{{1,2}}/ | /(?![A-Za-z0-9+/]{{15,}}={{0,2}}$) | \.[a-z_]+(?:\d[a-z_]+)*$
    """
)
#: Begins like a path, and may be base64: one in sixty-four such secrets does.
_SLASHED: Final = re.compile(r"/(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)")
_WORDS_WITHOUT_SECRET: Final = frozenset(
    """string str text password passwd pass pwd secret token key apikey api_key none null nil true false undefined
    required optional hidden bearer basic any number int integer boolean bool object bytes varchar nullable
    unknown empty missing invalid valid expired redacted removed masked value username user field type default
    var let const self this new return yes no on off ok char unset set disabled enabled auto inherit prompt stdin
    changeme placeholder test example credential credentials authentication auth authorization and or not in is
    x-oauth-basic keep file env plain api jwt oauth oauth2 saml ldap ntlm digest negotiate""".split()
)
_JOINTS: Final = re.compile(r"[-_]")
_HASHES: Final = any_of(
    """sha md aes rsa hs rs es ps utf base argon bcrypt pbkdf scrypt ed p x mt oauth curve secp int uint float v http
    level ipv key token password secret arg param var field col line page step test user part item foo bar""".split()
)
_ALGORITHM: Final = re.compile(rf"{_HASHES}[-_]?\d{{1,5}}(?i:[-_a-z]{{0,3}}|-[a-z]+)")
_NUMBERISH: Final = re.compile(
    r"(?i)[-+]?[\d.,_:/-]++(?:e[-+]?\d+)?\s?(?:[kmgt]?i?b|ms|s|m|h|d|px|%|x|min|days?|hours?|years?|chars?)?|0x[0-9a-f]+[ul]{0,3}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?|\d++(?:\.\d+)+[-+.\w]{0,12}|\d++/\d+"
)
_DIGEST: Final = re.compile(r"(?i)(?:sha\d{1,3}|md5)[:=-]")
_KIND_WORDS: Final = "Key Token Array String Secret Password Bytes Type Config".split()
#: Behind the letters of a name: it ends in one of these words, with more before it; a digit follows a `V`.
_KINDS: Final = "|".join(rf"(?<=.{word})|(?<=.{word}V)(?=\d)" for word in _KIND_WORDS)
# In what follows, no run of characters can be split in two ways: a value made for that would be tried in all of them,
# which takes hours for one of 64 letters.
_CODE: Final = re.compile(
    r"""(?x) [A-Za-z_][\w-]*+(?:\??\.[A-Za-z_]\w*+)++[;,)]*+$   # self.token, mock.sentinel.token1
    | [A-Za-z_][\w.]{0,60}+[(\[<]                    # getenv(…), Optional[…]
    | [A-Z_][A-Z0-9]*+_[A-Z0-9_]++$                     # API_KEY_2
    | [a-z]++(?:_[a-z]++)++_?v?\d{0,2}$                    # token_v2
    | [A-Z][A-Za-z]*+(?:\d++[A-Z][A-Za-z]*+)?(?:"""
    + _KINDS
    + r""")\d?[?;]?$   # RSAPrivateKeyV2
    | [A-Za-z][A-Za-z_-]{0,30}+[:=]$
    | [A-Z]{2,6}-\d{1,3}$ | [\w-]++[ ][\w-]++=$                # PKCS-12, GoogleLogin Auth=
    | \w*_(?:token|key|secret|password|passwd|value)s?$ | [a-z]++(?:-[a-z]++)*+/[a-z]++$
    | [a-z][\w.]*+(?:\$\w++){2}                            # module$exports$parts
    | x-[a-z]++(?:-[a-z]++)*+\d{0,3}$                        # x-amz-content-sha256
    | (?:localhost|[a-z0-9-]++(?:\.[a-z0-9-]++)++):\d{2,5}$ """
)
#: A class whose name has numbers in it, maybe of a module: mlkem.MLKEM768PrivateKey.
_CLASS: Final = re.compile(rf"(?:[A-Za-z_]\w*\.)*+[A-Z][A-Za-z]*+(?:\d++[A-Z][A-Za-z]*+){{1,3}}(?:{_KINDS})[?;,]?")
_WORD_LIKE: Final = re.compile(
    r"[A-Za-z]?[a-z]*\d{0,4}|[A-Z]+\d{0,4}|\d+"
    r"|(?:re|do|to|is|k|m|e)?(?:[A-Z]{1,6}[a-z]{2,}+\d{0,3}+|[a-z]{3,}+\d{0,3}+|Ed\d{3,5}+"
    r"|(?:As|At|By|Id|In|Is|No|Of|On|Or|To|Up)(?![a-z])|[A-Z]{1,3}\d{1,4}(?=[A-Z]{1,6}[a-z]{2}|\Z)|V\d(?:alpha|beta)\d)+[A-Z]{0,4}"
)
_LONG_PARTS: Final = re.compile(r"[A-Za-z0-9]{8,}")
#: Words of Chinese, Japanese or Korean, which stand right behind a number and at a name: "8文字以上", "至少8位".
_COUNTED: Final = re.compile(
    r"[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{0,5}+[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_HAS_DIGIT: Final = re.compile(r"\d")
_HAS_LETTER: Final = re.compile(r"[^\W\d_]")
_SYMBOL: Final = re.compile(r"[!?*^%$#@]")
_MAIL: Final = re.compile(r"[a-z.+-]{1,32}@[a-z-]{1,24}(?:\.[a-z-]{2,16}){1,3}")
_STRONG: Final = re.compile(r"(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9_.-]{8,40}[!?*^%$#@&~]")
_MIXED: Final = re.compile(r"(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])(?=[A-Za-z]*\d)[A-Za-z0-9]{16}")
_PHRASE: Final = re.compile(r"[^\W\d_'’-]+[,:;]?(?: [^\W\d_'’-]+[,;:.!?]?)*(?: \d{1,2})?")
_SENTENCE: Final = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){2}[,.;:]? ")


def is_stand_in(value: str) -> bool:
    """Whether `value` only stands for a secret: empty, a template, a mask, a reference, a type, a keyword."""
    if not value or _STAND_IN.match(value) is not None:
        return True
    if value[0] == "/":
        return _SLASHED.match(value) is None or not is_random(value)
    bare = value.strip("\"'`;,.)(").lower()
    if "-" in bare or "_" in bare:
        return bare in _WORDS_WITHOUT_SECRET or _WORDS_WITHOUT_SECRET.issuperset(_JOINTS.split(bare))
    return bare in _WORDS_WITHOUT_SECRET


def is_random(value: str, *, least: int = 16) -> bool:
    """Whether a part of `value` of 8 characters or more is neither a word nor a number, and all have `least`."""
    if len(value) < least:
        return False
    return any(_WORD_LIKE.fullmatch(part) is None for part in _LONG_PARTS.findall(value))


#: Letters of both cases and a symbol that is rare in names, numbers and paths.
_GENERATED: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[\w.,:/+=-]*[^\w.,:/+=-])\S{12,}")
#: What code and templates are known by: a range of letters, an escape of an expression, a variable, a mask, an address.
_WRITTEN: Final = re.compile(
    r"\A[A-Za-z_.]{3,}[(\[]|[A-Za-z_]{3}\(\)|[aA]-[zZ]|0-9|\\[dDwWsSbnrtxu]|[$#]\{|\{\{|%\(|://"
    r"|&(?:#x?[\dA-Fa-f]{2,6}|lt|gt|amp|quot|apos|nbsp);|\.\.\.|…|\*\*\*|[xX]{4}"
)
_KINDS_OF_CHARACTERS: Final = re.compile(r"[a-z]+|[A-Z]+|\d+|[^a-zA-Z\d]+")


def is_generated(value: str, *, digit: bool = True) -> bool:
    """Whether `value` is of a password maker: characters of all kinds, another kind every second one or more often.

    Such a one may begin like a variable or a call, `$x1(Y…`, and isn't taken for that. `digit`: one must be in it.
    """
    return (
        _has_both_cases(value)
        and _GENERATED.fullmatch(value) is not None
        and (not digit or _HAS_DIGIT.search(value) is not None)
        and _WRITTEN.search(value) is None
        and 2 * len(_KINDS_OF_CHARACTERS.findall(value)) > len(value)
    )


def _has_both_cases(value: str) -> bool:
    """Whether `value` may have letters of both cases: what is surely without them is told before an expression is."""
    return not (value.islower() or value.isupper())


#: Values seen before that are no secrets: the same stand-ins, types and words come again and again.
_NO_SECRETS: Final[set[tuple[Proof, str]]] = set()
_MAX_NO_SECRETS: Final = 4096


def is_secret_value(value: str, proof: Proof) -> bool:
    """Whether `value`, WINDOW characters at most, passes for a secret."""
    if (proof, value) in _NO_SECRETS:
        return False
    if _is_secret(value, proof):
        return True
    if len(_NO_SECRETS) >= _MAX_NO_SECRETS:
        _NO_SECRETS.clear()
    _NO_SECRETS.add((proof, value))
    return False


def _is_secret(value: str, proof: Proof) -> bool:
    if is_generated(value, digit=proof is not Proof.DATA):
        return True
    if proof is Proof.PLACE:
        return not is_stand_in(value)
    if not value.isascii() and _COUNTED.match(value):
        return False
    if proof is Proof.DATA:
        if len(value) < 4 or _PHRASE.fullmatch(value) or _SENTENCE.match(value):
            return False
        return not is_stand_in(value) and not _is_code(value)
    return _looks_secret(value, proof) and not is_stand_in(value) and not _is_code(value)


def _looks_secret(value: str, proof: Proof) -> bool:
    if len(value) < 6 or " " in value or (value.isalpha() and (value.islower() or value.istitle())):
        return False
    digit, letter = _HAS_DIGIT.search(value) is not None, _HAS_LETTER.search(value) is not None
    if proof is Proof.ALONE:
        return (digit and _has_both_cases(value)) and (
            _STRONG.fullmatch(value) is not None or (_MIXED.search(value) is not None and is_random(value))
        )
    if proof is Proof.NAMED:
        if digit and letter:
            return True
        if digit:
            return len(value) >= 12 and value.isdigit()
        strong = letter and len(value) >= 8 and _SYMBOL.search(value, 1) is not None
        return is_random(value, least=12) or (strong and _MAIL.fullmatch(value) is None)
    if len(value) < 8 or not digit or not letter:
        return is_random(value, least=20)
    if _SYMBOL.search(value, 1) and len(value) >= 10 and value != value.lower():
        return True
    return is_random(value, least=10) or _passphrase(value)


def _is_code(value: str) -> bool:
    """A number with a unit, the name of an algorithm, an identifier, a call."""
    if value[0].isalpha():
        if _ALGORITHM.fullmatch(value) is not None or _DIGEST.match(value) or _CLASS.fullmatch(value) is not None:
            return True
    elif _NUMBERISH.fullmatch(value) and not (len(value) >= 12 and value.isdigit()):
        return True
    return _CODE.match(value) is not None and not (len(value) >= 20 and is_random(value, least=20) and "(" not in value)


def _passphrase(value: str) -> bool:
    """Words run together with digits, as people and password makers do: `tundraBiscuit4763`, `3721Bamboo`."""
    return re.fullmatch(r"(?:[a-z]+[A-Z]\w{2,}\d{2,}|\d{2,}[A-Z]\w{4,})\W?", value) is not None
