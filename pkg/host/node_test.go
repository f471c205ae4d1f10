package host

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/systemd"
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
			{"unit ends", testUnitEnds},
			{"unit files", testUnitFiles},
			{"all units", testAllUnits},
			{"system bus", testSystemBus},
			{"a short first message", testShortFirstMessage},
			{"modules", testModuleByUnit},
			{"facts", testFactsOfANode},
			{"forward policies", testForwardPolicies},
			{"link managers", testLinkManagers},
			{"systemd restarts", testReexec},
		} {
			t.Run(test.name, test.run)
		}
		return
	}
	n := bootForTest(t)
	out := n.Run(t.Context(), "env", inNode+"=1", "/host.test", "-test.run=^TestInANode$", "-test.v", "-test.timeout=10m")
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
			"/etc/systemd/system/reloads.service":             service("ExecStart=sleep 1000", "ExecReload=sh -c 'sleep 1; touch /run/reloaded'"),
			"/etc/systemd/system/fails.service":               service("Type=oneshot", "ExecStart=false"),
			"/etc/systemd/system/seldom.service":              "[Unit]\nStartLimitIntervalSec=1min\nStartLimitBurst=1\n" + service("ExecStart=sleep 1000"),
			"/etc/systemd/system/flaps.service":               "[Unit]\nStartLimitIntervalSec=0\n" + service("ExecStart=sh -c 'exit 5'", "Restart=on-failure", "RestartSec=1ms"),
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

// BenchmarkInANode measures inside a node what systemd and the facts cost a pass.
func BenchmarkInANode(b *testing.B) {
	if os.Getenv(inNode) == "" {
		out := bootForTest(b).Run(b.Context(), "env", inNode+"=1", "/host.test", "-test.run=^$", "-test.bench=InANode", "-test.benchtime=200x")
		if out.Code != 0 {
			b.Fatal(out)
		}
		os.Stdout.WriteString(out.Stdout) // Log would cut it
		return
	}
	measure := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			// This is our own part of the time. On a machine with other work it means more than the
			// elapsed time.
			b.ReportMetric(float64(processorTime(b)-start)/float64(b.N)/1e3, "cpu-us/op")
		})
	}
	connect := func(socket string, private bool) func() error {
		return func() error {
			u := systemd.Open(true)
			u.Socket, u.Private = socket, private
			_, err := u.UnitsLoadedUS(b.Context()) // the smallest question on a new connection
			return errors.Join(err, u.Close())
		}
	}
	measure("connect/private", connect(systemd.PrivateSocket, true))
	measure("connect/bus", connect(systemd.SystemSocket, false))
	u := systemd.Open(true)
	defer u.Close()
	measure("unit", func() error { _, err := u.Unit(b.Context(), "containerd.service"); return err })
	measure("cri", func() error {
		_, _, err := (*cri.StatusCache)(nil).Status(b.Context(), "/run/containerd/containerd.sock")
		return err
	})
	measure("facts", func() error {
		l, err := OpenView(b.Context(), Options{})
		if err != nil {
			return err
		}
		return l.Close()
	})
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
