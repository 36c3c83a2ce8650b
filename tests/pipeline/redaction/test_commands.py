"""Secrets in command lines, scripts and files of settings: what each tool takes, and what only looks like it.

`<w>` a short password, `<W>` a generated one, `<P>` one with symbols, `<R>` a random run, `<H>` hexadecimal.
`\\n` stands for a line end.
"""

import pytest

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, remove_secret_values

_MADE_UP = {
    "<w>": "hunter" + "2",
    "<W>": "tundra" + "Maple7525",
    "<P>": "Falcon_7202_" + "harbor*",
    "<R>": "uG3xNg6uqJNGYAn" + "7Tw357C178JmnRetSkl37Uza6",
    "<H>": "89665e7fb05ee071f77cdc4b" + "814069dcbc094965",
}

_SECRETS = r"""
gh secret set NAME --body <R>
gh secret set DB_PASS --body "<P>"
gh secret set NAME -b <R>
gh secret set NAME -b"<P>"
gh secret set NAME --body=<P>
gh secret set NAME --repo a/b --body '<P>'
gh secret set -b <P> NAME
echo <P> | gh secret set NAME
echo "<P>" | gh secret set NAME --repo a/b
gh auth login --with-token <<< <R>
gh variable set X_TOKEN --body <P>
glab variable set DB_PASSWORD --value <P>
skopeo copy --src-creds bob:<P> docker://a docker://b
skopeo copy --dest-creds=bob:<P> docker://a docker://b
buildah push --creds bob:<P> x
curl -sSu bob:<P> https://a.example
curl -su 'bob:<W>' https://a.example
curl -sku bob:<W> https://a.example
curl -u :<W> https://a.example
curl -u <R>: https://api.stripe.com/v1
aws ssm put-parameter --name /prod/db/password --value <P> --type SecureString
aws ssm put-parameter --name /prod/db/url --type SecureString --value "<P>"
aws ssm put-parameter --name "/x/password" --value "<w>" --type SecureString
vercel env add DB_PASSWORD production <<< <P>
echo <P> | vercel env add DB_PASSWORD production
echo -n "<P>" | vercel env add DB_PASSWORD production
vercel -t <R>
echo <P> | wrangler secret put NAME
echo "<P>" | npx wrangler secret put DB_PASS
wrangler secret put NAME <<< "<P>"
kubectl create secret generic db --from-literal=user=x --from-literal=pin=<P>
kubectl create secret generic db --from-literal db=<P>
az keyvault secret set --vault-name v --name n --value <P>
az keyvault secret set --vault-name v --name n --value "<w>"
az sql server create -u bob -p <P>
echo -n <P> | gcloud secrets create db --data-file=-
SSHPASS=<P> sshpass -e ssh a
openssl passwd -6 <P>
openssl passwd -1 -salt x <P>
openssl passwd -apr1 '<W>'
poetry config http-basic.r bob <P>
poetry publish -u bob -p <P>
hatch publish -u x -a <P>
composer config http-basic.r.example bob <P>
composer config --global http-basic.r.example bob <W>
dotnet nuget add source https://r -n x -u bob -p <P> --store-password-in-clear-text
dotnet user-secrets set Db:Password <w>
dotnet user-secrets set Stripe <P>
dotnet nuget push x.nupkg -k <R>
git clone https://<H>@git.example/x
git clone https://<H>:x-oauth-basic@git.example/x
smbclient //h/s -U bob%<P>
net user bob <P> /add
net user bob <P>
rdesktop -u bob -p <P> h
lftp -u bob,<P> ftp.example
lftp -u bob,<w> sftp://h
ncftpput -u bob -p <P> h / x
ipmitool -H h -U root -P <P> power status
ipmitool -I lanplus -H h -U ADMIN -P <W> power
unrar x -p<P> a.rar
htpasswd -b f bob <P>
htpasswd -nb bob <P>
htpasswd -cb .htpasswd bob <W>
htpasswd -bc .htpasswd bob <w>
htpasswd -nbB bob '<w>'
rabbitmqctl add_user bob <P>
rabbitmqctl change_password bob <P>
bcp db.dbo.t in f -S h -U sa -P <P>
docker secret create db <<< <P>
echo <P> | docker secret create db -
echo "<P>" | docker secret create db_pass -
beeline -u jdbc:hive2://h -n bob -p <P>
tsql -S h -U sa -P <P>
cypher-shell -u neo4j -p <P>
security add-generic-password -a bob -s svc -w <P>
security add-generic-password -a bob -s svc -w '<w>'
security unlock-keychain -p <P> login.keychain
security import x.p12 -P <P> -k kc
security set-key-partition-list -S x -k <P> kc
winrs -r:h -u:bob -p:<P> cmd
crackmapexec smb h -u bob -p <P>
nxc smb h -u bob -p '<P>'
useradd -p <P> bob
(echo <P>; echo <P>) | passwd bob
(echo "<P>"; echo "<P>") | smbpasswd -s -a bob
sudo -S ls <<< <w>
sudo -S ls <<< "<P>"
sudo -S ls <<<'<w>'
passwd bob <<EOF\n<P>\n<P>\nEOF
sudo passwd bob <<EOF\n<w>\n<w>\nEOF
chpasswd <<EOF\nbob:<P>\nEOF
sudo chpasswd <<< "bob:<P>"
sudo chpasswd <<<'bob:<w>'
sudo -S apt update <<EOF\n<P>\nEOF
cat <<EOF | sudo -S ls\n<P>\nEOF
kinit bob <<< <P>
cryptsetup open /dev/x y <<< <P>
echo <P> | cifscreds add h
echo <P> | rclone config password r pass
doctl auth init -t <R>
codecov -t <R>
wandb login <H>
wandb login --relogin <H>
llm keys set openai --value <R>
llm keys set openai --value <W>
wp config create --dbuser=u --dbpass=<w>
mosquitto_pub -h h -u bob -P <P> -t x
mosquitto_sub -u bob -P '<w>' -t x
mosquitto_passwd -b f bob <P>
expect "Password:"\nsend "<P>\r"
expect "assword:"\nsend "<w>\r"
expect "*?assword:*"\nsend -- "<w>\r"
expect {\n  "*assword:" { send "<P>\r" }\n}
expect "password: " { send "<w>\r"; exp_continue }
child.expect('[Pp]assword:')\nchild.sendline('<w>')
child.expect("password: ")\nchild.sendline("<P>")
page.getByLabel('Password').fill('<w>')
driver.find_element(By.ID, "password").send_keys("<w>")
cy.get('#password').type('<w>')
cy.get('input[type="password"]').type("<P>")
await page.locator('[name="password"]').fill('<w>');
tn.read_until(b"Password: ")\ntn.write(b"<w>\n")
tn.read_until(b"Password: ")\ntn.write("<P>".encode('ascii') + b"\n")
set -x DB_PASSWORD <w>
setenv DB_PASSWORD <w>
password <- "<w>"
password <- '<P>'
api_key <<- "<W>"
PASSWORD = N'<P>'
CREATE LOGIN x WITH PASSWORD = N'<w>';
CREATE LOGIN x WITH PASSWORD=N'<P>', CHECK_POLICY=OFF
ALTER LOGIN sa WITH PASSWORD = N'<P>' OLD_PASSWORD = N'<W>'
@password = N'<w>'
CREATE USER bob IDENTIFIED BY <W>
ALTER USER bob IDENTIFIED BY <W> REPLACE tiger
db.auth("bob", "<P>")
db.changeUserPassword("bob", "<w>")
machine h login bob password <w>
machine h\n  login bob\n  password <w>\n
default login bob password <w>
*:*:*:bob:<P>
localhost:5433:app:bob:<P>
<key>password</key>\n<string><w></string>
<key>ApiToken</key><string><W></string>
<wsse:Password Type="PasswordText"><w></wsse:Password>
<wsse:Password Type="http://x#PasswordText"><P></wsse:Password>
<password type="plain"><w></password>
-H "Authorization: SSWS <W>"
-H "Authorization: Splunk <H>"
"""

_NO_SECRETS = r"""
expect "Password:" { send "$pw\r" }
child.expect("password: ")\nchild.sendline(password)
expect "password:" ; send "\r"
page.getByLabel('Password').fill(process.env.PW)
page.getByLabel('Password').fill('')
sudo -S ls <<< $PW
sudo -S ls <<EOF\n$PW\nEOF\n
cat <<EOF > f\nhello1 x\nEOF\n
sudo -S bash <<'EOF'\napt update\napt install x1\nEOF\n
su - postgres <<EOF\npsql -c 'select 1'\nEOF
echo $PW | gh secret set NAME
echo hi2you | su - bob -c cat
echo 'bob:x:1000:1000::/home/bob:/bin/sh' | sudo tee -a /etc/passwd
cat key1.pem | gh secret set KEY
gh secret set NAME --body "$PW"
gh secret set NAME --body VALUE
gh secret set NAME --body-file f1
gh pr create --body 'fixes #12a'
gh issue create -b "see v2.1a"
az keyvault secret set --name n --value $V
aws ssm put-parameter --name /app/mode --value blue-green2 --type String
aws cloudwatch put-metric-data --value 12.5ms
kubectl create secret generic db --from-literal=user=$X
kubectl create secret generic x --from-file=ssh-privatekey=/p/id1
kubectl create configmap x --from-literal=mode=blue2green
docker run -p 8080:80 -t img1 -b x2
docker build -t registry.example/app1:v2 .
vercel -t $TOKEN
tar -cf a1.tar -t b2
unzip -p a1.zip b2.txt
curl -sSu $USER:$PW https://a
curl -u : --negotiate https://a
curl -u: https://x
ls\nsystemctl --user -M lennart@ start quux2\n
date -su 10:30pm2
ssh -p 2222 -t host1 ls
find . -type f -perm -u+x1
useradd -p '' bob1
net user
net user /domain
net user bob1
password <- readline()
x <- password; password <- get_pw(1)
token <- strsplit(x1, 'a2')
CREATE USER bob IDENTIFIED BY password_expire1
error is identified by code1234 in the log
CREATE ROLE x IDENTIFIED BY VALUES 'S:ABC123'
htpasswd -c /etc/htpasswd bob1
openssl passwd -6 -stdin
openssl passwd -salt ab12cd34 $PW
htpasswd -b f bob $PW1
passwd -l bob1234; passwd -S root1234
<password type="x">{value1}</password>
<key>password</key>\n<string>required</string>
<key>tokenLimit</key><integer>12</integer>
db.auth('user1', pw)
checkPassword('bob', 'Invalid password 2')
password = N''
the token is2big, the token as-is, a password to-do list
set password policy1
curl --mail-auth user@example.come -T mail smtp://a.example
password - at least 8 characters, 1 digit
- `--token` - the token of v2
host:*:*:x1:y2
"word","token"\n"the","42nd"\n
"token","count"\n"the","42"\n
"password","created_at"\n"required","2026-01-01T00:00:00Z"\n
["user","password"]\n["bob2","carol3"]\n
a <<= 2; cout << "password1" << endl;
"""


def _cases(table: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in table.strip("\n").split("\n")]


@pytest.mark.parametrize("template", _cases(_SECRETS))
def test_a_secret_that_a_command_or_a_script_holds_goes(template: str) -> None:
    text = template
    for mark, value in _MADE_UP.items():
        text = text.replace(mark, value)
    clean = remove_secret_values(text)
    assert isinstance(clean, str)
    assert SECRET_PLACEHOLDER in clean
    assert not any(value in clean for value in _MADE_UP.values())
    assert clean.startswith(
        template[: template.index("<" + next(m for m in template.split("<")[1:] if f"<{m[:2]}" in _MADE_UP))]
    )
    assert remove_secret_values(clean) == clean


@pytest.mark.parametrize("text", _cases(_NO_SECRETS))
def test_a_command_without_a_secret_stays(text: str) -> None:
    assert remove_secret_values(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (r"echo -e 'Qx7_mapleT\nQx7_mapleT' | passwd bob", f"echo -e '{SECRET_PLACEHOLDER}' | passwd bob"),
        (
            r'{"cmd": "echo -e \"Qx7_mapleT\\nQx7_mapleT\" | passwd b"}',
            rf'{{"cmd": "echo -e \"{SECRET_PLACEHOLDER}\" | passwd b"}}',
        ),
        (
            "(echo Qx7_mapleT; echo Qx7_mapleT) | passwd b",
            f"(echo {SECRET_PLACEHOLDER}; echo {SECRET_PLACEHOLDER}) | passwd b",
        ),
        ("passwd b <<EOF\nQx7_mapleT\nQx7_mapleT\nEOF\nls a1\n", f"passwd b <<EOF\n{SECRET_PLACEHOLDER}\nEOF\nls a1\n"),
        (
            r'expect -c "expect \"Password:\"; send \"Qx7_mapleT\r\""',
            rf'expect -c "expect \"Password:\"; send \"{SECRET_PLACEHOLDER}\""',
        ),
        ('<Token kind="a">b2c3d4</Token>', f'<Token kind="a">{SECRET_PLACEHOLDER}</Token>'),
        (
            "git clone https://Qx7mapleT8Qx7mapleT8:x-oauth-basic@h.example/x",
            f"git clone https://{SECRET_PLACEHOLDER}:x-oauth-basic@h.example/x",
        ),
        ('"user","password"\n"bob","mapleQuartz4821"\n', f'"user","password"\n"bob","{SECRET_PLACEHOLDER}"\n'),
        ('"password"; "user"\n"mapleQuartz4821"; "bob"\n', f'"password"; "user"\n"{SECRET_PLACEHOLDER}"; "bob"\n'),
        (
            '"n","api_key","x"\r\n"a, b","Qx7mapleT99pL","1"\r\n',
            f'"n","api_key","x"\r\n"a, b","{SECRET_PLACEHOLDER}","1"\r\n',
        ),
        ("tool --token-secret as-Qx7mapleT8Qx7mapleT8", f"tool --token-secret {SECRET_PLACEHOLDER}"),
        ("curl -u Qx7mapleT8Qx7mapleT8: https://h.example", f"curl -u {SECRET_PLACEHOLDER}: https://h.example"),
    ],
)
def test_only_the_secret_goes(text: str, clean: str) -> None:
    assert remove_secret_values(text) == clean
