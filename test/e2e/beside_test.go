package e2e

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// gate is a server of assets that answers only when the test opens the gate. So a command waits for
// a download for as long as the test wants.
type gate struct {
	mu   sync.Mutex
	open chan struct{}
}

func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// shut closes the gate; the returned function opens it.
func (g *gate) shut() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := make(chan struct{})
	g.open = now
	return sync.OnceFunc(func() { close(now) })
}

// gated returns a fabric with a server of the CNI plugins behind a gate, a store whose documents
// name that server, and the spec.assets that name it.
func gated(t *testing.T) (fabric *node.Fabric, g *gate, s store, spec string) {
	t.Helper()
	fabric, g = node.NewFabric(t), &gate{}
	t.Cleanup(g.shut())
	archive, sum := assets.CNIArchive(t)
	var listener net.Listener
	if err := fabric.Do(func() (err error) {
		listener, err = net.Listen("tcp4", node.Gateway4+":0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.wait():
			http.ServeFile(w, r, archive)
		case <-r.Context().Done():
		}
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	s, spec = bridgeStore(t), assetSpec(sum, "http://"+listener.Addr().String()+"/cni.tgz")
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+spec))
	return fabric, g, s, spec
}

// blocked removes the plugins and their kept copies, and starts a command. The command then waits
// for the gate, since the daemon fetches the plugins beside its passes. Output and exit code of the
// command are in /run/NAME.
func blocked(t *testing.T, n *node.Node, name string, command ...string) {
	t.Helper()
	n.Shell(t.Context(), "rm -rf /opt/cni/bin/* /var/lib/netwright/stamps /var/lib/netwright/assets/members")
	started(t, n, name, command...)
	until(t, n, name+" waits for the plugins", "grep -q 'the command waits for a download, and goes on when the download ends' /run/"+name)
	until(t, n, name+" is the daemon's", "journalctl -b -u netwright-agent -o cat | grep -q 'asked.*"+command[0]+" by root (pid '$(cat /run/"+name+".pid)")
}

func started(t *testing.T, n *node.Node, name string, command ...string) {
	t.Helper()
	line := strings.ReplaceAll("netwright COMMAND >/run/NAME 2>&1 & echo $! >/run/NAME.pid; wait $! && code=0 || code=$?; echo $code >/run/NAME.code", "NAME", name)
	words := strings.Join(command, " ")
	if command[0] == "once" {
		words = "--once"
	}
	n.Shell(t.Context(), "rm -f /run/"+name+"*")
	n.Start(t.Context(), name, "/bin/sh", "-c", strings.Replace(line, "COMMAND", words, 1))
	until(t, n, name+" runs", "test -s /run/"+name+".pid")
}

// ended waits until a command has ended with this code, and returns its output.
func ended(t *testing.T, n *node.Node, name, code string) string {
	t.Helper()
	until(t, n, name+" ends", "test -s /run/"+name+".code")
	said := n.Read("/run/" + name)
	if got := strings.TrimSpace(n.Read("/run/" + name + ".code")); got != code {
		t.Errorf("%s: exit code %s, want %s\n%s\n%s", name, got, code, said, n.Shell(t.Context(), "journalctl -b -u netwright-agent -o cat | tail -20"))
	}
	return said
}

// The daemon's own loop carries out commands that run beside the daemon. One pass runs at a time,
// and a pass that has begun goes on without its client. A command says that the daemon has died,
// and then works without it. The lines that keep it: pkg/cli/ask_daemon.go, Ask;
// pkg/daemon/loop.go, wait; pkg/daemon/serve_commands.go, serve; pkg/control/client.go, lost.
func TestCommandsBesideTheDaemon(t *testing.T) {
	t.Parallel() // most of the test is waiting
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	fabric, g, s, spec := gated(t)
	g.shut()()
	n := fabric.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service"},
		Files:  map[string]string{"/etc/systemd/system/netwright-agent.service.d/dead.conf": "[Service]\nRestart=no\nEnvironment=NETWRIGHT_WATCH=off\n"}, // a killed daemon stays dead, and nobody repairs
	}))
	checkBridgeNode(t, n)
	if got := n.Must(ctx, "stat", "-c", "%F %a %U", "/run/netwright/agent.sock"); got != "socket 600 root\n" {
		t.Errorf("the socket is %q", got)
	}
	daemon := func() string { return n.Must(ctx, "systemctl", "show", "--value", "-p", "MainPID", "netwright-agent") }
	log := func() string { return n.Shell(ctx, "journalctl --sync; journalctl -b -u netwright-agent -o cat") }

	t.Run("once", func(t *testing.T) {
		n.Shell(ctx, "sysctl -qw net.ipv4.ip_forward=0")
		out := n.Must(ctx, "netwright", "--once")
		if !strings.Contains(out, "net.ipv4.ip_forward") || n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward") != "1\n" {
			t.Errorf("the drift was not repaired, or not said:\n%s", out)
		}
		if l := log(); !strings.Contains(l, `repaired {"key": "sysctl:net.ipv4.ip_forward"`) {
			t.Errorf("the daemon did not make the repair:\n%s", l)
		}
		if res := n.Run(ctx, "netwright", "--once", "--node", "node-2"); res.Code != 1 || !strings.Contains(res.Stderr, `started for the node "node-1", and this command names "node-2"`) {
			t.Errorf("another node's documents beside the daemon: exit %d %s", res.Code, res.Stderr)
		}
	})

	t.Run("two at once", func(t *testing.T) {
		open := g.shut()
		blocked(t, n, "first", "once")
		started(t, n, "second", "once")
		until(t, n, "the second waits for the same", "grep -q 'the command waits for a download, and goes on when the download ends' /run/second")
		n.Must(ctx, "test", "!", "-e", "/run/second.code")
		open()
		if said := ended(t, n, "first", "0"); !strings.Contains(said, "/opt/cni/bin") {
			t.Errorf("the first says\n%s", said)
		}
		if said := ended(t, n, "second", "0"); !strings.Contains(said, "nothing to do") {
			t.Errorf("the second says\n%s", said)
		}
		checkBridgeNode(t, n)
	})

	t.Run("client killed", func(t *testing.T) {
		open, before := g.shut(), daemon()
		blocked(t, n, "killed", "once")
		n.Shell(ctx, "kill -9 $(cat /run/killed.pid)")
		ended(t, n, "killed", "137")
		n.Must(ctx, "test", "!", "-e", "/opt/cni/bin/bridge")
		open()
		until(t, n, "the daemon goes on", "test -x /opt/cni/bin/bridge")
		n.Must(ctx, "netwright", "--once")
		checkBridgeNode(t, n)
		if now := daemon(); now != before {
			t.Errorf("the daemon is %s, and was %s", now, before)
		}
	})

	t.Run("daemon killed", func(t *testing.T) {
		open := g.shut()
		blocked(t, n, "orphan", "once")
		n.Must(ctx, "systemctl", "kill", "--signal=KILL", "netwright-agent")
		if said := ended(t, n, "orphan", "1"); !strings.Contains(said, "died before once was done") || !strings.Contains(said, "run it again to go on") {
			t.Errorf("the client says\n%s", said)
		}
		n.Must(ctx, "test", "-S", "/run/netwright/agent.sock")
		open()
		n.Must(ctx, "netwright", "--once") // by itself: the socket is of the dead daemon
		checkBridgeNode(t, n)
		n.Must(ctx, "test", "-S", "/run/netwright/agent.sock")
		n.Must(ctx, "systemctl", "start", "netwright-agent")
		n.Shell(ctx, "sysctl -qw net.ipv4.ip_forward=0")
		n.Must(ctx, "netwright", "--once")
		if l := n.Shell(ctx, "journalctl --sync; journalctl -b -o cat _PID="+strings.TrimSpace(daemon())); !strings.Contains(l, `repaired {"key": "sysctl:net.ipv4.ip_forward"`) {
			t.Errorf("the new daemon is not reached over the socket:\n%s", l)
		}
	})

	t.Run("daemon stands still", func(t *testing.T) {
		n.Must(ctx, "systemctl", "kill", "--signal=STOP", "netwright-agent")
		res := n.Run(ctx, "netwright", "--once")
		n.Must(ctx, "systemctl", "kill", "--signal=CONT", "netwright-agent")
		if want := "the daemon (pid " + strings.TrimSpace(daemon()) + ") does not answer"; res.Code != 1 || !strings.Contains(res.Stderr, want) {
			t.Errorf("exit %d %s, want %q", res.Code, res.Stderr, want)
		}
		n.Must(ctx, "netwright", "--once")
	})

	t.Run("another user", func(t *testing.T) {
		nobody := []string{"--reuid=65534", "--regid=65534", "--clear-groups", "netwright", "rollback"}
		if res := n.Run(ctx, "setpriv", nobody...); res.Code != 1 || !strings.Contains(res.Stderr, "run as root") {
			t.Errorf("exit %d %s", res.Code, res.Stderr)
		}
		n.Shell(ctx, "chmod 0755 /run/netwright; chmod 0666 /run/netwright/agent.sock") // a mistake of a person
		if res := n.Run(ctx, "setpriv", nobody...); res.Code != 1 || !strings.Contains(res.Stderr, "user 65534 may not tell the daemon what to do") {
			t.Errorf("exit %d %s", res.Code, res.Stderr)
		}
		n.Shell(ctx, "chmod 0700 /run/netwright; chmod 0600 /run/netwright/agent.sock")
	})

	t.Run("rollback and resume", func(t *testing.T) {
		before := daemon()
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, ownNetwork+spec), 0o644)
		n.Must(ctx, "netwright", "--once")
		n.Must(ctx, "test", "!", "-e", "/sys/class/net/cbr0")
		n.Must(ctx, "netwright", "rollback")
		checkBridgeNode(t, n)
		until(t, n, "the daemon says that it is held", "systemctl show -p StatusText netwright-agent | grep -q 'held at revision 1 by root'")
		n.Must(ctx, "netwright", "--once") // and the socket stays so
		checkBridgeNode(t, n)
		if out := n.Must(ctx, "netwright", "resume"); out != "the node was held at revision 1 by root; from now on the daemon follows the store again\n" {
			t.Errorf("resume says %q", out)
		}
		until(t, n, "the daemon follows the store by itself", "test ! -e /sys/class/net/cbr0")
		if res := n.Run(ctx, "netwright", "rollback", "77"); res.Code != 1 || !strings.Contains(res.Stderr, "77") {
			t.Errorf("to a revision that is none: exit %d %s", res.Code, res.Stderr)
		}
		if now := daemon(); now != before {
			t.Errorf("the daemon is %s, and was %s", now, before)
		}
	})
}

// There is one daemon, and none during a reset. A second daemon names the first one. A reset also
// ends a daemon that systemd does not know. The lines that keep it: cmd/agent/daemon.go, Lock;
// pkg/service/stop_daemon.go, askToStop and Lock.
func TestOneDaemon(t *testing.T) {
	t.Parallel() // most of the test is waiting
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	n.Start(ctx, "by-hand", "netwright")
	until(t, n, "the node is right", "test -S /run/netwright/agent.sock && test -e /etc/cni/net.d/05-netwright-bridge.conflist && ip route show 10.244.2.0/24 | grep -q .")
	pid := strings.TrimSpace(n.Must(ctx, "systemctl", "show", "--value", "-p", "MainPID", "by-hand"))
	if res := n.Run(ctx, "netwright"); res.Code != 1 || !strings.Contains(res.Stderr, "take the daemon's lock") || !strings.Contains(res.Stderr, "pid "+pid+" (") {
		t.Errorf("a second daemon beside pid %s: exit %d %s", pid, res.Code, res.Stderr)
	}
	n.Must(ctx, "netwright", "--once") // the socket of the first daemon still works
	if l := n.Shell(ctx, "journalctl --sync; journalctl -b -u by-hand -o cat"); !strings.Contains(l, `asked {"for": "once by root`) {
		t.Errorf("the first daemon was not reached:\n%s", l)
	}
	n.Must(ctx, "netwright", "reset")
	until(t, n, "the daemon ends", "! systemctl is-active -q by-hand")
	if out := n.Shell(ctx, "pgrep -x netwright || true; ls -d /run/netwright /var/lib/netwright /sys/class/net/cbr0 2>/dev/null || true"); out != "" {
		t.Errorf("after the reset there is\n%s", out)
	}
}
