package model

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/rogpeppe/go-internal/txtar"
)

// scenario is one archive of testdata: the documents of a store, the facts of a host that differ
// from [aHost], and the wanted result. Its comment has lines like these: "node: node-1", "group:
// nodes", "keypairs: calico-client", "discovered: 10.0.0.0/24", "issued: etcd" (or pending, or
// planned), "authority: kubernetes-ca", "unsigned: mine". "peer: node-2 10.0.0.2 10.0.2.0/24" is a
// peer of the API.
type scenario struct {
	path    string
	archive *txtar.Archive
	in      Input
}

// aHost returns a plain machine with containerd 2 and kubeadm's kubelet unit.
func aHost() *host.Facts {
	return &host.Facts{
		Hostname: "node-1", Arch: "amd64", Init: "systemd", Cgroup: 2,
		OS:     facts.OSRelease{ID: "debian", VersionID: "12"},
		Kernel: host.KernelFacts{Release: "6.1.0", IPv6: true, HostSysctls: true, Modules: true},
		Uplink: "eth0", RALinks: []string{"eth0"},
		Links: []host.LinkFact{
			{Name: "lo", MTU: 65536, Up: true, Loopback: true},
			{Name: "eth0", MTU: 1500, Up: true, Physical: true,
				Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fd00:10::1/64")}},
		},
		Runtime: host.RuntimeFacts{Name: "containerd", Version: "2.1.4", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3,
			BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", Imports: []string{"/etc/containerd/conf.d/*.toml"}},
		Kubelet: host.KubeletFacts{Unit: "kubelet.service", Variables: []string{"KUBELET_CONFIG_ARGS", "KUBELET_EXTRA_ARGS"}},
	}
}

func scenarios(t testing.TB, pattern string) []*scenario {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario at %s (%v)", pattern, err)
	}
	out := make([]*scenario, len(files))
	for i, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = &scenario{path: file, archive: archive, in: input(t, file, archive)}
	}
	return out
}

func input(t testing.TB, file string, archive *txtar.Archive) Input {
	t.Helper()
	in := Input{Facts: aHost()}
	var sel config.Select
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "node":
			sel.Node = value
		case "group":
			sel.Group = value
		case "unsigned": // by no CA of the store
			in.Keypairs = map[string]Keypair{value: {Cert: []byte("CERT of " + value), Key: secret.New("KEY")}}
		case "keypairs":
			in.Keypairs = map[string]Keypair{}
			for name := range strings.FieldsSeq(value) {
				in.Keypairs[name] = Keypair{CA: []byte("CA of " + name), Cert: []byte("CERT of " + name), Key: secret.New("KEY"), Origin: "pki/issued/" + name}
			}
		case "authority":
			in.Keypairs = map[string]Keypair{value: {CA: authority(t), Cert: authority(t), Key: secret.New("KEY")}}
		case "issued", "pending", "planned":
			if in.Discovered.Issued == nil {
				in.Discovered.Issued = map[string]Issued{}
			}
			in.Discovered.Issued[value] = map[string]Issued{
				"issued":  {Pair: Keypair{CA: []byte("CA of " + value), Cert: []byte("CERT of " + value), Key: secret.New("KEY")}},
				"pending": {Wait: "somebody who approves it"},
				"planned": {Plan: "would be issued by somebody"},
			}[key]
		case "discovered":
			in.Discovered.PodCIDRs = []netip.Prefix{netip.MustParsePrefix(value)}
		case "peer":
			part := strings.Fields(value)
			in.Discovered.Peers = append(in.Discovered.Peers, networks.Peer{Name: part[0], Address: values.Addresses{netip.MustParseAddr(part[1])},
				PodCIDRs: values.CIDRs{netip.MustParsePrefix(part[2])}, Origin: document.Origin{File: "Node " + part[0]}})
		}
	}
	var sources []document.Source
	for _, f := range archive.Files {
		switch {
		case f.Name == "facts.json":
			if strings.Contains(string(f.Data), `"links"`) {
				in.Facts.Links = nil // Unmarshal would merge it with the former value
			}
			if err := json.Unmarshal(f.Data, in.Facts); err != nil {
				t.Fatalf("%s: facts.json: %v", file, err)
			}
		case strings.HasSuffix(f.Name, ".yaml"):
			sources = append(sources, document.Source{Path: f.Name, Data: f.Data})
		}
	}
	node, diags := config.Load(tasks.DriftKinds(), sources, sel)
	if node == nil {
		t.Fatalf("%s: Load returns %v", file, diags.Err())
	}
	in.Node = node
	return in
}

// authority returns the certificate of a CA.
func authority(t testing.TB) []byte {
	t.Helper()
	key, err := certs.NewKey(certs.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return certs.Encode(&x509.Certificate{Raw: der})
}

func (s *scenario) name() string { return strings.TrimSuffix(filepath.Base(s.path), ".txtar") }

func (s *scenario) file(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}
