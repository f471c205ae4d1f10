package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestLeave(t *testing.T) {
	web := cri.Pod{ID: "1", Namespace: "default", Name: "web", Ready: true}
	ended := cri.Pod{ID: "2", Namespace: "default", Name: "job"}
	agent := cri.Pod{ID: "3", Namespace: "kube-system", Name: "calico-node-x", Ready: true, HostNetwork: true, Running: []string{"calico-node"}}
	const flannel = "flannel: {backend: vxlan}"
	calicoConf := map[string]string{"/etc/cni/net.d/10-calico.conflist": "{}"}
	undone := map[string]string{checkpoint.VerdictFile: `{"generation":7,"digest":"d","bad":true}`}
	for name, c := range map[string]struct {
		had   string // by the ledger
		spec  string
		flag  bool
		files map[string]string
		pods  []cri.Pod

		none    bool
		kind    string
		held    string // a part of the reason why it is not made
		waits   bool
		allowed string
	}{
		"the same network":                      {had: "flannel", spec: flannel, none: true},
		"a fresh node":                          {spec: flannel, none: true},
		"not allowed":                           {had: "bridge", spec: flannel, kind: "disruptive", held: "the switch of networks from bridge to flannel is disruptive and not allowed, so the node keeps bridge: allow it with"},
		"allowed by the documents":              {had: "bridge", spec: flannel + "\n    switch: {allow: true}", pods: []cri.Pod{web}, kind: "disruptive", allowed: "cluster.yaml:11:14"},
		"allowed by the flag":                   {had: "bridge", spec: flannel, flag: true, kind: "disruptive", allowed: "--allow-disruptive"},
		"allowed from the network that is here": {had: "bridge", spec: flannel + "\n    switch: {allow: true, from: bridge}", kind: "disruptive", allowed: "cluster.yaml:11:14"},
		"another than expected":                 {had: "bridge", spec: flannel + "\n    switch: {allow: true, from: calico}", kind: "disruptive", allowed: "cluster.yaml:11:14", held: "the node has bridge by the ledger, and switch.from (cluster.yaml:11:27) expects calico"},
		"undone before":                         {had: "bridge", spec: flannel, flag: true, files: undone, kind: "disruptive", allowed: "--allow-disruptive", held: "generation 7 is bad"},
		"pods wait":                             {had: "bridge", spec: flannel + "\n    switch: {allow: true, pods: wait}", pods: []cri.Pod{web}, kind: "disruptive", allowed: "cluster.yaml:11:14", held: "the 1 pod with an address of bridge", waits: true},
		"pods ended":                            {had: "bridge", spec: flannel + "\n    switch: {allow: true, pods: wait}", pods: []cri.Pod{ended}, kind: "disruptive", allowed: "cluster.yaml:11:14"},
		"the agent runs":                        {had: "calico", spec: flannel, flag: true, pods: []cri.Pod{agent, web}, kind: "disruptive", allowed: "--allow-disruptive", held: "container calico-node of pod kube-system/calico-node-x; the agent of that network would create again what the switch removes: delete its DaemonSet"},
		"kubenet gives way":                     {had: "kubenet", spec: flannel, kind: "safe"},
		"kubenet with pods":                     {had: "kubenet", spec: flannel, pods: []cri.Pod{web}, kind: "safe", held: "drain the node, or allow it", waits: true},
		"kubenet with pods, allowed":            {had: "kubenet", spec: flannel, flag: true, pods: []cri.Pod{web}, kind: "safe", allowed: "--allow-disruptive"},
		"from calico to cni":                    {had: "calico", spec: "cni: {}", pods: []cri.Pod{agent, web}, kind: "safe"},
		"from calico to cni, and calico is named to be removed":  {had: "calico", spec: "cni: {}\n    switch: {allow: true, from: calico}", pods: []cri.Pod{web}, kind: "disruptive", allowed: "cluster.yaml:11:14"},
		"from calico to cni, named and not allowed":              {had: "calico", spec: "cni: {}\n    switch: {from: calico}", pods: []cri.Pod{web}, kind: "disruptive", held: "not allowed"},
		"from bridge to cni, whose pods cannot keep it":          {had: "bridge", spec: "cni: {}", kind: "disruptive", held: "not allowed"},
		"a conf of another installer, without pods":              {spec: flannel, files: calicoConf, none: true},
		"a conf of another installer, with pods":                 {spec: flannel, files: calicoConf, pods: []cri.Pod{web}, kind: "disruptive", held: "netwright did not install it; to have it removed, set spec.networking.switch: {allow: true, from: calico}"},
		"a conf of another installer, allowed by the flag alone": {spec: flannel, flag: true, files: calicoConf, pods: []cri.Pod{web}, kind: "disruptive", allowed: "--allow-disruptive", held: "from: calico"},
		"from names a network that is not here":                  {spec: flannel + "\n    switch: {allow: true, from: calico}", none: true},
		"a conf of another installer for the wanted network":     {spec: "calico: {}", files: calicoConf, pods: []cri.Pod{web}, none: true},
		"from cni, whose pods brought calico":                    {had: "cni", spec: flannel + "\n    switch: {allow: true, from: calico}", pods: []cri.Pod{agent}, kind: "disruptive", allowed: "cluster.yaml:11:14", held: "the agent of calico still runs"},
		"a network that nobody knows":                            {had: "weft", spec: flannel, kind: "disruptive", held: "from weft to flannel"},
	} {
		t.Run(name, func(t *testing.T) {
			d := wants(t, c.spec)
			v := nodeOver(t, c.files, c.pods...)
			g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := leaving(t, c.flag, d, g, v, knows(t, c.had))
			if err != nil {
				t.Fatal(err)
			}
			if c.none {
				if s != nil {
					t.Fatalf("a switch from %s to %s, want none", s.From.Name, s.To.Name)
				}
				return
			}
			if s == nil {
				t.Fatal("no switch")
			}
			rep := s.Report()
			if rep.Kind != c.kind || s.Waits != c.waits || rep.Allowed != c.allowed {
				t.Errorf("%s, waits %v, allowed by %q; want %s, %v, %q", rep.Kind, s.Waits, rep.Allowed, c.kind, c.waits, c.allowed)
			}
			if (c.held == "") != (s.Blocked == nil) || s.Blocked != nil && !strings.Contains(s.Blocked.Error(), c.held) {
				t.Errorf("held by: %v; want %q", s.Blocked, c.held)
			}
			if s.Waits != (s.Failure() == nil && s.Blocked != nil) {
				t.Errorf("what waits is an error: %v", s.Failure())
			}
		})
	}
}

// The graph gives this order: pause, evict, kernel, the next network, its conf, the old files. What
// is early comes before all of these.
func TestOrderOfASwitch(t *testing.T) {
	for from, spec := range map[string]string{"calico": "bridge: {}", "bridge": "flannel: {backend: vxlan}", "kubenet": "bridge: {}", "flannel": "kubenet: {}"} {
		d := wants(t, spec)
		d.Node.PodCIDRs = d.Node.PodCIDR
		g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := nodeOver(t, nil)
		s, err := leaving(t, true, d, g, v, knows(t, from))
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Order(g, v)
		if err != nil {
			t.Fatal(err)
		}
		at := map[graph.Key]int{}
		for i, task := range out.Order() {
			at[task.Owns()[0]] = i
		}
		before := func(a, b graph.Key) {
			t.Helper()
			if _, known := at[a]; !known {
				t.Errorf("%s → %s: no %s", from, d.Network(), a)
			}
			if _, known := at[b]; known && at[a] >= at[b] {
				t.Errorf("%s → %s: %s is not before %s", from, d.Network(), a, b)
			}
		}
		kernel, disk := tasks.CleanupKey(from), tasks.CleanupKey(from+" files")
		before("pause:kubelet.service", tasks.EvictKey(from))
		before(tasks.EvictKey(from), kernel)
		before(kernel, disk)
		for _, key := range []graph.Key{"link:cbr0", "nft:ip/netwright", "forward:cbr0", "file:/etc/cni/net.d/05-netwright-bridge.conflist"} {
			before(kernel, key)
			if _, known := at[key]; known {
				before(key, disk)
			}
		}
		for _, key := range []graph.Key{"sysctl:net.ipv4.ip_forward", "module:br_netfilter", "file:/etc/sysctl.d/99-netwright.conf"} {
			before(key, "pause:kubelet.service")
		}
		tail := s.Tail()
		if len(tail) != 1 || tail[0].Owns()[0] != "resume:kubelet.service" {
			t.Errorf("%s → %s ends with %v", from, d.Network(), tail)
		}
	}
}

// The MTU of bridge comes from the node's links, and not from the tunnel that is removed.
func TestNextNetworkSeesNoLinkOfTheOld(t *testing.T) {
	s := &Switch{found: []tasks.Found{{Key: tasks.FileKey("/run/flannel")}, {Key: tasks.LinkKey("flannel.1")}}}
	facts := &host.Facts{Links: []host.LinkFact{{Name: "eth0", MTU: 1500}, {Name: "flannel.1", MTU: 1450}}}
	if got := s.Without(facts).Links; len(got) != 1 || got[0].Name != "eth0" || len(facts.Links) != 2 {
		t.Errorf("it sees %v", got)
	}
}

// The ledger knows a declared network when its documents are gone.
func TestLeftoversOfADeclaredNetwork(t *testing.T) {
	left := cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "weft*", Kind: "wireguard"}}, Files: []string{"/etc/cni/net.d/10-weft.conflist"}}
	text, err := json.Marshal(desired.Declared{Name: "weft", File: "10-weft.conflist", Writer: "DaemonSet", Agents: []string{"weftd"}, Residue: left})
	if err != nil {
		t.Fatal(err)
	}
	led := knows(t, "custom")
	head := led.Head()
	head.Network.Declared = string(text)
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := led.Commit(t.Context(), h.Files, ledger.Batch{Head: head}); err != nil {
		t.Fatal(err)
	}
	d := wants(t, "flannel: {backend: vxlan}")
	g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := leaving(t, true, d, g, nodeOver(t, nil), led)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.kernel().Residue.(cleanup.Selection).Links, s.disk().Residue.(cleanup.Selection).Files); got != fmt.Sprint(left.Links, left.Files) {
		t.Errorf("it leaves %s", got)
	}
	if got := s.evict().Agents; len(got) != 1 || got[0] != "weftd" || s.From.Name != "custom weft" {
		t.Errorf("%s has agents %v", s.From.Name, got)
	}
}

// The conf of multus, the first by name, is removed with the network before which it was, and its
// daemon must be gone. It stays if it is also before the next network.
func TestMultusGoesWithItsNetwork(t *testing.T) {
	files := map[string]string{"/etc/cni/net.d/00-multus.conf": "{}", "/etc/cni/net.d/05-netwright-bridge.conflist": "{}"}
	daemon := cri.Pod{ID: "1", Namespace: "kube-system", Name: "kube-multus-ds-x", Ready: true, HostNetwork: true, Running: []string{"kube-multus"}}
	for name, c := range map[string]struct {
		multus bool
		spec   string
		pods   []cri.Pod
		goes   bool
		held   string
	}{
		"multus was here":                          {true, "flannel: {backend: vxlan}", nil, true, ""},
		"multus was here, and its daemon runs":     {true, "flannel: {backend: vxlan}", []cri.Pod{daemon}, true, "container kube-multus of pod kube-system/kube-multus-ds-x"},
		"the next network has multus too":          {true, "flannel: {backend: vxlan}\n    multus: {}", []cri.Pod{daemon}, false, ""},
		"multus was not here":                      {false, "flannel: {backend: vxlan}", nil, false, ""},
		"multus was not here, and its daemon runs": {false, "flannel: {backend: vxlan}", []cri.Pod{daemon}, false, ""},
	} {
		led := knows(t, "bridge")
		h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		head := led.Head()
		head.Network.Multus = c.multus
		err = errors.Join(led.Commit(t.Context(), h.Files, ledger.Batch{Head: head}), h.Close())
		if err != nil {
			t.Fatal(err)
		}
		d := wants(t, c.spec)
		if d.NetworkAfter(ledger.Network{}).Multus != strings.Contains(c.spec, "multus") {
			t.Errorf("%s: the ledger would have %+v", name, d.NetworkAfter(ledger.Network{}))
		}
		g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := leaving(t, true, d, g, nodeOver(t, files, c.pods...), led)
		if err != nil {
			t.Fatal(err)
		}
		if goes := slices.Contains(s.disk().Residue.(cleanup.Selection).Files, "/etc/cni/net.d/00-multus.conf"); goes != c.goes {
			t.Errorf("%s: its conf goes: %v", name, goes)
		}
		if (c.held == "") != (s.Blocked == nil) || s.Blocked != nil && !strings.Contains(s.Blocked.Error(), c.held) {
			t.Errorf("%s: held by %v, want %q", name, s.Blocked, c.held)
		}
	}
}

// A switch that was not completed is undone, whatever prevented its end.
func TestUnfinished(t *testing.T) {
	s := &Switch{}
	done := tasks.Result{Node: tasks.File{Path: "/a"}, State: graph.Done}
	skipped := tasks.Result{Node: tasks.File{Path: "/b"}, State: graph.Waiting, Err: graph.Wait("the moon")}
	if err := s.Unfinished(tasks.Report{Results: []tasks.Result{done}}); err != nil {
		t.Errorf("finished: %v", err)
	}
	if err := s.Unfinished(tasks.Report{Results: []tasks.Result{done, skipped}}); !errors.Is(err, errUnfinished) {
		t.Errorf("with a task that waits: %v", err)
	}
	for name, alone := range map[string]error{"what is refused by rule": &changes.RefusedError{}, "what the host holds": &changes.HostError{Err: host.ErrNotExist}} {
		refused := tasks.Result{Node: tasks.File{Path: "/c"}, State: graph.Failed, Err: alone}
		needs := tasks.Result{Node: tasks.File{Path: "/d"}, State: graph.Skipped, Err: &graph.BlockedError{Err: refused.Err}}
		rep := tasks.Report{Results: []tasks.Result{done, refused, needs}}
		if err := s.Unfinished(rep); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if err, _ := s.Unfit(rep); err != nil {
			t.Errorf("not begun without %s: %v", name, err)
		}
	}
	s.Stays = true
	if err := s.Unfinished(tasks.Report{Results: []tasks.Result{skipped}}); err != nil {
		t.Errorf("a network that is handed over: %v", err)
	}
}

// A file that the network does not use may be removed later: kubelet starts, and the switch is
// made. The lines that keep it: pkg/reconcile/ownership/removals_order.go, Needed and Lay;
// switch_tasks.go, Essential; pkg/reconcile/plan.go, plan; pkg/reconcile/carry_out.go, confirm.
func TestASwitchDoesWithoutTheRemovalOfOtherFiles(t *testing.T) {
	reloads := tasks.Meta{Effects: []graph.Key{tasks.Reload("systemd-networkd.service")}}
	for name, c := range map[string]struct {
		task   tasks.Task
		needed bool
	}{
		"a file of the documents": {tasks.Removal{Key: tasks.FileKey("/etc/lab/motd")}, false},
		"its directory":           {tasks.Removal{Key: tasks.FileKey("/etc/lab")}, false},
		"a plugin":                {tasks.Removal{Key: tasks.FileKey("/opt/cni/bin/bridge")}, false},
		"a file that comes back":  {tasks.Restoration{Key: tasks.FileKey("/etc/hosts")}, false},
		"a conf":                  {tasks.Removal{Key: tasks.FileKey("/etc/cni/net.d/10-x.conflist")}, true},
		"below the confs":         {tasks.Removal{Key: tasks.FileKey("/run/confs/multus.d/x")}, true},
		"what networkd reads":     {tasks.Removal{Meta: reloads, Key: tasks.FileKey("/etc/systemd/network/x.netdev")}, true},
		"a unit":                  {tasks.Removal{Key: tasks.UnitFileKey("x.service")}, true},
		"a link":                  {tasks.Removal{Key: tasks.LinkKey("cbr0")}, true},
	} {
		v := nodeOver(t, nil)
		v.Facts.Runtime.ConfDir = "/run/confs"
		s := &Switch{unit: "kubelet.service", wanted: desired.FromTasks("n", nil)}
		g, err := ownership.Lay(v, ownership.WithEffects([]tasks.Task{c.task}, []tasks.Task{c.task}), s.Tail())
		if err != nil {
			t.Fatal(err)
		}
		for _, met := range []error{graph.Wait("a person"), errors.New("no")} {
			rep := graph.Run(t.Context(), g, graph.RunOptions{}, func(_ context.Context, task tasks.Task) error {
				if task.Owns()[0] == c.task.Owns()[0] {
					return met
				}
				return nil
			})
			i := slices.IndexFunc(rep.Results, func(res tasks.Result) bool { return res.Key.Kind() == "resume" })
			if starts := rep.Results[i].State == graph.Done; starts == c.needed || (s.Unfinished(Essential(v, rep)) == nil) == c.needed {
				t.Errorf("%s meets %v: kubelet starts: %v, the switch: %v", name, met, starts, s.Unfinished(Essential(v, rep)))
			}
			if why, _ := s.Unfit(Essential(v, rep)); (why != nil) != c.needed {
				t.Errorf("%s meets %v when it is planned: %v", name, met, why)
			}
		}
	}
}

// On a node of kOps the template of kubenet's conf is nodeup's and stays. The other files of
// kubenet go, and with them the conf, which by its name comes before that of flannel. The line that
// keeps it: find_residue.go, look (OfPeers).
func TestASwitchLeavesFilesOfOtherAgents(t *testing.T) {
	const conf, template = "/etc/cni/net.d/10-containerd-net.conflist", "/etc/containerd/config-cni.template"
	v := nodeOver(t, map[string]string{conf: "{}", template: "{}", "/opt/kops/bin/cni-iptables-setup": "#!/bin/sh"})
	for peer, want := range map[string][]graph.Key{
		"":       {tasks.FileKey(conf), tasks.FileKey(template), tasks.FileKey("/opt/kops/bin/cni-iptables-setup")},
		"nodeup": {tasks.FileKey(conf), tasks.FileKey("/opt/kops/bin/cni-iptables-setup")},
	} {
		v.Facts.Peers = []string{peer}
		d := wants(t, "flannel: {backend: vxlan}")
		g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		none := func() *checkpoint.SuppressedError { return nil }
		s, err := Leave(t.Context(), d, g, v, knows(t, "kubenet"), Circumstances{Suppressed: none}) // of an image
		if err != nil {
			t.Fatal(err)
		}
		c, err := changes.PlanTask(t.Context(), s.disk(), v)
		if err != nil || c == nil || c.NotApplicable != "" {
			t.Fatalf("beside %q: %+v, %v", peer, c, err)
		}
		var got []graph.Key
		for _, it := range c.Items {
			got = append(got, it.Key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("beside %q (-want +got):\n%s", peer, diff)
		}
	}
}

// leaving judges the leave to switch on a running node where nothing else keeps the switch back.
// flag allows a disruptive switch.
func leaving(t *testing.T, flag bool, d *desired.State, g *tasks.Graph, v host.View, led *ledger.Ledger) (*Switch, error) {
	t.Helper()
	return Leave(t.Context(), d, g, v, led, Circumstances{
		Live: true, Allowed: AllowedBy(d, led, flag), Suppressed: func() *checkpoint.SuppressedError {
			return checkpoint.Suppressed(v.Files, d.Snapshot.Digest, time.Now())
		},
	})
}
