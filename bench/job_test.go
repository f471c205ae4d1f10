package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"strings"
	"testing"
	"time"
)

// job is the work of every contender on a node.
type job struct {
	archive archive
	wire    string // the web server's directory of the archive: "", or slow for 1 Gbit/s
	files   []file
	small   int // the number of small ones
	sysctls []sysctl
	unit    string // enabled and active; "": none
}

type file struct {
	path, content string
	mode          fs.FileMode
}

type sysctl struct{ key, value string }

const (
	slow     = "/gbit" // the directory that the web server serves at 1 Gbit/s
	binDir   = "/opt/cni/bin"
	smallDir = "/etc/kubernetes/conf.d"
	service  = "node-setup.service"
	drifting = smallDir + "/c00017.conf" // a drift run repairs this file
)

// newJob returns the job of a node with this many small files. Except for the certificates it is
// the same on every machine.
func newJob(t testing.TB, a archive, small int) job {
	t.Helper()
	j := job{archive: a, sysctls: sysctls(), unit: service, small: small}
	add := func(path string, mode fs.FileMode, content string) {
		j.files = append(j.files, file{path, content, mode})
	}
	add("/etc/cni/net.d/10-calico.conflist", 0o644, conflist)
	for name, content := range certificates(t) {
		add("/etc/calico/pki/"+name, 0o600, content)
	}
	add("/etc/modules-load.d/k8s.conf", 0o644, "br_netfilter\noverlay\nnf_conntrack\n")
	var lines strings.Builder
	for _, s := range j.sysctls {
		fmt.Fprintf(&lines, "%s = %s\n", s.key, s.value)
	}
	add("/etc/sysctl.d/99-k8s.conf", 0o644, lines.String())
	for _, u := range units {
		add("/etc/systemd/system/"+u.path, 0o644, u.content)
	}
	for i := range small {
		add(fmt.Sprintf("%s/c%05d.conf", smallDir, i), 0o644, smallFile(i))
	}
	return j
}

// smallFile returns settings of 200 to 4,000 bytes.
func smallFile(i int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# small file %d\n", i)
	for n := 0; text.Len() < 200+i*97%3800; n++ {
		fmt.Fprintf(&text, "option.%d.%d = %d\n", i, n, (i*7919+n*104729)%1_000_000_007)
	}
	return text.String()
}

var units = []file{
	{path: service, content: `[Unit]
Description=Node setup
After=network.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true

[Install]
WantedBy=multi-user.target
`},
	{path: "node-agent.service", content: `[Unit]
Description=An agent that is installed and not started
After=containerd.service

[Service]
ExecStart=/usr/local/bin/node-agent
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
`},
	{path: "node-agent.service.d/10-node.conf", content: "[Service]\nLimitNOFILE=1048576\nOOMScoreAdjust=-500\n"},
	{path: "node-check.service.d/10-node.conf", content: "[Service]\nTasksMax=infinity\nDelegate=yes\n"},
	{path: "node-check.timer", content: "[Unit]\nDescription=Node check\n\n[Timer]\nOnBootSec=1h\nOnUnitActiveSec=1h\nUnit=node-setup.service\n"},
}

const conflist = `{
  "name": "k8s-pod-network",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "calico", "log_level": "info", "datastore_type": "kubernetes", "nodename": "node-1", "mtu": 1440,
      "ipam": {"type": "calico-ipam", "assign_ipv4": "true"},
      "policy": {"type": "k8s"},
      "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"}
    },
    {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}},
    {"type": "bandwidth", "capabilities": {"bandwidth": true}}
  ]
}
`

// sysctls returns 30 keys of a network namespace. Each has another value than in a new namespace.
func sysctls() []sysctl {
	var all []sysctl
	for line := range strings.Lines(`net.ipv4.ip_forward=1
net.ipv4.conf.all.rp_filter=2
net.ipv4.conf.default.rp_filter=2
net.ipv4.conf.all.send_redirects=0
net.ipv4.conf.default.send_redirects=0
net.ipv4.conf.all.accept_redirects=0
net.ipv4.conf.all.secure_redirects=0
net.ipv4.conf.all.log_martians=1
net.ipv4.conf.all.arp_announce=2
net.ipv4.conf.all.arp_ignore=1
net.ipv4.tcp_keepalive_time=600
net.ipv4.tcp_keepalive_intvl=30
net.ipv4.tcp_keepalive_probes=5
net.ipv4.tcp_fin_timeout=15
net.ipv4.tcp_tw_reuse=1
net.ipv4.tcp_max_syn_backlog=8096
net.ipv4.tcp_slow_start_after_idle=0
net.ipv4.tcp_syn_retries=3
net.ipv4.tcp_synack_retries=3
net.ipv4.tcp_retries2=8
net.ipv4.tcp_mtu_probing=1
net.ipv4.tcp_rmem=4096 87380 16777216
net.ipv4.tcp_wmem=4096 65536 16777216
net.ipv4.tcp_notsent_lowat=131072
net.ipv4.ip_local_port_range=10240 29999
net.ipv4.ip_local_reserved_ports=12000-12100
net.ipv4.ip_unprivileged_port_start=80
net.core.somaxconn=32768
net.ipv6.conf.all.accept_ra=0
net.ipv6.conf.all.accept_redirects=0
`) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		all = append(all, sysctl{key, value})
	}
	return all
}

// certificates returns a CA, a certificate of that CA, and its key.
func certificates(t testing.TB) map[string]string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("making certificates: %v", err)
		}
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		return k
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: name == "ca", BasicConstraintsValid: true}
	}
	encode := func(kind string, der []byte, err error) string {
		must(err)
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	ca, node := key(), key()
	root, err := x509.CreateCertificate(rand.Reader, template("ca"), template("ca"), &ca.PublicKey, ca)
	must(err)
	leaf, err := x509.CreateCertificate(rand.Reader, template("node"), template("ca"), &node.PublicKey, ca)
	must(err)
	private, err := x509.MarshalPKCS8PrivateKey(node)
	return map[string]string{
		"ca.crt":   encode("CERTIFICATE", root, nil),
		"node.crt": encode("CERTIFICATE", leaf, nil),
		"node.key": encode("PRIVATE KEY", private, err),
	}
}
