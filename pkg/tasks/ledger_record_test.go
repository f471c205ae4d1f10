package tasks

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// everyKind has one task of each kind with every parameter set.
func everyKind() []Task {
	yes := true
	m := Meta{From: "cluster.yaml:1:2", Why: "for a test", At: graph.AfterKubelet, Requires: []graph.Key{"file:/x"}, Effects: []graph.Key{"effect:restart x.service"}}
	secret := m
	secret.Secret = true
	return []Task{
		Directory{Meta: m, Path: "/a", Mode: 0o1777, Owner: "daemon:daemon"},
		File{Meta: secret, Path: "/a/b", Content: []byte("x\x00y"), Mode: 0o600, Owner: "1:2"},
		SymbolicLink{Meta: m, Path: "/a/c", Target: "../d"},
		Archive{Meta: m, Name: "n", URLs: []string{"u"}, Sum: archive.ChecksumOf(nil), Dir: "/opt", Members: []string{"a", "b"}, Mode: 0o755, Owner: "0:0"},
		CertificateSet{Meta: secret, Dir: "/c", CA: CertFile{"ca", []byte("1"), 0o644}, Cert: CertFile{"crt", []byte("2"), 0o644}, Key: CertFile{"key", []byte("3"), 0o600},
			Owner: "1:1", CommonName: "cn", RetainOnRelease: true,
			Name: "n", OtherCA: true, Server: true, Kubeconfig: &Kubeconfig{Path: "/k", Server: "https://s", Mode: 0o400}},
		TOMLKey{Meta: m, Path: "/t", Table: []string{"a", "b.c"}, Key: "k", Value: "v"},
		TOMLKey{Meta: m, Path: "/t", Key: "n", Value: int64(7)},
		TOMLKey{Meta: m, Path: "/t", Key: "l", Value: []string{"x", "y"}},
		TOMLKey{Meta: m, Path: "/t", Key: "b", Value: true},
		Sysctl{Meta: m, Key: "net.ipv4.ip_forward", Value: "1", Optional: true},
		Module{Meta: m, Name: "br_netfilter", Optional: true},
		Mount{Meta: m, What: "bpf", Where: "/sys/fs/bpf", Type: "bpf", Options: "nosuid", Description: "d"},
		Unit{Meta: m, Name: "x.service", Content: []byte("[Unit]\n")},
		DropIn{Meta: m, Unit: "y.service", Name: "50-x.conf", Content: []byte("[Service]\n")},
		UnitState{Meta: m, Name: "x.service", Enabled: &yes, Active: &yes, NoBlock: true},
		Link{Meta: m, Name: "cbr0", Kind: "bridge", MTU: 1400, Up: true, MAC: "0a:58:00:00:00:01"},
		Address{Meta: m, Link: "cbr0", Prefix: netip.MustParsePrefix("10.0.0.1/24")},
		Route{Meta: m, Route: rtnl.Route{Dst: netip.MustParsePrefix("10.1.0.0/16"), Gateway: netip.MustParseAddr("10.0.0.2"), Link: "eth0", MTU: 1400, Metric: 5, OnLink: true}},
		Rule{Meta: m, Rule: rtnl.Rule{Priority: 100, Family: 4, Src: netip.MustParsePrefix("10.0.0.0/8"), Mark: 1, Mask: 3, Table: 7}},
		Table{Meta: m, Table: firewall.Table{Family: "ip", Name: "netwright", Chains: []firewall.Chain{{Name: "post", Type: "nat", Hook: "postrouting", Priority: 100,
			Rules: []firewall.NFRule{{SrcIn: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, DstLocal: &yes, Verdict: "masquerade"}}}}}},
		ForwardAccept{Meta: m, Link: "cbr0", Families: []int{4, 6}},
		Effect{Meta: m, Action: ActionRestart, Unit: "x.service", Wait: true},
	}
}

// The line that keeps it: ledger_record.go, rebuild (each content comes back and is checked).
func TestARecordRebuildsItsTask(t *testing.T) {
	compare := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	addr := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	for _, task := range everyKind() {
		t.Run(fmt.Sprintf("%T %s", task, task.Owns()[0]), func(t *testing.T) {
			r, contents, err := Record(task)
			if err != nil {
				t.Fatal(err)
			}
			kept := map[blob.Digest][]byte{}
			for _, c := range contents {
				if kept[c.Sum], err = c.Bytes(); err != nil || c.Sum != sha256.Sum256(kept[c.Sum]) {
					t.Fatalf("content %s: %v; want bytes with that sum", c.Sum, err)
				}
			}
			read := func(d blob.Digest) ([]byte, error) { return append([]byte(nil), kept[d]...), nil }
			got, err := Rebuild(r, read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(task, got, compare, addr); diff != "" {
				t.Errorf("the task from the ledger (-want +got):\n%s", diff)
			}
			again, _, err := Record(got)
			if err != nil || !again.Same(r) {
				t.Errorf("the record of what was rebuilt differs: %v\n%s\n%s", err, r.Params, again.Params)
			}
			if len(contents) > 0 {
				if _, err := Rebuild(r, func(blob.Digest) ([]byte, error) { return []byte("damaged"), nil }); err == nil {
					t.Error("a damaged content was taken")
				}
			}
			r.Version++
			if _, err := Rebuild(r, read); err == nil {
				t.Error("a record of a version to come was taken")
			}
		})
	}
}

// The records of each kind have the same bytes as those of released agents. The agent before the
// table of kinds made this file.
func TestRecordsKeepTheirBytes(t *testing.T) {
	var have strings.Builder
	for _, task := range everyKind() {
		r, contents, err := Record(task)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&have, "%s %d\n", line, len(contents))
	}
	want, err := os.ReadFile("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), have.String()); diff != "" {
		t.Errorf("the recorded form (-want +got):\n%s", diff)
	}
}
