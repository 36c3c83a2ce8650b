"""Names of passwords, keys and tokens in languages that do not call them so, and prose about them.

`<w>` a short password, `<W>` a generated one, `<P>` one with symbols, `<R>` a random run.
"""

import unicodedata

import pytest

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, remove_secret_values
from openprogram.pipeline.redaction.languages import LANGUAGES, Language
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy

_MADE_UP = {
    "<w>": "hunter" + "2",
    "<W>": "tundra" + "Maple7525",
    "<P>": "Falcon_7202_" + "harbor*",
    "<R>": "uG3xNg6uqJNGYAn" + "7Tw357C178JmnRetSkl37Uza6",
}

_SECRETS = r"""
Heslo: <P>
db_heslo: <w>
Přihlašovací heslo: <W>
API klíč: <R>
Salasana: <w>
Salasana: <P>
tietokannan salasana: <W>
pääsalasana: <W>
API-avain: <R>
Κωδικός πρόσβασης: <W>
Ο κωδικός πρόσβασης είναι <W>
ο κωδικός πρόσβασής σας είναι: <W>
κλειδί API: <R>
كلمة المرور: <W>
كلمة المرور هي <W>
كلمة السر : <w>
كلمة المرور الخاصة بك هي: <W>
مفتاح API: <R>
הסיסמה: <W>
הסיסמה שלך היא <W>
סיסמא: <w>
מפתח API: <R>
पासवर्ड: <W>
आपका पासवर्ड: <w>
आपका पासवर्ड <W> है
एपीआई API कुंजी: <R>
รหัสผ่าน: <w>
รหัสผ่านคือ <W>
รหัสผ่านของคุณคือ <W>
รหัสผ่าน <P>
Mật khẩu: <w>
mật khẩu là <W>
mật khẩu của bạn là: <W>
Kata sandi: <w>
Lozinka: <w>
lozinka je <W>
Vaša lozinka: <W>
лозинка: <w>
Geslo: <w>
parolă: <w>
Parola este <W>
parola ta: <W>
Паролата е <W>
Пароль — <W>
пароль администратора: <W>
пароль для входа: <W>
пароль - <P>
Slaptažodis: <w>
Parool: <w>
Lykilorð: <w>
Pasahitza: <w>
contrasenya: <w>
contrasena: <w>
Contraseña temporal: <W>
clave secreta: <W>
clave de acceso: <W>
chave de API: <R>
senha temporária: <W>
DB_SENHA=<w>
dbSenha: "<w>"
$senha = '<w>';
clé API : <R>
Clé d'API: <R>
Passwort: <w>
Zugangsschlüssel: <W>
API-Schlüssel: <R>
Datenbankkennwort: <W>
Das neue Kennwort lautet: <W>
Wachtwoord: <w>
beheerderswachtwoord: <W>
API-sleutel: <R>
Adgangskode: <w>
Adgangskoden er <W>
kodeord: <w>
passordet er <W>
API-nøkkel: <R>
Lösenord: <w>
lösenordet är <W>
API-nyckel: <R>
Hasło: <w>
hasło to <W>
hasłem jest <W>
haslo: <w>
klucz API: <R>
jelszó: <w>
jelszo: <w>
API-kulcs: <R>
Şifre: <w>
şifreniz <W>
sifre: <w>
API anahtarı: <R>
パスワード：<W>
パスワードは <W>
パスワードは<W>です
暗証番号：<W>
APIキー：<R>
アクセストークン: <R>
비밀번호는 <W>입니다
비밀번호: <w>
API 키: <R>
密码：<w>
登录密码: <W>
密码为<W>
访问令牌：<R>
API密钥：<R>
گذرواژه: <w>
رمز عبور: <w>
رمز عبور شما: <W>
پاس ورڈ: <W>
পাসওয়ার্ড: <w>
கடவுச்சொல்: <w>
పాస్‌వర్డ్: <w>
ಪಾಸ್‌ವರ್ಡ್: <w>
പാസ്‌വേഡ്: <w>
પાસવર્ડ: <w>
ពាក្យសម្ងាត់: <w>
ລະຫັດຜ່ານ: <w>
စကားဝှက်: <w>
პაროლი: <w>
գաղտնաբառ: <w>
құпия сөз: <w>
пароль: <w>
"пароль": "<w>"
fjalëkalimi: <w>
"""

_PROSE = r"""
Heslo musí mít alespoň 8 znaků a jednu číslici.
Heslo: alespoň 8 znaků
Heslo: minimálně 8 znaků, 1 číslice
Zapomněli jste heslo? Heslo bylo změněno 12.3.2026.
Heslo roku 2024: klid
heslo j. v. str. 12a
Salasana on liian lyhyt: vähintään 8 merkkiä.
Salasanan tulee sisältää 8 merkkiä ja 1 numero.
Ο κωδικός πρόσβασης πρέπει να έχει τουλάχιστον 8 χαρακτήρες.
Κωδικός προϊόντος: AB12345
κωδικός σφάλματος: E404b
Κωδικός: 0x80070005
يجب أن تتكون كلمة المرور من 8 أحرف على الأقل.
كلمة المرور: 8 أحرف على الأقل
هل نسيت كلمة المرور؟
על הסיסמה להכיל לפחות 8 תווים.
הסיסמה חייבת לכלול 8 תווים
पासवर्ड में कम से कम 8 अक्षर होने चाहिए।
पासवर्ड 8 अक्षरों का होना चाहिए
รหัสผ่านต้องมีอย่างน้อย 8 ตัวอักษร
รหัสผ่าน 8 ตัวอักษร
Mật khẩu phải có ít nhất 8 ký tự.
Mật khẩu: tối thiểu 8 ký tự
Kata sandi harus terdiri dari 8 karakter.
Kata sandi minimal 8 karakter
Lozinka mora imati najmanje 8 znakova.
Geslo mora vsebovati 8 znakov.
Geslo: državljanska vojna 1936
Parola trebuie să aibă cel puțin 8 caractere.
Parola d'ordine: prudenza
La parola chiave è async, la parola 2b no.
parola: 5 lettere, seconda parola: 3
Пароль должен содержать не менее 8 символов.
Пароль: не менее 8 символов
Паролата трябва да съдържа поне 8 знака.
пароль — это набор из 8 символов
Пароль изменён 2 дня назад (12.03.2026).
ключ: value1
Ключ — идея; ключ 2а лежит под ковриком
ключевой момент: 15 мая
Slaptažodis turi būti bent 8 simbolių.
Parole: paroles prononcées en 1958
released on parole in 2019a
Le mot de passe doit contenir au moins 8 caractères.
mot de passe : 8 caractères minimum
Mot de passe oublié ? Cliquez ici : https://a.example/reset2
clé primaire: id_client2
La clé du succès : 3 étapes
clé API requise
un jeton de 5 €; jeton: int32
Das Kennwort muss mindestens 8 Zeichen enthalten.
Kennwort: mindestens 8 Zeichen
Schlüsselwörter: async2, await3
Schlüssel: A-Dur
Primärschlüssel: kunde_id2
Violinschlüssel 2a
Het wachtwoord moet minimaal 8 tekens bevatten.
Adgangskoden skal være på mindst 8 tegn.
Lösenordet måste vara minst 8 tecken.
Hasło musi mieć co najmniej 8 znaków.
hasło: minimum 8 znaków
hasła przewodnie: wolność, rok 1980
Hasło encyklopedyczne: tom 3b
A jelszónak legalább 8 karakterből kell állnia.
Şifre en az 8 karakter olmalıdır.
şifreleme: AES-256-GCM
パスワードは8文字以上で入力してください。
パスワード：8文字以上
パスワードは英数字8文字以上
シークレットウィンドウ2枚
トークン数: 12800
トークン：4096個
暗証番号は4桁です
비밀번호는 8자 이상이어야 합니다.
비밀번호: 8자 이상
토큰 수: 4096개
密码必须至少8个字符。
密码：至少8位，含1个数字
密码长度8-20位
密钥长度：256位
令牌桶算法每秒100个
口令2022年更新
رمز عبور باید حداقل ۸ نویسه باشد.
A contraseña debe tener al menos 8 caracteres.
La contraseña debe incluir: 8 caracteres, 1 número
clave primaria: id_usuario2
clave: nombre1
palabra clave: python3
autoclave: modelo A1200b
chave primária: id_cliente2
palavra-chave: python3
A senha deve ter no mínimo 8 caracteres.
resenha: livro 2a edição
Parool peab olema vähemalt 8 tähemärki.
klucz główny: id_klienta2
tajny klucz symetryczny 256b
"""


@pytest.mark.parametrize("template", _SECRETS.strip().splitlines())
def test_a_password_goes_in_every_language(template: str) -> None:
    text = template
    for mark, value in _MADE_UP.items():
        text = text.replace(mark, value)
    clean = str(remove_secret_values(text))
    assert clean.startswith(template[: template.index("<")])
    assert SECRET_PLACEHOLDER in clean
    assert not any(value in clean for value in _MADE_UP.values())
    assert remove_secret_values(clean) == clean


@pytest.mark.parametrize("text", _PROSE.strip().splitlines())
def test_prose_about_passwords_stays(text: str) -> None:
    assert remove_secret_values(text) == text


def _words(*columns: str) -> list[str]:
    return [word for column in columns for word in column.split("¦") if word]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_each_name_of_a_language_is_known_in_text_and_as_a_key(language: Language) -> None:
    for word in _words(language.passwords, language.keys):
        for spelling in {word, word.capitalize()}:
            text = f"{spelling}: {_MADE_UP['<W>']}\n"
            assert remove_secret_values(text) == f"{spelling}: {SECRET_PLACEHOLDER}\n"
    for word in _words(language.api):
        for name in {f"{word}API"} if word.endswith(("'", "’")) else {f"{word} API", f"API-{word}", f"api {word}"}:
            assert remove_secret_values(f"{name}: {_MADE_UP['<W>']}\n") == f"{name}: {SECRET_PLACEHOLDER}\n"
    for word in _words(language.passwords, language.forms):
        for key in {word, word.upper(), word.replace(" ", "_"), f"db_{word}", unicodedata.normalize("NFD", word)}:
            assert remove_secret_values({key: "any words", "page": 2}) == {key: SECRET_PLACEHOLDER, "page": 2}


@pytest.mark.parametrize(
    "name", "parola clave parole paroles keyword resenha hesitation şifreleme пароли2 密码学".split()
)
def test_a_word_that_is_another_one_too_says_nothing_of_what_stands_under_it(name: str) -> None:
    assert name_secrecy(name) < Secrecy.STRING
