package manifest

import (
	"bytes"
	"fmt"

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Open verifies and parses a published manifest. All readers of published manifests call it:
// nothing in a manifest, and no object that it names, is used before the policy accepts it. raw is
// the manifest as it is in the store, with its signatures. A nil policy accepts every manifest.
func Open(raw []byte, cluster, store string, policy *trust.Policy) (m *Manifest, digest string, err error) {
	if start := bytes.TrimSpace(raw); !bytes.HasPrefix(start, []byte("{")) {
		return nil, "", fmt.Errorf("what is read as its manifest begins with %q, expected \"{\": look whether a proxy, a "+
			"login page or a cache answers in place of the store", start[:min(len(start), 40)])
	}
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
