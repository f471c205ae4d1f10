package issue

import (
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

// The clock: before the CA's first moment nobody signs; a certificate from a clock that was ahead
// is issued anew; one that lives as long as its CA is not renewed, for none would live longer. The
// line that keeps it: renewal.go, reasonByCA.
func TestIssueByTheClock(t *testing.T) {
	root := pki.New(t, "etcd-ca")
	t.Run("a root", func(t *testing.T) { issueByTheClock(t, root, root.PEM) })
	t.Run("below a root", func(t *testing.T) { issueByTheClock(t, root.Below("clients"), root.PEM) })
}

// issueByTheClock has a CA sign that is trusted as its root.
func issueByTheClock(t *testing.T, ca *pki.Authority, root string) {
	entry := &extras.Certificate{Name: "own", Source: extras.SourceCA, CA: "etcd-ca", Lifetime: values.Duration(time.Hour), Usages: []string{"client"}}
	pairs := map[string]model.Keypair{"etcd-ca": {CA: []byte(root), Cert: []byte(ca.PEM), Key: secret.New(ca.Key())}}
	signed := func(at time.Time, life time.Duration) *issuing {
		t.Helper()
		e := *entry
		e.Lifetime = values.Duration(life)
		i := &issuing{entry: &e, node: "n", pairs: pairs, now: at}
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
