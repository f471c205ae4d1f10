package tasks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// The plan of a restoration shows the present value and the restored one.
func TestARestorationShowsValues(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct{ key, live, was, want string }{
		{"sysctl:net.ipv4.ip_forward", "=1", "=0", "value 1 → 0"},
		{"sysctl:a.b", "=1", "=", "value 1 → none"},
		{"unit:x.service", "unit enabled active", "unit disabled inactive", "value unit enabled active → unit disabled inactive"},
		{"file:/etc/x", "file 0644 0:0 " + sum, "file 0600 0:0 " + strings.ToUpper(sum), "mode 0644 → 0600, content sha256 0123456789ab → sha256 0123456789AB"},
		{"file:/etc/x", "file 0644 0:0 " + sum, "symlink /run/x", "type file 0644 0:0 sha256 0123456789ab → symlink /run/x"},
		{"file:/etc/x", "", "directory 0755 0:0", "type absent → directory 0755 0:0"},
		{"file:/etc/x", "file 0644 0:0 " + sum, "file 0644 0:0 " + sum, "times or attributes  → as before"},
	} {
		var got []string
		for _, f := range restores(graph.Key(c.key), c.live, c.was) {
			got = append(got, fmt.Sprintf("%s %s → %s", f.Name, f.Before, f.After))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.key, text, c.want)
		}
	}
}
