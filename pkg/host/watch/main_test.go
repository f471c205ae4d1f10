package watch

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/netwright/netwright/test/node"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noError(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inNode is set for this test program when it runs inside of a node.
const inNode = "NETWRIGHT_TEST_IN_NODE"

// TestInANode boots a node, whose systemd is a real one, and runs itself there.
func TestInANode(t *testing.T) {
	if os.Getenv(inNode) != "" {
		t.Run("units", testWatchedUnits)
		t.Run("mounts", testWatchedMounts)
		t.Run("sysctls", testWatchedSysctls)
		return
	}
	self, err := os.Executable()
	noError(t, err)
	service := func(lines ...string) string {
		return "[Service]\n" + strings.Join(lines, "\n") + "\n[Install]\nWantedBy=multi-user.target\n"
	}
	n := node.NewFabric(t).Node(t, node.Options{
		Name: "n", Address: "10.77.0.11", Networkd: true,
		Copies: map[string]string{"/watch.test": self},
		Files: map[string]string{
			"/etc/systemd/system/sleeper.service":             service("ExecStart=sleep 1000", "ExecReload=true"),
			"/etc/systemd/system/once.service":                service("Type=oneshot", "RemainAfterExit=yes", "ExecStart=true"),
			"/etc/systemd/system/static.service":              "[Service]\nExecStart=sleep 1000\n",
			"/etc/systemd/system/with-dash.and\\x20x.service": service("ExecStart=sleep 1000"),
		},
	})
	out := n.Run(t.Context(), "env", inNode+"=1", "/watch.test", "-test.run=^TestInANode$", "-test.v", "-test.timeout=10m")
	t.Log(out.Stdout)
	if out.Code != 0 {
		t.Errorf("exit %d: %s", out.Code, out.Stderr)
	}
}
