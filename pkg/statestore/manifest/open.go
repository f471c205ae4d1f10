package manifest

import "github.com/netwright/netwright/pkg/statestore/trust"

// Open verifies and parses a published manifest. All readers of published manifests call it:
// nothing in a manifest, and no object that it names, is used before the policy accepts it. raw is
// the manifest as it is in the store, with its signatures. A nil policy accepts every manifest.
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
