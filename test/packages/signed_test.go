package packages

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/release"
)

// password is the password of the keys that sign packages here.
const password = "throw away"

// gpgKey is a key of GPG for one test: its exported secret part, its public part, and its id.
type gpgKey struct{ secret, public, id string }

func newGPGKey(t testing.TB, name string) gpgKey {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg-") // a short path, since an agent's socket is in it
	if err != nil {
		t.Fatal(err)
	}
	gpg := func(args ...string) string {
		return run(t, "gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", password}, args...)...)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("gpgconf", "--homedir", home, "--kill", "all").CombinedOutput(); err != nil {
			t.Errorf("end the agent of GPG: %v: %s", err, out)
		}
		os.RemoveAll(home)
	})
	gpg("--quick-generate-key", name+" <"+name+"@example.com>", "rsa2048", "sign")
	k := gpgKey{secret: filepath.Join(home, name+".key"), public: filepath.Join(home, name+".asc")}
	gpg("--output", k.secret, "--armor", "--export-secret-keys")
	gpg("--output", k.public, "--armor", "--export")
	for line := range strings.Lines(gpg("--with-colons", "--list-keys")) {
		if fields := strings.Split(line, ":"); fields[0] == "pub" {
			k.id = fields[4]
		}
	}
	return k
}

// policy makes a policy of debsig-verify for a key: https://manpages.debian.org/debsig-verify
func (k gpgKey) policy(t testing.TB) (policies, keyrings string) {
	t.Helper()
	policies, keyrings = t.TempDir(), t.TempDir()
	for _, dir := range []string{policies, keyrings} {
		if err := os.Mkdir(filepath.Join(dir, k.id), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "gpg", "--batch", "--quiet", "--output", filepath.Join(keyrings, k.id, "key.gpg"), "--dearmor", k.public)
	var id bytes.Buffer
	if err := xml.EscapeText(&id, []byte(k.id)); err != nil {
		t.Fatal(err)
	}
	rule := fmt.Sprintf(`<Required Type="origin" File="key.gpg" id="%s"/>`, id.String())
	text := `<?xml version="1.0"?><!DOCTYPE Policy SYSTEM "https://www.debian.org/debsig/1.0/policy.dtd"><Policy xmlns="https://www.debian.org/debsig/1.0/">` +
		`<Origin Name="Netwright" id="` + id.String() + `"/><Selection>` + rule + `</Selection><Verification MinOptional="0">` + rule + `</Verification></Policy>`
	if err := os.WriteFile(filepath.Join(policies, k.id, "netwright.pol"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return policies, keyrings
}

// rpm and debsig-verify accept packages that a key of GPG signed. They refuse them if one byte
// differs or if another key signed. Except for the signature, the packages equal those of a release
// without a key.
func TestPackagesAreSigned(t *testing.T) {
	needs.Tool(t, "gpg", "gpg-agent", "gpgconf", "debsig-verify", "rpmkeys", "rpm")
	key, other, file := newGPGKey(t, "fleet"), newGPGKey(t, "other"), small(t)
	make := release.Make(t, t.TempDir(), "v1.0.0", "-gpg-key", key.secret, "-program", "amd64="+file)
	if out, err := make.CombinedOutput(); err == nil || !strings.Contains(string(out), "set NETWRIGHT_GPG_PASSWORD") {
		t.Errorf("without a password: %v: %s", err, out)
	}
	t.Setenv("NETWRIGHT_GPG_PASSWORD", password)
	plain, signed := released(t, "v1.0.0", "-program", "amd64="+file), released(t, "v1.0.0", "-gpg-key", key.secret, "-program", "amd64="+file)
	const deb, rpm = "netwright_1.0.0_amd64.deb", "netwright-1.0.0-1.x86_64.rpm"

	bare, err := os.ReadFile(filepath.Join(plain, deb))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(signed, deb))
	if err != nil {
		t.Fatal(err)
	}
	if rest, ok := bytes.CutPrefix(whole, bare); !ok || !bytes.HasPrefix(rest, []byte("_gpgorigin ")) {
		t.Errorf("the .deb is not the unsigned one and a signature: %.40q", rest)
	}
	const digests = "%{SHA256HEADER} %{PAYLOADDIGEST}"
	want(t, "digests of the signed .rpm", run(t, needs.Path("rpm"), "-qp", "--nosignature", "--qf", digests, filepath.Join(signed, rpm)),
		run(t, needs.Path("rpm"), "-qp", "--qf", digests, filepath.Join(plain, rpm)))

	broken := filepath.Join(t.TempDir(), deb)
	whole[bytes.Index(whole, []byte("data.tar.gz"))+200] ^= 1
	if err := os.WriteFile(broken, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	brokenRPM := filepath.Join(t.TempDir(), rpm)
	content, err := os.ReadFile(filepath.Join(signed, rpm))
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-200] ^= 1
	if err := os.WriteFile(brokenRPM, content, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, deb, rpm string
		by             gpgKey
		good           bool
	}{
		{"signed by the key", filepath.Join(signed, deb), filepath.Join(signed, rpm), key, true},
		{"with another byte", broken, brokenRPM, key, false},
		{"signed by another key", filepath.Join(signed, deb), filepath.Join(signed, rpm), other, false},
	} {
		policies, keyrings := c.by.policy(t)
		out, err := exec.Command("debsig-verify", "--policies-dir", policies, "--keyrings-dir", keyrings, c.deb).CombinedOutput()
		if (err == nil) != c.good {
			t.Errorf("a .deb %s: debsig-verify: %v: %s", c.what, err, out)
		}
		database := t.TempDir()
		run(t, needs.Path("rpmkeys"), "--dbpath", database, "--import", c.by.public)
		out, err = exec.Command(needs.Path("rpmkeys"), "--dbpath", database, "--checksig", c.rpm).CombinedOutput()
		if (err == nil) != c.good || c.good && !strings.Contains(string(out), "digests signatures OK") {
			t.Errorf("an .rpm %s: rpmkeys: %v: %s", c.what, err, out)
		}
	}
}
