"""Our own cases: what the kinds of the corpus look like elsewhere, and near misses of every rule.

`<R>` a random run, `<H>` hexadecimal, `<P>` and `<W>` passwords, `<G>` and `<O>` such that a password maker made with
all kinds of characters, `<U>` a UUID, `<S>` base64 that begins like a path: made up, and put in at run time, so that no
scanner takes this file for a leak. `\\n` stands for a line end.
"""

import re

import pytest

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, remove_secret_values

_MADE_UP = {
    "<R>": "uG3xNg6uqJNGYAn" + "7Tw357C178JmnRetSkl37Uza6",
    "<H>": "89665e7fb05ee071f77cdc4b" + "814069dcbc094965",
    "<P>": "Falcon_7202_" + "harbor*",
    "<W>": "tundra" + "Maple7525",
    "<U>": "0567fd8b-c404-4b81-" + "a1da-329a4cee61ba",
    "<G>": "Q3)f&kV;9z,w" + "Lm<4$Tr",
    "<O>": "=$c8|RUX]Lm}" + "b2T;q&W",
    "<S>": "/vT0oIaPct68nudx" + "mqvMaCxy4RURc93o",
}

_SECRETS = r"""
DB_PASS=<P>
export MYSQL_ROOT_PASSWORD=<W>
set API_KEY=<R>
setx OPENAI_API_KEY "<R>"
ENV SECRET_TOKEN <R>
ENV SECRET_TOKEN=<R>
AZURE_STORAGE_KEY=<R>==
AccountKey=<R>==;EndpointSuffix=core.windows.net
DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=<R>==;EndpointSuffix=core.windows.net
Server=tcp:db.example,1433;User ID=sa;Password=<P>;Encrypt=True
Server=db;Uid=root;Pwd=<P>;
machine api.example login bob password <W>
db.example:5432:app:bob:<P>
<password><P></password>
<property name="password" value="<P>"/>
<server><id>x</id><username>u</username><password><P></password></server>
users:\n- name: admin\n  user:\n    token: <R>\n
    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo<R>
stringData:\n  db-password: <P>\n
[client]\nuser=root\npassword="<P>"\n
password = '<P>'
api_key: <U>
"api_key" => "<R>",
'password' => env('DB_PASSWORD', '<P>'),
define('DB_PASSWORD', '<P>');
$password = "<P>";
const TOKEN = `<R>`;
val apiKey: String = "<R>"
let token: &str = "<R>";
token := "<R>"
os.environ["API_KEY"] = "<R>"
process.env.API_TOKEN = '<R>'
headers: { 'X-Auth-Token': '<R>' }
req.setRequestHeader("Authorization", "Bearer <R>")
.header("X-Api-Key", "<R>")
client = Client(token="<R>")
psql "host=db user=app password=<W> dbname=x"
mysql -u root -p<P> db
mysqldump --password=<P> db
mysql -uroot --password <P>
docker login -u bob -p <P> registry.example
docker run -e POSTGRES_PASSWORD=<P> postgres
docker build --build-arg NPM_TOKEN=<R> .
kubectl create secret generic db --from-literal=password=<P>
kubectl config set-credentials u --token=<R>
az login --service-principal -u x -p <R> --tenant t
vault kv put secret/db password=<P>
heroku config:set API_KEY=<R>
fly secrets set TOKEN=<R>
git clone https://<R>@github.com/acme/app.git
git clone https://bob:<R>@github.com/acme/app.git
git config user.password <P>
curl -H "X-Api-Key: <R>" https://a.example
curl -H 'PRIVATE-TOKEN: <R>' https://a.example
curl --user bob:<P> https://a.example
curl -d '{"username":"bob","password":"<P>"}' https://a.example
curl -d "user=bob&password=<W>" https://a.example
curl "https://a.example/?apikey=<R>"
wget --http-password=<P> https://a.example
openssl pkcs12 -passout pass:<P> -in x
ansible-playbook -e "ansible_password=<P>"
ldapsearch -D cn=admin -w <P> -b dc=x
redis-cli -u redis://:<W>@cache.example:6379
redis://default:<W>@cache.example:6379/0
mongodb+srv://app:<W>@cluster.example/db
amqps://u:<R>@mq.example
ftp://bob:<W>@ftp.example/x
https://bob:<P>@git.example
postgresql://app:<W>@/app?host=/cloudsql
sqlserver://sa:<W>@db:1433
smtps://u%40x:<W>@smtp.example
https://a.example/cb?code=1&access_token=<R>&x=2
https://a.example/?sig=<R>%3D&se=2026
https://a.example/#id_token=<R>
https://a.example/?key=<R>
https://a.example/?client_secret=<R>
https://a.example/?password=<W>
https://a.example/?auth_token=<H>
https://a.example/?session_token=<H>
https://s3.example/x?AWSAccessKeyId=AKIALL6SV5ZUF4K3H7BG&Signature=<R>%3D&Expires=1
https://storage.googleapis.com/b/o?X-Goog-Signature=<H><H>
Authorization: Token <R>
Authorization: token <H>
Authorization: ApiKey <R>
Authorization: key=<R>
Authorization: <R>
X-Api-Key: <U>
x-goog-api-key: <R>
X-Auth-Token: <H>
X-CSRF-Token: <R>
Ocp-Apim-Subscription-Key: <H>
Cookie: sid=<R>
Cookie: theme=dark; sid=<R>; lang=en
"cookie": "theme=dark; sid=<H>", "x": 1
-H 'Cookie: a=b; c=<R>' -I
Cookie: JSESSIONID=<H>; theme=dark
set-cookie: session=<R>; Path=/
{'Authorization': 'Token <R>'}
{"Authorization":["Bearer <R>"]}
{"password":"<W>","user":"x"}
{\"api_key\": \"<R>\"}
{\\\"api_key\\\": \\\"<R>\\\"}
'token': '<R>'
api key is <R>
the password is <P>.
the password for bob is <P>
your password: <P>
Passwort: <P>
Das Passwort lautet <P>
contraseña: <P>
la contraseña es <W>
senha: <W>
пароль <P>
密码：<P>
密码是<P>
パスワード: <P>
비밀번호: <P>
le mot de passe est <P>
wachtwoord: <P>
hasło: <P>
parola d'ordine: <W>
login: bob / password: <P>
user bob pw <P>
pw: <P>
credentials: bob:<P>
Temporary password: <W>
Password:\n<P>
Password\n<P>\n
API token:\n\n<R>\n
Here is your API key:\n\n    <R>\n\nStore it
| name | token |\n|---|---|\n| ci | <H> |
| key | value |\n|--|--|\n| API_TOKEN | <R> |
user;password\nbob;<P>\n
name,api_key\nci,<R>\n
id,name,secret\n1,x,<R>\n
$ cat token.txt\n<R>\n
$ echo $GITHUB_TOKEN\n<R>
$ printenv API_KEY\n<R>
$ pass show openai\n<R>
$ op read op://dev/x/credential\n<R>
$ aws configure get aws_secret_access_key\n<R>
$ vault read -field=password secret/db\n<P>
$ kubectl get secret db -o jsonpath={.data.token} | base64 --decode\n<R>
$ security find-generic-password -w\n<P>
%7B%22token%22%3A%22<R>%22%7D
q=1&token=<R>
password=<W>&user=x
token%3D<R>
{&quot;password&quot;:&quot;<W>&quot;}
&lt;password&gt;<W>&lt;/password&gt;
Content-Disposition: form-data; name="token"\r\n\r\n<R>\r\n
-api_key: <R>
+api_key: <R>
-  "password": "<W>",
INSERT INTO users (name, password) VALUES ('bob', '<P>');
CREATE USER bob WITH PASSWORD '<P>';
ALTER ROLE bob PASSWORD '<P>';
UPDATE users SET password='<P>' WHERE id=1;
GRANT ALL ON *.* TO 'u'@'%' IDENTIFIED BY '<P>'
CREATE LOGIN u WITH PASSWORD = '<P>';
Invalid token: <R>
token <R> expired
Using API key <R>
api-key=<U>
--token <R>
--token=<R>
--api-key "<R>"
--password '<P>'
AWS_SECRET_ACCESS_KEY: <R>
SecretAccessKey: <R>
401: Incorrect API key provided: <H>. You can find your API key at https://a.example.
Incorrect API key provided: <U>.
Incorrect API key provided: <W>. Look it up.
Invalid API Key provided: "<R>"
The API key you provided (<H>) is not valid.
The API key provided, <H>, is not valid.
Invalid API key (<U>)
Your api key: <H> is invalid
API key not valid: <H>
API key is not valid: <U>. Please pass a valid API key.
The api key you entered is <H>
access token used: <W>
The access token received was <H>
User Access Token '<H>' is expired
Subscription key supplied = <H>
token passed: '<W>'
{"message": "Incorrect API key provided: <H>.", "code": "invalid_api_key"}
openssl enc -aes-256-cbc -salt -k <W> -in a -out b
openssl enc -d -pass pass:<W> -in a
openssl aes-256-cbc -K <H> -iv 00
http -a bob:<P> https://a.example/me
https -a bob:<W> PUT a.example/x
SET PASSWORD FOR 'bob'@'%' = '<P>';
SET PASSWORD FOR bob = PASSWORD('<P>');
sqlplus -S scott/<W>@db.example
sqlplus "scott/<W>@db"
expdp system/<W>@orcl full=y
jdbc:oracle:thin:scott/<W>@//db.example:1521/x
- **Password:** `<P>`\n
**Password**: <W>\n
*Token:* <R>
**API key：** <H>
| admin password | `<P>` |\n
| service | token |\n|:--|--:|\n| ci | **<R>** |\n
echo <W> | sudo -S apt update
echo '<P>' | docker login -u bob --password-stdin registry.example
echo "bob:<W>" | chpasswd
mysqldump -uroot -p'<W>' app
keytool -list -keystore x.jks -storepass <W>
$ jq -r .password config.json\n<P>\n
ConvertTo-SecureString "<W>" -AsPlainText -Force
ConvertTo-SecureString -String '<W>' -AsPlainText
{"Name": "/prod/db/url", "Type": "SecureString", "Value": "<W>"}
"SecretString": "<W>",
{"db_password": {"sensitive": true, "type": "string", "value": "<W>"}}
"dsn": {\n  "sensitive": true,\n  "type": "string",\n  "value": "<W>"\n}
"db_password": {"value": "<W>", "type": "string"}
variable "db_password" {\n  type    = string\n  default = "<W>"\n}
password\n  String should be short [type=string_too_long, input_value='<W>', input_type=str]
db.password\n  Too short [type=string_too_short, input_value='<W>', input_type=str]
Settings(dsn=SecretStr("<W>"))
Config { password: Some("<W>") }
the password will be <P>
change the password from <P> now
SAMLResponse=<R><R>&RelayState=x
PresharedKey = <R>=
DB_PASSWORD=<G>\nX=1
export DB_PASSWORD=<G>
password: <G>\n
The password is <G>.
machine api.example login bob password <G>\n
(password <G>)
"password": "<G>",
\"password\": \"<G>\"
"password": "<O>",
Server=db;User ID=sa;Password=<G>;Encrypt=True;
API_KEY=<S>\n
"""

_NO_SECRETS = r"""
The token bucket refills 10 per second; the key point stands.
password: string; // required
password?: string
"password": {"type": "string"}
passwordHash: bcrypt(10)
token_type: bearer
"token_type":"Bearer"
const [token, setToken] = useState('');
if (!token) throw new Error("token missing");
token = request.headers.get("Authorization")
api_key = os.getenv("OPENAI_API_KEY2")
password = input("Password: ")
secret = secrets.token_hex(32)
secret_key = get_random_secret_key()
token: ${{ secrets.GITHUB_TOKEN }}
password: {{ .Values.db.password }}
password: !vault |
password: <%= ENV["DB_PASSWORD"] %>
api_key: "YOUR_API_KEY_HERE"
api_key: xxxxxxxxxxxxxxxx
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
Authorization: Bearer {token}
Authorization: Bearer <your-token>
curl -u "$USER:$PASS" https://x
docker run -u 1000:1000 -p 8080:80 nginx
chown -R app:app /srv
git@github.com:acme/app.git
https://example.com:8443/path@2x
http://localhost:3000/
ssh -p 2222 host
cp -p a b; mkdir -p /srv/app1/data2
tokens=1204 max_tokens=4096
token count: 1204
the secret is out
The secret to good bread is 24h of rest.
keyboard: qwerty, key: Enter, key=F12
key: value1
key1: value1
"key": "a1b2c3"
primary_key=id1 foreign_key=user_2
cache-key: deps-1bd8ce9a9f0e4dd6
public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIRhEmYIJTnPfiDJRzMU7btmpsIKZI5eaERHm7P
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 user@host
commit 8b40c89f4886327ad8b653f7d76c18ea823e0f15
sha256:e43847fb343d1ffcaa3bd449de0a573c58ff24a507ed877fdc66d3b29b26640b
"integrity": "sha512-ThQckJ3YkIjxfCTIPbpipYKC+yGX4t7UdrKDokoHgKhggkVtYnsQlwYOXuvXou8e=="
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
session_id=5ce12d18-f6d8-4b1e-ad21-47763cb3f07d
request id req_XeCkIC7N9lZ2038Qtd3C5FJV
call_Tgy4zAAiSgVxQk9gjnXTQM3w toolu_01HZSY7sGGYe7rcz9XV8sZXk msg_01XFDUDYJgAACzvnptvVoYEL
chatcmpl-CGrAsXzhygyoc7OsfKaM3HRCwX1eN resp_68a1b2c3d4e5f6a7b8c9
pk_live_51H8xYzAbCdEfGhIjKlMnOpQr
prod_Nabc123XYZ price_1MoBy5LkdIwHu7ixZhnattbh evt_1NG8Du2eZvKYlo2CUI79vXWy
gpt-4o-mini claude-sonnet-4-5-20250929 text-embedding-3-small-2024
sk-SK sk_SK sk-learn sk-header-2
.sk-chase-dot:nth-child(2) { animation-delay: -1.0s }
<div class="sk-estimator sk-toggleable__label-arrow" id="sk-container-id-12">
task-1234567890abc risk-2024-a1 disk-sda1 desk-42
basic auth is fine; Basic 2024 plan; bearer of news
Basic realm="Secure Area 51"
basic usage: see chapter 3b
Bearer tokens are opaque strings.
WWW-Authenticate: Bearer realm="api2024", error="invalid_token"
Cookie policy: we use cookies. cookie=chocolate
Set-Cookie: SameSite
cookie: false
XSRF-TOKEN cookie is set
AKIA is a prefix; ghp_ too; xoxb- as well
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-xxxxxxxxxxxxxxxxxxxxxxxx
sk-...abcd
-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----
-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ\n-----END SSH SIGNATURE-----
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAwAAAAMCAIAAADZF8uwAAABx0lEQVR42gG8
sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=
cursor=eyJvZmZzZXQiOjEwMCwic29ydCI6ImNyZWF0ZWRfYXQifQ==
npm ERR! code E401 npm_config_user_agent
HF_HOME=/root/.cache hf_transfer hf_hub_download(repo_id="a/b")
pip install sk-dist==0.1.9
SELECT password, token FROM users WHERE key='a1'
CREATE TABLE t (password VARCHAR(255) NOT NULL, token CHAR(64));
password VARCHAR(255)
token_id 12345
auth: oauth2
auth=none
auth_provider_x509_cert_url: https://www.googleapis.com/oauth2/v1/certs
"auth_uri": "https://accounts.google.com/o/oauth2/auth"
jwt: "RS256"
password policy: min 12 chars, 1 digit
password must contain 8 characters
password reset link sent 2 minutes ago
password (min 8 characters): required
Enter password:
Password for user postgres:
password: "[FILTERED]"
password=[REDACTED]
password: ***
password: (hidden)
password: null
password: ''
password: required|min:8|confirmed
token: Token!
token: Annotated[str, Header()]
def login(user: str, password: str = "") -> Token:
fn verify(token: &str, secret: &[u8]) -> bool
token, err := jwt.Parse(raw, keyFunc2)
token := os.Getenv("TOKEN_V2")
password := viper.GetString("db.password1")
secret := []byte(os.Args[1])
private String apiKey2;
@Value("${app.api-key}") private String apiKey;
this.token = token;
self.api_key = api_key or os.environ["X_API_KEY_1"]
headers["Authorization"] = f"Bearer {token1}"
export TOKEN=$(cat /run/secrets/token1)
export PASSWORD=`pass show x1`
PASSWORD_FILE=/run/secrets/db1
SECRET_NAME=prod-db-1
TOKEN_URL=https://auth.example/oauth2/v1/token
API_KEY_HEADER=X-Api-Key2
secretName: db-creds-v2
secretKeyRef: {name: db1, key: password1}
key: password1
arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf
vault kv get secret/data/app1
kms_key_id: 1234abcd-12ab-34cd-56ef-1234567890ab
key_id: k-6kdlsf0e0d
"kid": "2011-04-29"
license: MIT, secret: no
monkey123 turkey2024 passkey is new; compass: n42
passed: 12; pass: 3; pass 2 of 3; pass1: ok
pass@k: 0.53 pass^2
bypass=1 passthrough=v2 passport=X1234567
passenger 12A; passage 3b
author=bob1 auth0 domain: x1.auth0.com
signature: def f(a1: int) -> b2
sig figs: 3
sig = inspect.signature(f2)
credential helper: osxkeychain2
credentials: include
credentials/2 file
Token: 32000 of 128000 used
Token 1: "the", Token 2: "cat42"
tokens per second: 45.2
token budget 32k
key 2024, key 42b
API key v2 docs
the access key idea
secret santa 2026
secret2 = derive(secret1, salt2)
secret: Uint8Array
token: 0xdf88b685f60c7a1287bbb47160ff9916bbf82916
tokenAddress: 0xdf88b685f60c7a1287bbb47160ff9916bbf82916
tx hash 0xff8f5f102efce03d313a6f8d9ab2ca9714a404d90d94345daf7eccf5bf21444b
| Model | Tokens | Key |\n|---|---|---|\n| gpt-4o-2024 | 128000 | A1 |
| key | action |\n|---|---|\n| Ctrl+Shift+F12 | run |
| cache key | hit |\n|---|---|\n| deps-1bd8ce9a9f0e4dd6 | yes |
token,count\nthe,42\ncat,7\n
key,value\ntheme,dark2\n
password,created_at\nhash,2026-01-01\n
user,last_password_change\nbob,2026-01-01T00:00:00Z\n
The key:\n\nVersion 2.1.0 of the release
Key changes:\n\n1. foo2bar
See token docs\n\nhttps://docs.example/v1/token2
git log for key\n\n8b40c89f4886327ad8b653f7d76c18ea823e0f15\n
rotate keys\n\nfe80::1ff:fe23:4567:890a
base64 encoded: SGVsbG8gd29ybGQsIGhvdyBhcmUgeW91Pw==
echo aGVsbG8= | base64 -d\nhello
md5 of secret.txt: 55860d40e1a95c861ee296616355401c
host key SHA256:TRH6HjcigNetLPPZDv8nFDsKltL8gRcPOEaaNMOArN7
RSA key fingerprint is SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDN6T3Hg7uZ
key exchange: curve25519-sha256
Content-Security-Policy: script-src 'nonce-r4nd0m'
user-agent: token-counter/1.2
x-ratelimit-remaining-tokens: 149984
grant_type=refresh_token&scope=a1
response_type=id_token token&nonce=n1
https://example.com/reset-password?step=2
https://api.example/v1/tokens/42?fields=id1
https://x.example/?token=&y=1
https://x.example/?key=home&token_count=3
https://login.example/oauth2/v2.0/token
urn:ietf:params:oauth:token-type:access_token
npm install --save-dev key-del@1.0.2 token-stream@1.0.0
token-stream@1.0.0: resolved "https://registry.example/token-stream/-/token-stream-1.0.0.tgz#b5"
/etc/ssl/private/server1.key password2.txt
import { Token2 } from './token2';
case TokenType.String2: return key1;
--password-stdin --token-file t1.txt
--key /etc/x1.key --cert c2
Usage: tool --token TOKEN --secret SECRET1
-p, --password PASSWORD  the password (default: none)
def login(self, username, password):\n    ``Logs in as X1.``
Signature: 8a477f597d28d172789f06886806bc55
Token: "#f8f8f2", # class
credential: AzureTokenCredential | None = None
'PKPaymentToken', 'PKPushCredentials', 'ASWebAuthenticationSession'
_START = b"-----BEGIN OPENSSH PRIVATE KEY-----"
disable(token)\n\n\n@contextmanager\ndef f(): pass
if signature == stringEndArchive64:
authorization_token="[REDACTED]" if x else None
Incorrect API key provided: sk-...abcd. You can find your API key at https://a.example.
Incorrect API key provided: sk-proj-********************************************abcd.
Your api key: ****d84a is invalid
Incorrect API key provided: YOUR_API_KEY.
Incorrect API key provided: undefined. API key not valid. Please pass a valid API key.
the key provided: see below; the token provided by step 2
password is required
password is required: enter 8 or more
password is invalid: must contain 1 digit
token used: 512 tokens; token used: 12.5k
token received: none
secret not found: prod/db-1
token expired: 2026-01-01T00:00:00Z
token expired 3 days ago
The security token included in the request is invalid.
The AWS Access Key Id you provided does not exist in our records.
No API key provided. API key provided? No: see section 4b.
API key used in v2 of the client
private key (ed25519), secret (optional), token (v2), access token (see 4.2b)
cache key used: deps-1bd8ce9a9f0e4dd6
key given: value1, key found: user_2
curl -k https://a.example/x1; ssh -K host1
http -a bearer https://a.example
openssl x509 -in a1.pem -passin file:pw1.txt
sqlplus / as sysdba
sqlplus -S /nolog @run1.sql
expdp directory=d1 dumpfile=x1.dmp
SET PASSWORD FOR bob = @var1
token          = 1*tchar
token = r"[-!#$%&'*+.^_`|~0-9a-zA-Z]+"
ident_pattern_token = f'([{uni.xid_start}][{uni.xid_continue}]+)'
elif token == "#bygroup":
basic method=c14n2
enc = from_tiktoken("cl100k_base")
(None, 'joe', 'password', 'proxy.example.com:3128')
APIKeyRequiredError:\n\n          BetaSlackChannelSetUpSettingsConflictError:\n
auth: WorkloadIdentityAuth | X509WorkloadIdentity | None
auth: _BearerAuth | _BedrockSigV4Auth
HEADERS = ("authorization", "x-amz-content-sha256")
"ClientSecret",\n    "ClientSecretExpiresAt",
ROOT_KEY = '__root__'
ACCESS_KEY = '__key__'
api_key='oauth-credentials'
api_key = 'api-key-not-set'
TYPES = {"jwt": "urn:ietf:params:oauth:token-type:jwt2"}
openssl enc -aes-256-cbc -in a1 -out b1
#define CKO_PRIVATE_KEY 0x00000003UL
@GNUTLS_BAG_SECRET: PKCS-12
#define SN_eSignature_88 "id-smime-mod-ets-eSignature-88"
using ModulePass::doFinalization;
kNoUseLargePages | kNoPrintHelpOrVersionOutput | kNoInitializeV8 // pass
__token = "mt19937"
passes || edge?.from?.isWorkspace2),
def encode_private(private_key: ed25519.Ed25519PrivateKey): pass
private_key = ed25519.Ed25519PrivateKey.from_private_bytes(raw)
pip/_vendor/platformdirs/version.py,sha256=qaN-fw_htIgKUVXoAuAEVgKxQu3tZ9qE2eiKkWIS7LA,411
A basic reStructuredText role
error is identified by `code: 'ERR_INVALID_CHAR'`
headers["authorization"] = "GoogleLogin Auth="
TLDAHkY7FkXicnGah5xyf23dKUlRWnFSKsZ4UWKJWsZ7uW7EvV/96aNUcPw\nnXS3qT6gpf+2SQMT2iLM7XGCK5nPOrf1LXLI\n
TLDAHkY7FkXicnGah5xyf23dKUlRWnFSKsZ4UWKJWsZ7uW7EvV396aNUcPw\nnXS3qT6gpf+2SQMT2iLM7XGCK5nPOrf1LXLI\n
"pvkPassword": "Private key password 1"
def f() -> "PrivateKey":\n    '''Loads a key in PKCS#1 DER format.'''
Gets the token of this V1beta1TokenReviewSpec. Sets the auth_session of this V1ISCSIVolumeSource.
ACCESS_TOKEN = "auth-request-type/at"
# "-----BEGIN RSA PRIVATE KEY-----...",
headers = {"X-aws-ec2-metadata-token": imdsv2_session_token}
string "sk-ecdsa-sha2-nistp256@openssh.com" sk-ssh-ed25519@openssh.com
tokens.EofToken = module$contents$google3$third_party$tokens
decryption_key: Base64-encoded key
LOG.debug('GetToken: key=%s%s')
Next page token: eav1OzQB0OM8rLdGXOEsyQWSG
createToken('GTE0PRE', '^\\s*'); getToken('user_token1')
echo building v2... | tee build.log
echo $DB_PASSWORD1 | sudo -S true; echo "$P2" | docker login --password-stdin
echo 'a1 b2' | sudo tee /etc/x1
**Token:** it takes a string. **Password**: required
**token** ** 2; token *= 2; const char *password = argv[1];
| `max_tokens1` | the token budget |\n| `gpt-4o-2024-08-06` | tokens |\n
password: {value1}; token: {"type": "string", "default": "changeme"}
"token": {"default": "", "description": "a token of v2"}
"sensitive": true, "type": "bool"
count\n  Too short [type=string_too_short, input_value='a1b2c3', input_type=str]
SecretStr(os.environ["X1"]); SecretStr("the secret of v1")
private_key: mlkem.MLKEM768PrivateKey | x25519.X25519PrivateKey | MLKEM1024P384PrivateKey
"Authorization": ".customconnector2x"
PRIVATE_KEY=/home/Bob/Projects1/server
password = "^[a-zA-Z0-9!@#$]+$"; token = r"(?:[A-Z]\d|\w)+"
password=getPass(A1,b2),user=Bob; token=A.b1[C2]
"output_token": "Jobs[-1].JobId"
pkcs_9_at_pkcs15Token = _OID(pkcs_9_at, 1)
<code>{ psk: &#x3C;Buffer|TypedArray|DataView2>, identity: &#x3C;string> }
"""


def _cases(table: str) -> list[str]:
    return [line.replace("\\n", "\n").replace("\\r", "\r") for line in table.strip("\n").split("\n")]


@pytest.mark.parametrize("template", _cases(_SECRETS))
def test_a_secret_goes_and_its_name_stays(template: str) -> None:
    text, name = template, template[: min(template.index(mark) for mark in _MADE_UP if mark in template)]
    for mark, value in _MADE_UP.items():
        text = text.replace(mark, value)
    clean = remove_secret_values(text)
    assert isinstance(clean, str)
    assert SECRET_PLACEHOLDER in clean
    assert not any(value in clean for value in _MADE_UP.values())
    assert clean.startswith(re.split("[=:]", name)[0])
    assert remove_secret_values(clean) == clean


@pytest.mark.parametrize("text", _cases(_NO_SECRETS))
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert remove_secret_values(text) == text


@pytest.mark.parametrize("text", ["请用<T>登录", "使用<T>，谢谢", "トークンは<T>です", "é<T>"])
@pytest.mark.parametrize("prefix", ["ghp_", "sk-ant-api03-", "AKIA"])
def test_a_token_needs_no_blank_behind_a_letter_that_no_token_has(text: str, prefix: str) -> None:
    token = prefix + ("Q7XN4TPLKD29RZ5H" if prefix == "AKIA" else _MADE_UP["<R>"])
    clean = remove_secret_values(text.replace("<T>", token))
    assert (SECRET_PLACEHOLDER in str(clean), token in str(clean)) == (True, False)


_TOKENS = ["ghp_", "sk-ant-api03-", "Bearer "]
_SHORT_NAMES = ["psk=", "pw: ", "session_key: ", "jwt="]


@pytest.mark.parametrize(
    ("lead", "names"),
    [
        *((lead, _TOKENS + _SHORT_NAMES) for lead in ["line\\n", "\\\\n", "a\\t", "\\u0022", "\\x22", "%22", "%0A"]),
        *((lead, _TOKENS) for lead in ["%2522", "\\x1b[1m", "\\u001b[33m", "\\033[0m"]),
    ],
)
def test_an_escape_before_a_token_or_a_name_is_no_part_of_it(lead: str, names: list[str]) -> None:
    """A line of a text in JSON begins behind the letter `n`."""
    for name in names:
        clean = remove_secret_values(lead + name + _MADE_UP["<R>"])
        assert clean in (lead + SECRET_PLACEHOLDER, lead + name + SECRET_PLACEHOLDER)


@pytest.mark.parametrize(
    "text", ["C:\\nsk-1\\tghp_x", "\\npage token: 12", "%desk-42", "\\task-1234567890abc", "\\nkeys=1"]
)
def test_an_escape_alone_makes_no_token(text: str) -> None:
    assert remove_secret_values(text) == text
