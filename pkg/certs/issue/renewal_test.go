package issue

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/test/pki"
)

// Before the start of the CA's validity nothing is signed. A certificate of a clock that was ahead
// is issued again. A certificate that ends with its CA is not renewed, since no other would last
// longer. The line that keeps it: renewal.go, reasonByCA.
func TestIssueByTheClock(t *testing.T) {
	root := pki.New(t, "etcd-ca")
	t.Run("a root", func(t *testing.T) { issueByTheClock(t, root, root.PEM) })
	t.Run("below a root", func(t *testing.T) { issueByTheClock(t, root.Below("clients"), root.PEM) })
}

// issueByTheClock has a CA sign a certificate. root is trusted as its root.
func issueByTheClock(t *testing.T, ca *pki.Authority, root string) {
	entry := &extras.Certificate{Name: "own", Source: extras.SourceCA, CA: "etcd-ca", Lifetime: values.Duration(time.Hour), Usages: []string{"client"}}
	pairs := map[string]model.Keypair{"etcd-ca": {CA: []byte(root), Cert: []byte(ca.PEM), Key: secret.New(ca.Key())}}
	signed := func(at time.Time, life time.Duration) *issuing {
		t.Helper()
		e := *entry
		e.Lifetime = values.Duration(life)
		i := &issuing{entry: &e, node: "n", pairs: pairs, files: noFiles{}, now: at}
		a, err := certs.ParseAuthority(pairs["etcd-ca"].Cert, pairs["etcd-ca"].Key)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := certs.NewKey("")
		c, err := a.Sign(i.request(), key.Public(), at)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := certs.EncodeKey(key)
		i.have = &issued{Name: "own", Cert: string(certs.Encode(c)) + ca.PEM, Key: text, CA: root, Request: i.digest(), Issued: at}
		return i
	}
	now := time.Now()
	for _, c := range []struct {
		name string
		life time.Duration
		now  time.Time
		want string
	}{
		{"young", time.Hour, now.Add(time.Minute), ""},
		{"two thirds", time.Hour, now.Add(45 * time.Minute), "its renewal is due"},
		{"expired", time.Hour, now.Add(2 * time.Hour), "it expired on"},
		{"the clock was ahead", time.Hour, now.Add(-30 * time.Minute), "issued while the clock was ahead"},
		{"the clock is behind the CA", time.Hour, now.Add(-10 * 24 * time.Hour), ""},
		{"as long as the CA", 10000 * time.Hour, now.Add(23 * time.Hour), ""},
	} {
		i := signed(now, c.life)
		i.now = c.now
		if got := i.reason(); got == "" != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: due %q, want %q", c.name, got, c.want)
		}
	}
}

// A request is looked at soon at first, and then less and less often until it is approved, also if
// the clock was set back meanwhile. An answer that stays is looked at more than once. The line that
// keeps it: kubernetes.go, nextLook.
func TestARequestIsLookedAtLessAndLess(t *testing.T) {
	now := time.Now()
	for since, want := range map[time.Duration]time.Duration{
		0: pendingLook, -10 * time.Second: pendingLook, -10 * time.Minute: time.Minute, -90 * time.Minute: 9 * time.Minute, 365 * 24 * time.Hour: pendingMost,
	} {
		i := &issuing{now: now, have: &issued{Pending: &pending{Since: now.Add(since)}}}
		if got := i.nextLook().Sub(now); got != want {
			t.Errorf("of a request made %s from now: looked at again after %s, want %s", since, got, want)
		}
	}
}

// noFiles is a machine without files, whose id is not known.
type noFiles struct{}

func (noFiles) ReadFile(string) ([]byte, error) { return nil, fs.ErrNotExist }
