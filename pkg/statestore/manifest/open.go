package manifest

import "github.com/netwright/netwright/pkg/statestore/trust"

// Open is the one place where a published manifest enters: nothing of it, nor of what it
// names, is looked at before it is trusted. raw is the manifest as it is in the store, signatures
// and all. With a nil policy whatever is there is taken.
func Open(raw []byte, cluster, store string, policy *trust.Policy) (m *Manifest, digest string, err error) {
	statement, _, err := trust.Split(raw)
	if policy != nil {
		statement, err = policy.Check(raw, store)
	}
	if err != nil {
		return nil, "", err
	}
	m, err = Parse(statement, cluster)
	return m, trust.Digest(statement), err
}
