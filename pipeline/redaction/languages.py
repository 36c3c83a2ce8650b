"""What passwords, keys and tokens are called in languages that do not call them so.

A word is here where it means nothing else, or little else in a place where a value follows: behind a name in text, a
value must look like one. What begins like the English word (`Passwort`, `passord`) is told by that.
Source: own; the words of user interfaces.
"""

from typing import Final, NamedTuple

__all__ = ["API_KEYS", "FOREIGN_LITERALS", "FOREIGN_NAMES", "KEYS_OF_ANY_KIND", "LANGUAGES", "Language"]


class Language(NamedTuple):
    """The words of some languages, `¦` between them, in small letters.

    `passwords`: a password, in text, where more letters may follow, and as a key of an object. `keys`: a key or a
    token, in text. `api`: a key, beside the word API. `forms`: a password, as a key of an object only.
    """

    name: str
    passwords: str = ""
    keys: str = ""
    api: str = ""
    forms: str = ""


LANGUAGES: Final = (
    Language("Afrikaans", forms="wagwoord"),
    Language("Albanian", "fjalëkalimi", forms="fjalëkalim¦fjalekalimi"),
    Language("Arabic", "كلمة المرور¦كلمة مرور¦كلمة السر¦رمز المرور", "المفتاح السري¦رمز الوصول", "مفتاح"),
    Language("Armenian", "գաղտնաբառ", forms="գաղտնաբառը"),
    Language(
        "Azerbaijani, Turkish", "şifre¦sifre¦şifrə", "erişim anahtarı", "anahtarı¦anahtarınız", "şifresi¦şifreniz"
    ),
    Language("Basque", "pasahitz", forms="pasahitza"),
    Language("Belarusian, Russian, Ukrainian", "парол", "токен¦ключ¦секрет", forms="пароль¦пароля¦паролем¦паролю"),
    Language("Bengali", "পাসওয়ার্ড¦পাসওয়ার্ড"),
    Language("Bulgarian, Italian, Romanian", "parolă", "parola", "chiave¦cheie¦cheia", "парола"),
    Language("Burmese", "စကားဝှက်"),
    Language("Catalan, Galician, Spanish", "contraseña¦contrasena¦contrasenya", "clave", "clau"),
    Language("Chinese", "密码¦密碼", "口令¦令牌¦密钥¦密鑰"),
    Language("Croatian, Macedonian, Serbian, Slovenian", "lozink¦лозинк¦geslo", "", "ključ", "lozinka¦lozinku¦лозинка"),
    Language("Czech, Slovak", "heslo", "", "klíč¦kľúč"),
    Language("Danish, Norwegian", "adgangskode¦kodeord", "", "nøgle¦nøkkel", "adgangskoden¦kodeordet¦passordet"),
    Language("Dutch", "wachtwoord", "", "sleutel", "paswoord"),
    Language("Estonian", "parool", "", "võti", "parooli"),
    Language("Finnish", "salasana", "", "avain¦avaimesi", "salasanan¦salasanasi"),
    Language("French", "mot de passe", "", "clé d'¦clé d’¦clé"),
    Language("Georgian", "პაროლი"),
    Language("German", "kennwort", "schlüssel"),
    Language("Greek", "κωδικός πρόσβασ¦κωδικό πρόσβασ¦συνθηματικό", "κλειδί πρόσβασ", "κλειδί", "κωδικός πρόσβασης"),
    Language("Gujarati, Punjabi", "પાસવર્ડ¦ਪਾਸਵਰਡ"),
    Language("Hebrew", "סיסמה¦סיסמא¦סיסמת", "מפתח סודי¦טוקן", "מפתח", "הסיסמה"),
    Language("Hindi, Marathi, Nepali", "पासवर्ड¦कूटशब्द", "गुप्त कुंजी¦टोकन", "कुंजी"),
    Language("Hungarian", "jelszó¦jelszo", "", "kulcs¦kulcsod", "jelszava"),
    Language("Icelandic", "lykilorð", forms="lykilorðið"),
    Language("Indonesian, Malay", "kata sandi", "", "kunci", "kata laluan"),
    Language("Japanese", "パスワード¦暗証番号", "アクセスキー¦秘密鍵¦トークン¦シークレット", "キー"),
    Language("Kannada", "ಪಾಸ್‌ವರ್ಡ್¦ಪಾಸ್ವರ್ಡ್"),
    Language("Kazakh", "құпия сөз¦құпиясөз"),
    Language("Khmer", "ពាក្យសម្ងាត់"),
    Language("Korean", "비밀번호¦패스워드", "액세스 키¦비밀 키¦토큰", "키"),
    Language("Lao, Thai", "ລະຫັດຜ່ານ¦รหัสผ่าน", "โทเค็น", "คีย์"),
    Language("Lithuanian", "slaptažodis", "", "raktas", "slaptazodis"),
    Language("Malayalam", "പാസ്‌വേഡ്¦പാസ്വേഡ്"),
    Language("Persian, Urdu", "رمز عبور¦گذرواژه¦پسورد¦کلمه عبور¦پاس ورڈ", "", "کلید"),
    Language("Polish", "hasło¦hasłem¦haslo", "", "klucz", "hasła"),
    Language("Portuguese", "senha", "chave", forms="senhas"),
    Language("Swedish", "lösenord", "", "nyckel", "lösenordet¦losenord"),
    Language("Tamil", "கடவுச்சொல்"),
    Language("Telugu", "పాస్‌వర్డ్¦పాస్వర్డ్"),
    Language("Vietnamese", "mật khẩu", "", "khóa¦khoá", "mat khau"),
    Language("Welsh", forms="cyfrinair"),
)


def _words(*columns: str) -> list[str]:
    return [word for column in columns for word in column.split("¦") if word]


#: Literals in text. Longer words that begin like another are that one, with more letters behind it; and `mot de passe`
#: is told by its end.
_IN_TEXT: Final = {word for row in LANGUAGES for word in _words(row.passwords, row.keys)} - {"mot de passe"}
FOREIGN_LITERALS: Final = tuple(
    sorted(word for word in _IN_TEXT if not any(word != other and word.startswith(other) for other in _IN_TEXT))
)
#: Words for a key, right before or behind the word API.
API_KEYS: Final = frozenset(word for row in LANGUAGES for word in _words(row.api))
#: What is also the key of a table, or of a door.
KEYS_OF_ANY_KIND: Final = frozenset("clave chave ключ schlüssel".split())
#: Keys of objects.
FOREIGN_NAMES: Final = frozenset(word for row in LANGUAGES for word in _words(row.passwords, row.forms))
