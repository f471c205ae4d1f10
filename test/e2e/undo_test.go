package e2e

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// claims are the entries of the node's ledger, read as text: a key, and what is said of it. Members of archives are left out: an undo leaves them
// where they are.
func claims(t *testing.T, n *node.Node) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(n.Read("/var/lib/netwright/journal")) {
		kind, value := line[9], strings.TrimSpace(line[11:])
		switch kind {
		case 'p':
			var e struct {
				Key string `json:"key"`
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("the ledger: %v in %s", err, line)
			}
			out[e.Key] = value
		case 'x':
			delete(out, strings.Trim(value, `"`))
		}
	}
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, "file:/opt/cni/bin/") })
	return out
}
