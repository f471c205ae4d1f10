package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/imds"
	"github.com/netwright/netwright/test/node"
)

const (
	mirrorPort = "8080"
	mirror     = "http://" + node.Gateway4 + ":" + mirrorPort
	deadMirror = "http://" + node.Gateway4 + ":1" // no server listens there
)

// mirrors is an HTTP server beyond the node's default route, and the requests that it got.
type mirrors struct {
	mu    sync.Mutex
	asked []string
	files map[string][]byte
}

func serveMirrors(t testing.TB, f *node.Fabric, files map[string][]byte) *mirrors {
	t.Helper()
	m := &mirrors{files: files}
	answerAt(t, f, node.Gateway4+":"+mirrorPort, m)
	return m
}

func (m *mirrors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r.URL.Path)
	content, ok := m.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // a client may close the connection
}

// serveMetadata serves the metadata of an instance at the address that AWS has for it.
func serveMetadata(t testing.TB, f *node.Fabric, userData string) *imds.Server {
	t.Helper()
	s := &imds.Server{Values: imds.Instance(userData)}
	out, err := exec.Command("ip", "-n", filepath.Base(f.Netns()), "address", "replace", metadataAddress+"/32", "dev", "lo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answerAt(t, f, metadataAddress+":80", s)
	return s
}

// answerAt serves at an address of the fabric until the test ends.
func answerAt(t testing.TB, f *node.Fabric, address string, handler http.Handler) {
	t.Helper()
	var listener net.Listener
	err := f.Do(func() (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { server.Close() })
}

// take returns the requests since the last call.
func (m *mirrors) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := strings.Join(m.asked, " ")
	m.asked = nil
	return out
}

// userData returns the user-data that the agent prints for this architecture, with a store in a
// directory of the node.
func userData(t testing.TB, sum string, args ...string) string {
	t.Helper()
	args = append([]string{"user-data", "--sha256", runtime.GOARCH + "=" + sum, "--store", "/srv/netwright", "--cluster", cluster, "--node", "node-1"}, args...)
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), agent(t), args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return string(out)
}

// multipart returns user-data of several parts.
func multipart(parts ...string) string {
	const boundary = "=of-the-parts="
	text := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n"
	for _, part := range parts {
		text += "\n--" + boundary + "\nContent-Type: text/cloud-config; charset=\"us-ascii\"\n\n" + part
	}
	return text + "\n--" + boundary + "--\n"
}

// cloudInit has the distribution's cloud-init and the other program that downloads.
var cloudInit = []string{"cloud-init", "wget"}

var cloudInitUnits = []string{"cloud-init-local.service", "cloud-init.service", "cloud-config.service", "cloud-final.service"}

// bare is a node without an agent.
func bare(t testing.TB, f *node.Fabric, name, address string, extra node.Options) *node.Node {
	t.Helper()
	extra.Name, extra.Address, extra.Copies = name, address, map[string]string{"/srv/netwright": bridgeStore(t).dir}
	return f.Node(t, extra)
}

// console returns all that a node printed on its console since the test made it.
func console(t testing.TB, n *node.Node) string {
	t.Helper()
	out, err := os.ReadFile(filepath.Join(filepath.Dir(n.Upper()), "console.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// awaitConsole waits until a node has printed all these texts on its console. The daemon may be
// ready before the script that started it prints its last line, and that line may not be in the
// file yet.
func awaitConsole(t testing.TB, n *node.Node, texts ...string) {
	t.Helper()
	for _, text := range texts {
		until := time.Now().Add(time.Minute)
		for !strings.Contains(console(t, n), text) {
			if time.Now().After(until) {
				t.Fatalf("the console lacks %q:\n%s", text, console(t, n))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// eventually waits for a command in the node to succeed.
func eventually(ctx context.Context, t testing.TB, n *node.Node, script string) {
	t.Helper()
	if !n.Await(ctx, script) {
		t.Fatalf("never true: %s", script)
	}
}

// absent checks that nothing was installed.
func absent(ctx context.Context, t testing.TB, n *node.Node) {
	t.Helper()
	n.Shell(ctx, `for path in /usr/bin/netwright /usr/bin/agent /etc/netwright/agent.yaml /etc/systemd/system/netwright-agent.service /var/lib/netwright/bootstrap; do
	if [ -e $path ]; then echo "there is $path" >&2; exit 1; fi; done`)
}

// A machine without any file of the agent becomes a node by its user-data alone. A second run of
// the user-data changes nothing.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	program, err := os.ReadFile(agent(t))
	if err != nil {
		t.Fatal(err)
	}
	newer := append(append([]byte(nil), program...), "newer"...)
	sum := func(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
	f := node.NewFabric(t)
	served := serveMirrors(t, f, map[string][]byte{"/netwright": program, "/old/netwright": []byte("#!/bin/sh\ntouch /root/ran\n"), "/newer": newer})

	t.Run("right", func(t *testing.T) {
		n := bare(t, f, "right", "10.77.0.11", node.Options{})
		script := userData(t, sum(program), "--url", mirror+"/netwright")
		n.Write("/root/user-data", script, 0o700)
		n.Must(ctx, "/root/user-data")
		if asked := served.take(); asked != "/netwright" {
			t.Errorf("the mirror was asked for %q", asked)
		}
		if got := n.Must(ctx, "sha256sum", "/usr/bin/netwright"); !strings.HasPrefix(got, sum(program)) {
			t.Errorf("installed is %s", got)
		}
		n.Must(ctx, "systemctl", "start", "netwright-agent.service") // waits for READY
		for _, unit := range []string{"agent", "recover", "undo"} {
			n.Must(ctx, "systemctl", "is-enabled", "netwright-"+unit+".service")
		}
		checkBridgeNode(t, n)
		n.Shell(ctx, "test ! -e /var/lib/netwright/bootstrap; test $(stat -c %a /etc/netwright/agent.yaml) = 644; agent version; journalctl --sync; journalctl -t netwright-bootstrap | grep installed")
		awaitConsole(t, n, "netwright: installed; journalctl -u netwright-agent.service tells how it goes on")

		pid := n.Must(ctx, "systemctl", "show", "-p", "MainPID", "netwright-agent")
		before := n.Snapshot()
		if said := n.Must(ctx, "/root/user-data"); !strings.Contains(said, "nothing to do") {
			t.Errorf("a second run says: %s", said)
		}
		if diff := quiet(node.Diff(before, n.Snapshot())); len(diff) > 0 {
			t.Errorf("a second run changed: %q", diff)
		}
		if asked := served.take(); asked != "" {
			t.Errorf("a second run asked the mirror for %q", asked)
		}
		if now := n.Must(ctx, "systemctl", "show", "-p", "MainPID", "netwright-agent"); now != pid {
			t.Errorf("a second run restarted the daemon: %s, then %s", pid, now)
		}

		// Other user-data installs another agent and another file; the daemon restarts with the new
		// program.
		n.Write("/root/user-data", userData(t, sum(newer), "--url", mirror+"/newer", "--node-group", "nodes"), 0o700)
		n.Must(ctx, "/root/user-data")
		eventually(ctx, t, n, `test "$(sha256sum </proc/$(systemctl show -P MainPID netwright-agent)/exe)" = "`+sum(newer)+`  -" && systemctl is-active -q netwright-agent`)
		if conf := n.Read("/etc/netwright/agent.yaml"); !strings.Contains(conf, `nodeGroup: "nodes"`) {
			t.Errorf("the agent's file is %s", conf)
		}
	})

	t.Run("wrong hash", func(t *testing.T) {
		n := bare(t, f, "wrong", "10.77.0.12", node.Options{})
		served.take()
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/old/netwright", "--url", mirror+"/nowhere"), 0o700)
		res := n.Run(ctx, "/root/user-data")
		if res.Code != 1 {
			t.Errorf("exit code %d, want 1: %s", res.Code, res.Stderr)
		}
		if asked := served.take(); asked != "/old/netwright /nowhere" {
			t.Errorf("asked for %q: what will not change is asked once", asked)
		}
		absent(ctx, t, n)
		n.Shell(ctx, "test ! -e /root/ran")
		awaitConsole(t, n, "/old/netwright: its sha256 is ", "404", "no mirror has the agent: nothing was installed")
	})

	t.Run("first mirror dead", func(t *testing.T) {
		n := bare(t, f, "dead", "10.77.0.13", node.Options{Layers: []string{node.Layer(t, cloudInit...)}, Mask: cloudInitUnits})
		script := userData(t, sum(program), "--url", deadMirror+"/netwright", "--url", mirror+"/old/netwright", "--url", mirror+"/netwright")
		n.Write("/root/user-data", script, 0o700)
		for _, prepare := range []string{"true", "mv /usr/bin/curl /root/; systemctl stop netwright-agent; rm -r /usr/bin/netwright /etc/netwright"} {
			n.Shell(ctx, prepare)
			n.Must(ctx, "/root/user-data")
			if asked := served.take(); asked != "/old/netwright /netwright" {
				t.Errorf("the living mirrors were asked for %q", asked)
			}
			n.Must(ctx, "systemctl", "start", "netwright-agent.service")
			n.Must(ctx, "test", "-s", "/etc/netwright/agent.yaml")
		}
		said := console(t, n)
		if strings.Count(said, deadMirror+"/netwright: ") != 2 || !strings.Contains(said, "/netwright: curl: ") || !strings.Contains(said, "failed: Connection refused.") {
			t.Errorf("the console does not say once of curl and once of wget that a mirror is dead:\n%s", said)
		}
	})

	// cloud-init, as in a cloud, finds the instance's user-data in either form, and runs it once.
	lab := map[string]string{
		"/etc/cloud/cloud.cfg.d/99-lab.cfg": "datasource_list: [NoCloud]\nnetwork: {config: disabled}\n" +
			"cloud_init_modules: [write-files]\ncloud_config_modules: [runcmd]\ncloud_final_modules: [scripts-user]\n",
		"/var/lib/cloud/seed/nocloud/meta-data": "instance-id: i-1\n",
	}
	check := func(t *testing.T, n *node.Node) {
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent")
		checkBridgeNode(t, n)
		n.Shell(ctx, "test ! -e /var/lib/netwright/bootstrap")
		awaitConsole(t, n, "netwright: installed")
	}
	t.Run("cloud-init, cloud-config", func(t *testing.T) {
		files := maps.Clone(lab)
		// Other parts of the user-data use the same two lists.
		files["/var/lib/cloud/seed/nocloud/user-data"] = multipart("#cloud-config\nruncmd:\n- [touch, /root/ran]\nwrite_files:\n- {path: /root/written}\n",
			userData(t, sum(program), "--url", mirror+"/netwright", "--format", "cloud-config"))
		n := bare(t, f, "config", "10.77.0.15", node.Options{Layers: []string{node.Layer(t, cloudInit...)}, Files: files})
		n.Must(ctx, "cloud-init", "status", "--wait")
		n.Must(ctx, "grep", "netwright: installed", "/var/log/cloud-init-output.log")
		n.Shell(ctx, "ls /root/ran /root/written; journalctl --sync; journalctl -t netwright-bootstrap | grep -q installed")
		check(t, n)
	})
	// Here cloud-init reads the metadata of the instance, by version 2. In a container cloud-init
	// does not recognise EC2, so curl asks for the user-data.
	t.Run("cloud-init, shell", func(t *testing.T) {
		text := userData(t, sum(program), "--url", mirror+"/netwright")
		metadata := serveMetadata(t, f, text)
		n := bare(t, f, "shell", "10.77.0.16", node.Options{Layers: []string{node.Layer(t, cloudInit...)}, Files: lab, Mask: cloudInitUnits})
		n.Shell(ctx, `at=http://`+metadataAddress+`/latest
token=$(curl -sSf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $at/api/token)
curl -sSf -H "X-aws-ec2-metadata-token: $token" -o /var/lib/cloud/seed/nocloud/user-data $at/user-data
cloud-init init --local; cloud-init init; cloud-init modules --mode=config; cloud-init modules --mode=final`)
		check(t, n)
		if asked := metadata.Asked(); !slices.Equal(asked, []string{"PUT api/token", "GET user-data"}) {
			t.Errorf("the instance's metadata was asked for %q", asked)
		}
	})

	// Only the proxy can resolve this name.
	t.Run("through a proxy", func(t *testing.T) {
		n := bare(t, f, "proxied", "10.77.0.17", node.Options{Layers: []string{node.Layer(t, cloudInit...)}, Mask: cloudInitUnits})
		served.take()
		args := []string{"--url", "http://mirror.example.com/netwright"}
		n.Write("/root/user-data", userData(t, sum(program), append(args, "--proxy", mirror, "--no-proxy", "10.0.0.0/8")...), 0o700)
		for _, prepare := range []string{"true", "mv /usr/bin/curl /root/; rm /usr/bin/netwright"} {
			n.Shell(ctx, prepare)
			n.Must(ctx, "/root/user-data")
			if asked := served.take(); asked != "/netwright" {
				t.Errorf("the proxy was asked for %q", asked)
			}
		}
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent")
		environment := func() string {
			return n.Shell(ctx, `tr '\0' '\n' </proc/$(systemctl show -P MainPID netwright-agent)/environ | grep -i proxy || true`)
		}
		if got := environment(); !strings.Contains(got, "HTTPS_PROXY="+mirror+"\n") || !strings.Contains(got, ",169.254.169.254,") || !strings.Contains(got, ",10.0.0.0/8\n") {
			t.Errorf("the daemon's environment has %s", got)
		}
		n.Write("/root/user-data", userData(t, sum(program), args...), 0o700)
		n.Must(ctx, "/root/user-data")
		eventually(ctx, t, n, `systemctl is-active -q netwright-agent && ! tr '\0' '\n' </proc/$(systemctl show -P MainPID netwright-agent)/environ | grep -q PROXY`)
	})

	// Whatever interrupts the machine in the middle, cloud-init does not run the user-data again:
	// netwright-bootstrap.service goes on at the next boot.
	t.Run("interrupted", func(t *testing.T) {
		n := bare(t, f, "cut", "10.77.0.18", node.Options{})
		served.take()
		script := userData(t, sum(program), "--url", deadMirror+"/netwright")
		n.Write("/root/user-data", script, 0o700)
		n.Start(ctx, "user-data", "/root/user-data")
		for _, end := range []func(){func() { n.Kill(); n.Boot(ctx) }, func() { n.Reboot(ctx) }, func() { n.Kill(); n.Boot(ctx) }} {
			eventually(ctx, t, n, "journalctl -b -u user-data -u netwright-bootstrap | grep -q 'no mirror has the agent yet: again in'")
			end()
			n.Must(ctx, "systemctl", "is-active", "netwright-bootstrap.service")
			n.Must(ctx, "systemd-analyze", "security", "--no-pager", "--threshold=40", "netwright-bootstrap.service")
			if now := n.Read("/var/lib/netwright/bootstrap/script"); now != script {
				t.Fatalf("the script that goes on is another: %s", now)
			}
		}
		// Now a server listens at the port of the dead mirror.
		answerAt(t, f, node.Gateway4+":1", served)
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent && ! systemctl is-active -q netwright-bootstrap.service")
		n.Shell(ctx, `test ! -e /var/lib/netwright/bootstrap; test ! -e /etc/systemd/system/netwright-bootstrap.service
test ! -L /etc/systemd/system/multi-user.target.wants/netwright-bootstrap.service; test -x /usr/bin/netwright
journalctl --sync; journalctl -b -t netwright-bootstrap | grep -q installed`)
	})

	t.Run("not installed at first", func(t *testing.T) {
		n := bare(t, f, "again", "10.77.0.19", node.Options{})
		n.Shell(ctx, "mkdir -p /etc/systemd/system/netwright-undo.service") // a directory is in the way
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/netwright"), 0o700)
		n.Start(ctx, "user-data", "/root/user-data")
		eventually(ctx, t, n, "journalctl -u user-data | grep -q 'the agent could not be installed: again in 10 s'")
		n.Shell(ctx, "rmdir /etc/systemd/system/netwright-undo.service")
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent && test ! -e /var/lib/netwright/bootstrap")
	})

	// Files that are there stay as they were. The machine becomes a node when there is room, also
	// where programs cannot run from /var.
	t.Run("full disk", func(t *testing.T) {
		n := bare(t, f, "full", "10.77.0.20", node.Options{})
		n.Shell(ctx, `mkdir -p /etc/netwright; mount -t tmpfs -o size=8k tmpfs /etc/netwright; echo 'store: /srv/old' >/etc/netwright/agent.yaml
head -c 8k /dev/zero >/etc/netwright/full || true; mount --bind /var /var; mount -o remount,bind,noexec /var`)
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/netwright"), 0o700)
		if res := n.Run(ctx, "/root/user-data"); res.Code != 1 || !strings.Contains(res.Stdout, "/etc/netwright/agent.yaml could not be written") {
			t.Errorf("exit code %d, want 1: %s%s", res.Code, res.Stdout, res.Stderr)
		}
		if conf := n.Read("/etc/netwright/agent.yaml"); conf != "store: /srv/old\n" {
			t.Errorf("the agent's file became %q", conf)
		}
		n.Shell(ctx, "test -e /etc/systemd/system/netwright-bootstrap.service; rm /etc/netwright/full; /root/user-data; test ! -e /usr/bin/netwright.new")
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent && test ! -e /var/lib/netwright/bootstrap")
	})

	// Nobody can write /usr, and programs cannot run from /var. The agent is below /opt and its
	// units name it there. Where the copy of the program cannot be run, that program undoes a
	// change. It stays there.
	t.Run("read-only /usr", func(t *testing.T) {
		n := bare(t, f, "sealed", "10.77.0.21", node.Options{})
		const installed = "/opt/netwright/bin/netwright"
		seal := "mount --bind /usr /usr; mount -o remount,bind,ro /usr; mount --bind /var /var; mount -o remount,bind,noexec /var"
		n.Shell(ctx, seal+"; ! touch /usr/bin/netwright")
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/netwright"), 0o700)
		n.Must(ctx, "/root/user-data")
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent && test ! -e /var/lib/netwright/bootstrap && test ! -e /opt/netwright.new")
		for _, unit := range []string{"netwright-agent", "netwright-recover", "netwright-undo"} {
			if run := n.Must(ctx, "systemctl", "show", "-P", "ExecStart", unit); !strings.Contains(run, "path="+installed+" ") || strings.Contains(run, "path=/usr/bin/netwright ") {
				t.Errorf("%s runs %s", unit, run)
			}
		}
		n.Shell(ctx, "readlink /opt/netwright/bin/agent; ! test -e /usr/bin/netwright")
		checkBridgeNode(t, n)
		n.Shell(ctx, `cd /srv/netwright/*/; sed -i 's/^  networking:/  sysctlParameters: [net.ipv4.conf.all.log_martians=1]\n&/' cluster.yaml; `+installed+` --once
test "$(sysctl -n net.ipv4.conf.all.log_martians)" = 1`) // the undo was rehearsed

		n.Kill()
		n.Boot(ctx)
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent")
		if said := n.Must(ctx, installed, "install"); !strings.Contains(said, "nothing to do") {
			t.Errorf("installed again, with /usr as it is: %s", said)
		}
		n.Shell(ctx, "test ! -e /usr/bin/netwright; mount --bind /etc /etc; mount -o remount,bind,ro /etc")
		if res := n.Run(ctx, installed, "install", "--prefix", "/usr/local"); res.Code == 0 || !strings.Contains(res.Stderr, "the units go to /etc/systemd/system/") {
			t.Errorf("exit code %d of an installation without a place for units: %s%s", res.Code, res.Stdout, res.Stderr)
		}
		n.Shell(ctx, "! test -e /usr/local/bin/netwright")
	})

	// The image's daemon found no store. It ends after `agent install` looked for it and before the
	// restart.
	t.Run("the daemon ends meanwhile", func(t *testing.T) {
		n := bare(t, f, "ending", "10.77.0.22", node.Options{})
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/netwright"), 0o700)
		n.Must(ctx, "/root/user-data")
		n.Write("/etc/systemd/system/netwright-agent.service.d/slow.conf", "[Service]\nNotifyAccess=all\nExecStart=\n"+
			"ExecStart=/bin/sh -c '/usr/bin/netwright; until [ -e /run/go ]; do sleep .01; done'\n", 0o644)
		// The daemon ends after `agent install` has seen it run and before the restart. journald
		// may look for the unit of the shell's child when that child has ended, and then -u does
		// not find the child's message.
		n.Write("/usr/local/bin/systemctl", "#!/bin/sh\ncase $* in *restart*netwright-agent*) touch /run/go; "+
			"while /usr/bin/systemctl is-active -q netwright-agent; do sleep .01; done ;; esac\nexec /usr/bin/systemctl \"$@\"\n", 0o755)
		n.Shell(ctx, `systemctl stop netwright-agent; echo >/etc/netwright/agent.yaml; systemctl daemon-reload; systemctl start netwright-agent; journalctl --sync
journalctl -b -t netwright | grep 'no state store is named'; PATH=/usr/local/bin:$PATH /root/user-data; test -e /run/go`)
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent")
	})

	t.Run("network late", func(t *testing.T) {
		n := bare(t, f, "late", "", node.Options{})
		served.take()
		n.Write("/root/user-data", userData(t, sum(program), "--url", mirror+"/netwright"), 0o700)
		n.Start(ctx, "user-data", "/root/user-data")
		eventually(ctx, t, n, "journalctl -u user-data | grep -q 'no mirror has the agent yet: again in'")
		n.Must(ctx, "test", "!", "-e", "/usr/bin/netwright")
		n.Shell(ctx, "ip link set host0 up; ip addr add 10.77.0.14/24 dev host0; ip route add default via "+node.Gateway4)
		eventually(ctx, t, n, "systemctl is-active -q netwright-agent")
		awaitConsole(t, n, "again in", "netwright: installed")
	})
}
