package witness

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

const (
	store   = "/srv/netwright/" + clusterName
	journal = "/var/lib/netwright/checkpoint/journal.json" // exists until a change is confirmed
)

// layers has the disks that nodes start from, one with and one without networkd for the uplink: the
// agent with a right configuration, peers, and a pod.
type layers struct {
	assets string // spec.assets of the good documents
	dirs   map[bool]string
}

// newLayers boots a node of each kind, converges it, and keeps its disk.
func newLayers(t *testing.T) layers {
	t.Helper()
	archive, sum := assets.CNIArchive(t)
	file := "assets/" + filepath.Base(archive)
	unit, err := os.ReadFile("../../systemd/netwright-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	l := layers{assets: assetSpec(sum, file), dirs: map[bool]string{}}
	files := map[string]string{
		"/etc/systemd/system/netwright-agent.service": string(unit),
		"/etc/systemd/system/ssh.service":             service("/usr/bin/peer 22 10250"),
		"/etc/systemd/system/pod.service":             service("/usr/bin/pod"),
		"/usr/bin/pod":                                podScript,
		"/etc/netwright/agent.yaml":                   agentFile(time.Minute), // nothing is judged here
	}
	files[peersKey] = peersSecret
	for path, text := range (Document{}).Texts(l.assets) {
		files[store+"/"+path] = text
	}
	copies := map[string]string{"/usr/bin/netwright": program.Agent(t),
		"/usr/bin/peer":    program.Build(t, "test/witness/peer"),
		"/usr/bin/cnitool": assets.Cnitool(t), store + "/" + file: archive}
	f := newFabric(t)
	for _, networkd := range []bool{false, true} {
		o := ground(Ground{Networkd: networkd})
		o.Name, o.Copies, o.Enable = fmt.Sprintf("layer-%t", networkd), copies,
			[]string{"ssh.service", "pod.service"}
		for path, text := range files {
			o.Files[path] = text
		}
		n := f.Node(t, o)
		n.Shell(t.Context(), "chmod 600 "+peersKey)
		converge(t, n)
		n.Reboot(t.Context()) // confirms the files that act at boots
		converge(t, n)
		n.Shell(t.Context(), "rm -r /var/log/journal/*") // of lives without a document
		l.dirs[networkd] = n.Layer(t.Context())
	}
	return l
}

// converge waits for the node's network, and has the agent converge the node.
func converge(t *testing.T, n *node.Node) {
	t.Helper()
	n.Shell(t.Context(),
		"until ip -4 route show default | grep -q .; do sleep 0.05; done; netwright --once")
}

// service returns a unit that is started again whenever it ends.
func service(command string) string {
	return "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=" + command +
		"\nRestart=always\nRestartSec=500ms\n[Install]\nWantedBy=multi-user.target\n"
}

// podScript attaches a pod as kubelet's runtime does, when its bridge is there, with a peer in it.
const podScript = `#!/bin/sh
until ip link show cbr0 >/dev/null 2>&1; do sleep 0.1; done
ip netns del pod 2>/dev/null
ip netns add pod
conf=$(ls /etc/cni/net.d/*.conflist | head -n 1)
export CNI_PATH=/opt/cni/bin NETCONFPATH=/etc/cni/net.d
name=$(jq -r .name "$conf")
cnitool del "$name" /run/netns/pod >/dev/null 2>&1 # the address of a former life
cnitool add "$name" /run/netns/pod >/run/pod.new || exit 1
mv /run/pod.new ` + podFile + `
exec ip netns exec pod peer 8080
`

// These set up the uplink of a node, without the default route of IPv6.
const (
	labNetwork = `link set host0 up
addr add NODE4/24 dev host0
addr add NODE6/64 dev host0 nodad
route add default via GATEWAY4
`
	networkdFile = `[Match]
Name=host0
[Address]
Address=NODE6/64
DuplicateAddressDetection=none
[Network]
LinkLocalAddressing=ipv6
IPv6AcceptRA=no
`
)

// ground returns the options of a node of a ground, without its name and its layers.
func ground(g Ground) node.Options {
	lab, networkd := labNetwork, networkdFile
	if g.Leased {
		networkd += "DHCP=ipv4\n"
	} else {
		networkd += "Address=NODE4/24\nGateway=GATEWAY4\n"
	}
	if !g.OnLink6 {
		lab += "route add default via GATEWAY6 dev host0\n"
		networkd += "Gateway=GATEWAY6\n"
	}
	files := map[string]string{
		"/etc/hosts":                "127.0.0.1 localhost\n::1 localhost\nNODE4 " + nodeName + "\n",
		"/etc/resolv.conf":          "nameserver " + g.nameServer() + "\n",
		kubeconfig:                  "clusters:\n- cluster:\n    server: https://" + g.api() + ":6443\n",
		"/etc/netwright/agent.yaml": agentFile(window),
	}
	if g.Networkd {
		files["/etc/systemd/network/10-host0.network"] = networkd
	} else {
		files["/etc/lab-network"] = lab
	}
	addresses := strings.NewReplacer("NODE4", node4, "NODE6", node6,
		"GATEWAY4", node.Gateway4, "GATEWAY6", node.Gateway6)
	for path, text := range files {
		files[path] = addresses.Replace(text)
	}
	return node.Options{Files: files, Networkd: g.Networkd, Degraded: true}
}

func agentFile(window time.Duration) string {
	return "store: /srv/netwright\ncluster: " + clusterName + "\nnode: " + nodeName +
		"\nprobeWindow: " + window.String() + "\npeers:\n  keyFile: " + peersKey +
		"\n  ask: [" + node.Gateway4 + ", \"" + node.Gateway6 + "\"]\n"
}

// Peers of the node connect to it from its gateways, with these files of their agents.
const (
	peersKey    = "/etc/netwright/peers.key"
	peersSecret = "of the lab alone, and long enough for a key\n"
)

// servePeers runs a peer in a fabric until the test ends.
func servePeers(t *testing.T, f *node.Fabric) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(peersSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := child.Start(exec.Command("nsenter", "--net="+f.Netns(), program.Build(t, "test/witness/knocks"),
		key, node4+"/32", node6+"/128"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
}

// newFabric makes a fabric with the servers that nodes ask, API servers and name servers on the
// link and beyond the gateway, and with the addresses of the witness.
func newFabric(t *testing.T) *node.Fabric {
	t.Helper()
	f := node.NewFabric(t)
	batch := exec.Command("ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "-batch", "-")
	batch.Stdin = strings.NewReader(strings.NewReplacer("NEAR", near4, "BEYOND4", beyond4,
		"BEYOND6", beyond6, "LINK4", onLink4, "LINK6", onLink6, "NODE", node4).Replace(
		`addr add NEAR/24 dev br0
addr add LINK4/24 dev br0
addr add LINK6/64 dev br0 nodad
addr add BEYOND4/32 dev lo
addr add BEYOND6/128 dev lo nodad
route add 10.244.0.0/16 via NODE
`))
	if out, err := batch.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, address := range []string{near4, node.Outside4} {
		serveAPI(t, f, address+":6443")
	}
	for _, address := range []string{node.Gateway4, node.Gateway6, node.Outside4} {
		serveNames(t, f, net.JoinHostPort(address, "53"))
	}
	servePeers(t, f)
	return f
}

// serveAPI runs a server that refuses every client, with a long answer.
func serveAPI(t *testing.T, f *node.Fabric, address string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintln(w, strings.Repeat("no", 100<<10))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // from clients that only connect, as a probe does
	s.Listener.Close()                             // it is here, and not in the fabric
	err := f.Do(func() (err error) {
		s.Listener, err = net.Listen("tcp4", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
}

// serveNames answers every query with the query itself and an empty result.
func serveNames(t *testing.T, f *node.Fabric, address string) {
	t.Helper()
	var conn net.PacketConn
	err := f.Do(func() (err error) {
		conn, err = net.ListenPacket("udp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for question := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(question)
			if err != nil {
				return
			}
			if n > 2 {
				question[2] |= 0x80
			}
			_, _ = conn.WriteTo(question[:n], from) // the client may be gone
		}
	}()
}

// undone says whether the agent undid a change, by its own record, and whether a boot was not
// confirmed.
func undone(t *testing.T, n *node.Node) (change, boot bool) {
	t.Helper()
	var history struct {
		Undone []any
		Boots  []struct{ Outcome string }
	}
	out := n.Must(t.Context(), "netwright", "history", "-o", "json")
	if err := json.Unmarshal([]byte(out), &history); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	boot = slices.ContainsFunc(history.Boots, func(b struct{ Outcome string }) bool {
		return b.Outcome != "confirmed"
	})
	return len(history.Undone) > 0, boot
}
