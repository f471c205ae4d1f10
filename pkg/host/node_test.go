package host

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// inNode is set for this test program when it runs inside of a node.
const inNode = "NETWRIGHT_TEST_IN_NODE"

// TestInANode boots a node, whose systemd is a real one, and runs itself there.
func TestInANode(t *testing.T) {
	if os.Getenv(inNode) != "" {
		for _, test := range []struct {
			name string
			run  func(*testing.T)
		}{
			{"unit states", testUnitStates},
			{"jobs", testUnitJobs},
			{"failed jobs", testFailedJobs},
			{"unit files", testUnitFiles},
			{"system bus", testSystemBus},
			{"a short first message", testShortFirstMessage},
			{"modules", testModuleByUnit},
			{"facts", testFactsOfANode},
			{"forward policies", testForwardPolicies},
			{"systemd restarts", testReexec},
		} {
			t.Run(test.name, test.run)
		}
		return
	}
	n := bootForTest(t)
	out := n.Run(t.Context(), "env", inNode+"=1", "/host.test", "-test.run=^TestInANode$", "-test.v", "-test.timeout=2m")
	t.Log(out.Stdout)
	if out.Code != 0 {
		t.Errorf("exit %d: %s", out.Code, out.Stderr)
	}
}

// bootForTest boots a node with this test program in it.
func bootForTest(t testing.TB) *node.Node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	service := func(lines ...string) string {
		return "[Service]\n" + strings.Join(lines, "\n") + "\n[Install]\nWantedBy=multi-user.target\n"
	}
	return node.NewFabric(t).Node(t, node.Options{
		Name: "n", Address: "10.77.0.11", Networkd: true,
		Copies: map[string]string{"/host.test": self},
		Files: map[string]string{
			"/etc/systemd/system/sleeper.service":             service("ExecStart=sleep 1000 $EXTRA", "ExecReload=true"),
			"/etc/systemd/system/sleeper.service.d/10-a.conf": "[Service]\nEnvironment=EXTRA=1\n",
			"/etc/systemd/system/once.service":                service("Type=oneshot", "RemainAfterExit=yes", "ExecStart=true"),
			"/etc/systemd/system/fails.service":               service("Type=oneshot", "ExecStart=false"),
			"/etc/systemd/system/needs-fails.service":         "[Unit]\nRequires=fails.service\nAfter=fails.service\n" + service("ExecStart=sleep 1000"),
			"/etc/systemd/system/static.service":              "[Service]\nExecStart=sleep 1000\n",
			"/etc/systemd/system/with-dash.and\\x20x.service": service("ExecStart=sleep 1000"),
		},
	})
}

// openNode opens the node that the test runs in.
func openNode(t *testing.T) *Host {
	t.Helper()
	h, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// BenchmarkInANode measures what a pass pays for systemd and for facts, inside of a node.
func BenchmarkInANode(b *testing.B) {
	if os.Getenv(inNode) == "" {
		out := bootForTest(b).Run(b.Context(), "env", inNode+"=1", "/host.test", "-test.run=^$", "-test.bench=InANode", "-test.benchtime=200x")
		b.Log("\n" + out.Stdout + out.Stderr)
		return
	}
	b.Run("connect", func(b *testing.B) {
		for b.Loop() {
			u := openUnits(Options{})
			if _, err := u.connect(b.Context()); err != nil {
				b.Fatal(err)
			}
			u.close()
		}
	})
	b.Run("connect system bus", func(b *testing.B) {
		for b.Loop() {
			u := openUnits(Options{})
			u.socket, u.private = systemSocket, false
			if _, err := u.connect(b.Context()); err != nil {
				b.Fatal(err)
			}
			u.close()
		}
	})
	u := openUnits(Options{})
	defer u.close()
	b.Run("unit", func(b *testing.B) {
		for b.Loop() {
			if _, err := u.Unit(b.Context(), "containerd.service"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("facts", func(b *testing.B) {
		for b.Loop() {
			l, err := OpenView(b.Context(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			l.Close()
		}
	})
}
