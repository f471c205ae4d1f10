package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
)

// leftToNodeup are fields of kOps that nodeup acts on and the agent does not, those that concern a
// node's network first. kOps fills none of them in by itself.
// https://github.com/kubernetes/kops/tree/master/nodeup/pkg/model
var leftToNodeup = [...]string{
	"kubelet.resolvConf", "kubelet.nodeIP", "kubelet.hostnameOverride",
	"kubeProxy.proxyMode", "kubeProxy.ipvsScheduler", "kubeProxy.ipvsExcludeCIDRs", "kubeProxy.ipvsMinSyncPeriod", "kubeProxy.ipvsSyncPeriod",
	"kubeProxy.conntrackMaxPerCore", "kubeProxy.conntrackMin", "kubeProxy.bindAddress",
	"egressProxy", "networking.egressProxy", "ntp.managed", "packages", "updatePolicy", "volumeMounts",
	"containerd.registryMirrors", "containerd.configOverride", "containerd.configAdditions", "containerd.nvidiaGPU", "containerd.gvisor",
}

// leftOut says once what of kOps' documents concerns a node and is left to nodeup. It looks at what
// people write, not at what kOps made of that.
func (l *loader) leftOut() {
	cluster := l.cluster
	if written := l.docs["config"]; written != nil && fromKops(l.cluster.path) {
		cluster = written
	}
	docs := l.groups
	if cluster != nil {
		docs = append([]*document{cluster}, docs...)
	}
	var found []string
	var first *document
	for _, field := range leftToNodeup {
		for _, doc := range docs {
			if doc.parse(); !fromKops(doc.path) || doc.root == nil {
				continue
			}
			if at := doc.root.get("spec").place(strings.Split(field, ".")); at.line > 0 {
				found = append(found, fmt.Sprintf("%s (%s)", field, doc.origin(at)))
				first = cmp.Or(first, doc)
				break
			}
		}
	}
	if len(found) == 0 {
		return
	}
	l.lost(Diagnostic{Severity: SeverityNote, ID: problem.FieldNodeup, Origin: Origin{File: first.path},
		Summary: "nodeup acts on these fields, and the agent does not: " + strings.Join(found, ", "),
		Hint:    "where nodeup no longer runs, who makes the node sets them"})
}

// place is where a field stands below v; zero: nowhere, or without a value.
func (v *value) place(path []string) pos {
	if v == nil {
		return pos{}
	}
	i := v.index(path[0])
	switch {
	case i < 0 || v.entries[i].value.kind == kindNull:
		return pos{}
	case len(path) > 1:
		return v.entries[i].value.place(path[1:])
	}
	return v.entries[i].pos
}
